package view

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// The JSON documents are structs with json tags, a file for each, in the published formats of Terraform. Their
// long parts are sequences, so that one element at a time is held while a document is written. What they have
// in common is here: values, types, keys, and where a value is unknown or sensitive.

// The versions of the documents.
const (
	formatPlan      = "1.2"
	formatState     = "1.0"
	formatSchemas   = "1.0"
	formatValidate  = "1.0"
	formatFunctions = "1.0"
)

// writeDocument writes a document and a line break, in one line or laid out for people.
func writeDocument(w io.Writer, document any, layout layout) error {
	return writeScrubbed(w, document, layout, nil)
}

// writeScrubbed does so for a document whose strings pass a function; nil: they stay.
func writeScrubbed(w io.Writer, document any, layout layout, scrub func(string) string) error {
	j := jsontext.Writer{W: w, Compact: layout == oneLine, Quote: appendJSON, Scrub: scrub}
	j.Value(document)
	j.Buf = append(j.Buf, '\n')
	j.Flush()
	return j.Err
}

type layout bool

const (
	oneLine layout = false
	laidOut layout = true
)

// appendJSON writes a string. What a terminal would obey is escaped, also where JSON does not ask for it.
func appendJSON(dst []byte, s string) []byte {
	from := len(dst)
	dst = jsontext.AppendString(dst, s)
	for _, c := range dst[from:] {
		if c >= 0x7f {
			return appendSafe(dst[:from], string(dst[from:]))
		}
	}
	return dst
}

// appendSafe appends JSON text and spells runes that a terminal would obey as escapes.
func appendSafe(dst []byte, text string) []byte {
	for _, r := range text {
		if r != 0x7f && !unsafeRune(r) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			dst = fmt.Appendf(dst, `\u%04x`, unit)
		}
	}
	return dst
}

// each makes a sequence of documents of a list; nil, which is left out, if the list is empty.
func each[T, D any](list []T, document func(T) D) iter.Seq[D] {
	if len(list) == 0 {
		return nil
	}
	return func(yield func(D) bool) {
		for _, e := range list {
			if !yield(document(e)) {
				return
			}
		}
	}
}

// eachNamed makes the members of an object of a list, in its order; nil, which is left out, if it is empty.
func eachNamed[T, D any](list []T, member func(T) (string, D)) iter.Seq2[string, D] {
	if len(list) == 0 {
		return nil
	}
	return func(yield func(string, D) bool) {
		for _, e := range list {
			if !yield(member(e)) {
				return
			}
		}
	}
}

// members makes the members of an object of a map, sorted by name; nil, which is left out, if it is empty.
func members[V, D any](m map[string]V, document func(V) D) iter.Seq2[string, D] {
	return eachNamed(slices.Sorted(maps.Keys(m)), func(name string) (string, D) { return name, document(m[name]) })
}

// jsonValue is a value as documents have it. Unknown parts are left out of objects and maps and null elsewhere;
// numbers are as exact as they are known, but JSON has no infinity. The zero value is null.
type jsonValue cty.Value

// present is a value that is left out of documents where it is null.
func present(v cty.Value) jsonValue {
	if v != cty.NilVal && v.IsNull() {
		v = cty.NilVal
	}
	return jsonValue(v)
}

// WriteJSON writes the value.
func (j jsonValue) WriteJSON(w *jsontext.Writer) {
	v := cty.Value(j)
	ty := v.Type()
	switch {
	case v == cty.NilVal || !v.IsKnown() || v.IsNull():
		w.Word("null")
	case ty == cty.String:
		w.Text(v.AsString())
	case ty == cty.Number && !ctyvalue.Number(v).IsInf():
		w.Word(numberText(ctyvalue.Number(v)))
	case ty == cty.Bool:
		w.Bool(v.True())
	case isDict(ty):
		w.Open('{')
		for name, e := range ctyvalue.Members(v) {
			if e.IsKnown() {
				w.Key(name)
				jsonValue(e).WriteJSON(w)
			}
		}
		w.Close('}')
	case isSequence(ty):
		w.Open('[')
		for _, e := range ctyvalue.Items(v) {
			jsonValue(e).WriteJSON(w)
		}
		w.Close(']')
	default:
		w.Word("null")
	}
}

// flags are booleans in the shape of a value: where it is unknown, or where it is sensitive, by its schema or its
// marks. A part without parts of its own has its flag; false is left out of objects and maps. The zero value is
// false.
type flags struct {
	v          cty.Value
	unknown    bool // the question
	schemaForm *schemaForm
	secrets    *tree
}

