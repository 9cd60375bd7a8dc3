package view

import (
	"iter"
	"strconv"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
	"github.com/zclconf/go-cty/cty"
)

// Common parts of JSON documents of plans and states: values, keys, and the places of unknown and sensitive values.

// The versions of the documents.
const (
	formatPlan     = "1.2"
	formatConfig   = "1.0"
	formatState    = "1.0"
	formatValidate = "1.0"
)

// objects finds the schemas and values of objects for documents and texts. Only one goroutine may use it.
type objects struct {
	*review.Objects
	hosts jsondoc.Hosts
}

func newObjects(s provider.Lookup) *objects { return &objects{Objects: review.NewObjects(s)} }

// jsonValue is a value in the form in which documents contain values.
type jsonValue = jsondoc.Value

// flags are booleans in the shape of a value. If unknown is true, a flag is true for an unknown part. Otherwise a flag
// is true for a part that is sensitive by its schema or its marks. Objects and maps omit members whose flag is false.
// The zero value is false.
type flags struct {
	v          cty.Value
	unknown    bool // the flags are true for unknown parts; false: for sensitive parts
	schemaForm *diff.Form
	secrets    *diff.Paths
}

// sensitiveParts returns the flags for the sensitive parts of an object: {} without them, false if it does not exist.
func sensitiveParts(v mark.Value, f *diff.BlockForm) flags {
	if !exists(v) {
		return flags{}
	}
	return flags{v: v.Raw, schemaForm: &f.Form, secrets: diff.SensitivePaths(v)}
}

// exists reports whether a value is neither missing nor null.
func exists(v mark.Value) bool { return v.Raw != cty.NilVal && !v.Raw.IsNull() }

// flag returns whether the whole value is unknown (f.unknown), or otherwise whether the whole value is sensitive.
func (f flags) flag() bool {
	if f.unknown {
		return !f.v.IsKnown()
	}
	return f.secrets.Has() || f.schemaForm.IsSensitive()
}

// leaf reports whether one boolean describes the whole value, because the value has no parts.
func (f flags) leaf() bool {
	ty := f.v.Type()
	return f.flag() || !ctyvalue.IsDict(ty) && !ctyvalue.IsSequence(ty) || f.v.IsKnown() && f.v.IsNull()
}

// WriteJSON writes the flags as JSON.
func (f flags) WriteJSON(w *jsontext.Writer) {
	switch {
	case f.leaf():
		w.Bool(f.flag())
	case !f.v.IsKnown() && ctyvalue.IsDict(f.v.Type()):
		w.Word("{}")
	case !f.v.IsKnown():
		w.Word("[]")
	case ctyvalue.IsDict(f.v.Type()):
		w.Open('{')
		for name, e := range ctyvalue.Members(f.v) {
			if in := (flags{e, f.unknown, f.schemaForm.Part(name), f.secrets.At(name)}); in.flag() || !in.leaf() {
				w.Key(name)
				in.WriteJSON(w)
			}
		}
		w.Close('}')
	default:
		w.Open('[')
		for i, e := range ctyvalue.Items(f.v) {
			flags{e, f.unknown, f.schemaForm.Element(), f.secrets.At(strconv.Itoa(i))}.WriteJSON(w)
		}
		w.Close(']')
	}
}

type instanceKey = jsondoc.Key

// objectName is the name of an object inside its module.
type objectName struct {
	Mode string      `json:"mode"`
	Type string      `json:"type"`
	Name string      `json:"name"`
	Key  instanceKey `json:"index,omitzero"`
}

func nameOf(i addr.Instance) objectName {
	return objectName{i.Mode.String(), i.Type, i.Name, instanceKey(i.Key)}
}

// objectValues are the stored or planned values of an object.
type objectValues struct {
	Address string `json:"address"`
	objectName
	Provider  string    `json:"provider_name"`
	Schema    int64     `json:"schema_version"`
	Values    jsonValue `json:"values,omitzero"` // absent if no value is known
	Sensitive flags     `json:"sensitive_values"`
}

func (x *objects) valuesOf(i addr.Instance, p addr.Provider, named string, schema int64, v mark.Value) objectValues {
	doc := objectValues{i.String(), nameOf(i), named, schema, jsonValue{}, sensitiveParts(v, x.Form(p, i))}
	if !exists(v) {
		return doc
	}
	for _, e := range ctyvalue.Members(v.Raw) {
		if e.IsKnown() {
			doc.Values = jsonValue(v.Raw)
			break
		}
	}
	return doc
}

// moduleDocument is a module instance with its resources, each of type D, and its child modules.
type moduleDocument[D any] struct {
	Resources iter.Seq[D]         `json:"resources,omitempty"`
	Children  []moduleDocument[D] `json:"child_modules,omitempty"`
	Address   string              `json:"address,omitempty"`
}

// moduleTree makes a tree of the module at and the modules below it, from a list that is sorted by module. in(x) is the
// module of the element x, and document(x) is its form in the tree.
func moduleTree[T, D any](at addr.ModuleInstance, list []T, in func(T) addr.ModuleInstance, document func(T) D) moduleDocument[D] {
	own := 0
	for own < len(list) && in(list[own]) == at {
		own++
	}
	out := moduleDocument[D]{Resources: jsondoc.Each(list[:own], document), Address: at.String()}
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
