package view

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
	"github.com/zclconf/go-cty/cty"
)

// docValue is a value as a document: what text is made from. A nil *docValue is nothing at
// all, which is not the same as an explicit null.
type docValue struct {
	kind   docKind
	secret bool   // sensitive as a whole
	text   string // of numbers, bools and strings
	names  []string
	elems  []*docValue // of lists and sets; of dicts beside names, which are sorted
}

type docKind uint8

const (
	vNull docKind = iota
	vUnknown
	vBool
	vNumber
	vString
	vList // also what has no schema to tell that it is a set
	vSet
	vMap
	vObject
)

// isDict reports whether the value has named parts.
func (v *docValue) isDict() bool { return v.kind == vMap || v.kind == vObject }

// isSeq reports whether the value has parts in an order.
func (v *docValue) isSeq() bool { return v.kind == vList || v.kind == vSet }

// get finds a part of a dict.
func (v *docValue) get(name string) *docValue {
	if v == nil || !v.isDict() {
		return nil
	}
	if i, ok := slices.BinarySearch(v.names, name); ok {
		return v.elems[i]
	}
	return nil
}

// absent reports whether there is nothing: no value, or null.
func (v *docValue) absent() bool { return v == nil || v.kind == vNull }

// equal reports whether two values are shown alike. Unknown values equal nothing.
func (v *docValue) equal(w *docValue) bool {
	switch {
	case v == w:
		return v == nil || !v.unknownInside()
	case v == nil || w == nil, v.kind != w.kind, v.kind == vUnknown, v.text != w.text, len(v.elems) != len(w.elems):
		return false
	case v.isDict() && !slices.Equal(v.names, w.names):
		return false
	}
	for i := range v.elems {
		if !v.elems[i].equal(w.elems[i]) {
			return false
		}
	}
	return true
}

func (v *docValue) unknownInside() bool {
	if v == nil {
		return false
	}
	return v.kind == vUnknown || slices.ContainsFunc(v.elems, (*docValue).unknownInside)
}

// appendKey appends text that is equal for equal values.
func (v *docValue) appendKey(key []byte) []byte {
	if v == nil {
		return append(key, 0xff)
	}
	text := func(s string) { key = append(binary.AppendUvarint(key, uint64(len(s))), s...) }
	key = append(key, byte(v.kind))
	text(v.text)
	key = binary.AppendUvarint(key, uint64(len(v.elems)))
	for i, e := range v.elems {
		if v.isDict() {
			text(v.names[i])
		}
		key = e.appendKey(key)
	}
	return key
}

// tree is a set of paths, by step: attribute names, keys and indexes as text. A nil *tree is
// empty.
type tree struct {
	here bool
	sent bool   // a path of the other kind: a write-only attribute that is set
	mask string // what stands for a value that is not shown
	kids map[string]*tree
}

// all is the set that has every path.
var all = &tree{here: true}

func (t *tree) at(step string) *tree {
	if t == nil {
		return nil
	}
	return t.kids[step]
}

func (t *tree) is() bool { return t != nil && t.here }

// below returns the paths under a step. A path in the set includes everything inside it: if t has a path here, every
// path under the step is in the result. Paths below the step keep their own entries, so that a block and an attribute
// of it can both be in the set.
func (t *tree) below(step string) *tree {
	in := t.at(step)
	switch {
	case !t.is():
		return in
	case in == nil:
		return all
	case in.here:
		return in
	}
	whole := *in
	whole.here = true
	return &whole
}

// add puts a path into the set. Where a step cannot be named, as in sets, the path ends.
func (t *tree) add(p cty.Path) { t.node(p).here = true }

func (t *tree) node(p cty.Path) *tree {
	for _, s := range p {
		name, ok := stepName(s)
		if !ok {
			break
		}
		next := t.kids[name]
		if next == nil {
			if t.kids == nil {
				t.kids = map[string]*tree{}
			}
			next = &tree{}
			t.kids[name] = next
		}
		t = next
	}
	return t
}

func stepName(s cty.PathStep) (string, bool) {
	switch s := s.(type) {
	case cty.GetAttrStep:
		return s.Name, true
	case cty.IndexStep:
		if !s.Key.IsKnown() || s.Key.IsNull() {
			return "", false
		}
		switch s.Key.Type() {
		case cty.String:
			return s.Key.AsString(), true
		case cty.Number:
			return jsondoc.Number(s.Key.AsBigFloat()), true
		}
	}
	return "", false
}