// sensitiveParts are the flags of an object; false if there is none.
func sensitiveParts(v mark.Value, f *blockSchemaForm) flags {
	if !exists(v) {
		return flags{}
	}
	return flags{v: v.Raw, schemaForm: &f.schemaForm, secrets: secretTree(v)}
}

// exists reports whether a value is an object.
func exists(v mark.Value) bool { return v.Raw != cty.NilVal && !v.Raw.IsNull() }

// flag is what is written of a value without parts, or instead of its parts.
func (f flags) flag() bool {
	if f.unknown {
		return !f.v.IsKnown()
	}
	return f.secrets.is() || f.schemaForm.hides()
}

// leaf reports whether there is one flag for the whole.
func (f flags) leaf() bool {
	ty := f.v.Type()
	return f.flag() || !isDict(ty) && !isSequence(ty) || f.v.IsKnown() && f.v.IsNull()
}

// WriteJSON writes the flags.
func (f flags) WriteJSON(w *jsontext.Writer) {
	switch {
	case f.leaf():
		w.Bool(f.flag())
	case !f.v.IsKnown() && isDict(f.v.Type()):
		w.Word("{}")
	case !f.v.IsKnown():
		w.Word("[]")
	case isDict(f.v.Type()):
		w.Open('{')
		for name, e := range ctyvalue.Members(f.v) {
			if in := (flags{e, f.unknown, f.schemaForm.part(name), f.secrets.at(name)}); in.flag() || !in.leaf() {
				w.Key(name)
				in.WriteJSON(w)
			}
		}
		w.Close('}')
	default:
		w.Open('[')
		for i, e := range ctyvalue.Items(f.v) {
			flags{e, f.unknown, f.schemaForm.element(), f.secrets.at(strconv.Itoa(i))}.WriteJSON(w)
		}
		w.Close(']')
	}
}

// jsonType is a type as the machine formats spell it: "string", ["list", …], ["object", {…}].
type jsonType cty.Type

// WriteJSON writes the type.
func (t jsonType) WriteJSON(w *jsontext.Writer) {
	text, err := cty.Type(t).WithoutOptionalAttributesDeep().MarshalJSON()
	if err != nil { // a type that only the program has
		text = []byte(`"dynamic"`)
	}
	w.Raw(appendSafe(nil, string(text)))
}

// instanceKey is the key of an instance; null for the only one of something that is not repeated.
type instanceKey addr.Key

// WriteJSON writes the key.
func (i instanceKey) WriteJSON(w *jsontext.Writer) {
	k := addr.Key(i)
	if k.Hidden() {
		w.Text(mark.Ephemeral.Mask())
	} else if n, ok := k.Int(); ok {
		w.Int(int64(n))
	} else if s, ok := k.Str(); ok {
		w.Text(s)
	} else {
		w.Word("null")
	}
}

// objectName is what an object is called inside its module.
type objectName struct {
	Mode string      `json:"mode"`
	Type string      `json:"type"`
	Name string      `json:"name"`
	Key  instanceKey `json:"index,omitzero"`
}

func nameOf(i addr.Instance) objectName {
	return objectName{i.Mode.String(), i.Type, i.Name, instanceKey(i.Key)}
}

// objectValues are an object as it is or will be.
type objectValues struct {
	Address string `json:"address"`
	objectName
	Provider  string    `json:"provider_name"`
	Schema    int64     `json:"schema_version"`
	Values    jsonValue `json:"values"`
	Sensitive flags     `json:"sensitive_values"`
}

func (x *objects) valuesOf(i addr.Instance, p addr.Provider, named string, schema int64, v mark.Value) objectValues {
	return objectValues{i.String(), nameOf(i), named, schema, jsonValue(v.Raw), sensitiveParts(v, x.schemaForm(p, i))}
}

// moduleDocument is an instance of a module with the resources in it, D, and the modules that it calls.
type moduleDocument[D any] struct {
	Resources iter.Seq[D]         `json:"resources,omitempty"`
	Children  []moduleDocument[D] `json:"child_modules,omitempty"`
	Address   string              `json:"address,omitempty"`
}

// moduleTree arranges what is sorted by module below a module.
func moduleTree[T, D any](at addr.ModuleInstance, list []T, in func(T) addr.ModuleInstance, document func(T) D) moduleDocument[D] {
	own := 0
	for own < len(list) && in(list[own]) == at {
		own++
	}
	out := moduleDocument[D]{Resources: each(list[:own], document), Address: at.String()}
	for list = list[own:]; len(list) > 0; {
		child, n := in(list[0]), 1
		for child.Parent() != at {
			child = child.Parent()
		}
		for n < len(list) && in(list[n]).Under(child) {
			n++
		}
		out.Children = append(out.Children, moduleTree(child, list[:n], in, document))
		list = list[n:]
	}
	return out
}