// secretTree is where a value is sensitive; ephemeral values are not shown either.
func secretTree(v mark.Value) *tree {
	if len(v.Marks) == 0 {
		return nil
	}
	t := &tree{}
	for _, m := range v.Marks {
		t.add(m.Path)
	}
	return t
}

// free makes a document of a value without a schema: sets are lists, maps are objects, and nulls
// are explicit.
func free(v cty.Value, secrets *tree) *docValue {
	return document(v, nil, secrets)
}

// document makes the document of a value; f is nil where no schema describes it.
func document(v cty.Value, f *schemaForm, secrets *tree) *docValue {
	out := &docValue{secret: secrets.is()}
	switch {
	case v == cty.NilVal:
		return nil
	case !v.IsKnown():
		out.kind = vUnknown
		return out
	case v.IsNull():
		out.kind = vNull
		return out
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		out.kind, out.text = vString, v.AsString()
	case ty == cty.Number:
		out.kind, out.text = vNumber, jsondoc.Number(v.AsBigFloat())
	case ty == cty.Bool:
		out.kind, out.text = vBool, strconv.FormatBool(v.True())
	case jsondoc.IsDict(ty):
		out.dict(v, f, secrets)
	case jsondoc.IsSequence(ty):
		out.seq(v, f, secrets)
	}
	return out
}

func (v *docValue) seq(from cty.Value, f *schemaForm, secrets *tree) {
	v.kind = vList
	if f != nil && f.kind == fSet {
		v.kind = vSet
	}
	if n := from.LengthInt(); n > 0 {
		v.elems = make([]*docValue, 0, n)
	}
	for _, ev := range ctyvalue.Items(from) {
		v.elems = append(v.elems, document(ev, f.element(), secrets.at(strconv.Itoa(len(v.elems)))))
	}
}

func (v *docValue) dict(from cty.Value, f *schemaForm, secrets *tree) {
	v.kind = vObject
	if f != nil && f.kind == fMap {
		v.kind = vMap
	}
	for name, ev := range ctyvalue.Members(from) {
		inner := f.part(name)
		if f.strict() && ev.IsKnown() && ev.IsNull() && !inner.writes() {
			continue // of an object with a schema, null is the same as nothing
		}
		e := document(ev, inner, secrets.at(name))
		if inner.hides() {
			e.secret = true
		}
		v.names, v.elems = append(v.names, name), append(v.elems, e)
	}
}

// sequence is the parts of a list or set.
func (v *docValue) sequence() []*docValue {
	if v == nil {
		return nil
	}
	return v.elems
}

// Strings often hold JSON: policies, templates, settings. Where one holds an object or an array, it
// is shown as what it says, written as a call of jsonencode.

// parseJSON makes a document of a string that is a JSON object or array and nothing else.
func parseJSON(s string) (*docValue, bool) {
	if s == "" || s[0] != '{' && s[0] != '[' || !json.Valid([]byte(s)) {
		return nil, false
	}
	return readJSON(&jsontext.Scanner{In: []byte(s)}), true
}

func readJSON(s *jsontext.Scanner) *docValue {
	switch s.Peek() {
	case '{':
		return readJSONObject(s)
	case '[':
		v := &docValue{kind: vList}
		s.Array(func() { v.elems = append(v.elems, readJSON(s)) })
		return v
	case '"':
		return &docValue{kind: vString, text: string(s.Str())}
	case 't', 'f':
		return &docValue{kind: vBool, text: strconv.FormatBool(s.Boolean())}
	case 'n':
		s.Null()
		return &docValue{kind: vNull}
	}
	return &docValue{kind: vNumber, text: string(s.Raw())}
}

// readJSONObject reads the members of an object; of a name that comes twice, the last one counts.
func readJSONObject(s *jsontext.Scanner) *docValue {
	members := map[string]*docValue{}
	s.Object(func(key []byte) {
		name := string(key)
		members[name] = readJSON(s)
	})
	v := &docValue{kind: vObject, names: slices.Sorted(maps.Keys(members))}
	for _, name := range v.names {
		v.elems = append(v.elems, members[name])
	}
	return v
}
