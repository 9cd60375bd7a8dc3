package diff

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Value is a value in the form of a document for the text views. A nil *Value means no value, and so differs from an
// explicit null.
type Value struct {
	Kind      ValueKind
	Sensitive bool     // the whole value is sensitive
	Text      string   // the text of a number, bool or string
	Names     []string // in a dict (object or map): the names of its parts, sorted; otherwise nil
	Elements  []*Value // in a list or set: the elements; in a dict: the values of Names
}

// ValueKind is the type of a Value, or the reason why its content is not known (null, unknown, secret).
type ValueKind uint8

// Kinds of values. A set without a schema is a ListValue.
const (
	NullValue ValueKind = iota
	UnknownValue
	BoolValue
	NumberValue
	StringValue
	ListValue
	SetValue
	MapValue
	ObjectValue
	SecretValue // a sensitive value whose content was not read; see Differ.Opaque
)

// IsDict reports whether the value has named parts: it is an object or a map.
func (v *Value) IsDict() bool { return v.Kind == MapValue || v.Kind == ObjectValue }

// IsSequence reports whether the value has elements without names: it is a list, a set or a tuple.
func (v *Value) IsSequence() bool { return v.Kind == ListValue || v.Kind == SetValue }

// get returns a part of a dict. It returns nil if the value is not a dict or has no such part.
func (v *Value) get(name string) *Value {
	if v == nil || !v.IsDict() {
		return nil
	}
	if i, ok := slices.BinarySearch(v.Names, name); ok {
		return v.Elements[i]
	}
	return nil
}

// IsAbsent reports whether the value is missing or null.
func (v *Value) IsAbsent() bool { return v == nil || v.Kind == NullValue }

// equal reports whether two values look the same. nil is equal only to nil. An unknown value is not equal to any value.
func (v *Value) equal(w *Value) bool {
	switch {
	case v == w:
		return v == nil || !v.unknownInside()
	case v == nil || w == nil, v.Kind != w.Kind, v.Kind == UnknownValue, v.Text != w.Text, len(v.Elements) != len(w.Elements):
		return false
	case v.IsDict() && !slices.Equal(v.Names, w.Names):
		return false
	}
	for i := range v.Elements {
		if !v.Elements[i].equal(w.Elements[i]) {
			return false
		}
	}
	return true
}

func (v *Value) unknownInside() bool {
	if v == nil {
		return false
	}
	return v.Kind == UnknownValue || slices.ContainsFunc(v.Elements, (*Value).unknownInside)
}

func (v *Value) secret() bool { return v != nil && v.Kind == SecretValue }

func (v *Value) secretInside() bool {
	return v != nil && (v.secret() || slices.ContainsFunc(v.Elements, (*Value).secretInside))
}

// appendKey appends a key of v to key, and returns the result. Two values have equal keys only if they are equal.
func (v *Value) appendKey(key []byte) []byte {
	if v == nil {
		return append(key, 0xff)
	}
	text := func(s string) { key = append(binary.AppendUvarint(key, uint64(len(s))), s...) }
	key = append(key, byte(v.Kind))
	text(v.Text)
	key = binary.AppendUvarint(key, uint64(len(v.Elements)))
	for i, e := range v.Elements {
		if v.IsDict() {
			text(v.Names[i])
		}
		key = e.appendKey(key)
	}
	return key
}

// Paths is a set of paths, as a tree of steps. A step is an attribute name, a key or an index, as text. A nil *Paths is
// the empty set.
type Paths struct {
	included bool
	Sent     bool   // true: the configuration sets this write-only attribute; has no effect on Has
	Mask     string // the text that replaces a hidden value
	children map[string]*Paths
}

// AllPaths is the set of all paths.
var AllPaths = &Paths{included: true}

// At returns the paths of t that begin with a step, without that step. It returns nil if no path begins with the step.
func (t *Paths) At(step string) *Paths {
	if t == nil {
		return nil
	}
	return t.children[step]
}

// Has reports whether the set contains the empty path, which is the whole value.
func (t *Paths) Has() bool { return t != nil && t.included }

// below returns the paths of t under a step. A path in the set includes everything inside it: if t contains the empty
// path, the result contains every path. Paths below the step keep their separate entries in the result, because the set
// may contain a block and also an attribute of the block.
func (t *Paths) below(step string) *Paths {
	in := t.At(step)
	switch {
	case !t.Has():
		return in
	case in == nil:
		return AllPaths
	case in.included:
		return in
	}
	whole := *in
	whole.included = true
	return &whole
}

// Add adds a path to the set. The path ends before a step that has no name, such as an element of a set.
func (t *Paths) Add(p cty.Path) { t.Place(p).included = true }

// Place returns the node of a path, which ends before a step that has no name. It creates missing nodes, but does not
// add the path to the set.
func (t *Paths) Place(p cty.Path) *Paths {
	for _, s := range p {
		name, ok := StepName(s)
		if !ok {
			break
		}
		next := t.children[name]
		if next == nil {
			if t.children == nil {
				t.children = map[string]*Paths{}
			}
			next = &Paths{}
			t.children[name] = next
		}
		t = next
	}
	return t
}

// StepName returns the text of a step. It returns false if the step has no name, such as an element of a set.
func StepName(s cty.PathStep) (string, bool) {
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
			return ctyvalue.NumberText(s.Key.AsBigFloat()), true
		}
	}
	return "", false
}

// SensitivePaths returns the paths of the sensitive and the ephemeral parts of a value. It returns nil if the value has
// no such parts.
func SensitivePaths(v mark.Value) *Paths {
	if len(v.Marks) == 0 {
		return nil
	}
	t := &Paths{}
	for _, m := range v.Marks {
		t.Add(m.Path)
	}
	return t
}

// NewUntypedValue returns the Value of v without a schema: sets become lists, maps become objects, and null differs
// from a missing value. secrets has the paths of the sensitive parts.
func NewUntypedValue(v cty.Value, secrets *Paths) *Value {
	return NewValue(v, nil, secrets)
}

// NewValue returns the Value of v, or nil if v is cty.NilVal. f is nil if no schema describes v. secrets has the paths
// of the sensitive parts; nil means that no part is sensitive.
func NewValue(v cty.Value, f *Form, secrets *Paths) *Value { return reader{}.value(v, f, secrets) }

// NewOpaqueValue returns the Value of v with a SecretValue in the place of each sensitive part. So the result of a
// comparison does not depend on the sensitive parts.
func NewOpaqueValue(v cty.Value, f *Form, secrets *Paths) *Value {
	return reader{opaque: true}.value(v, f, secrets)
}

// reader makes Values.
type reader struct {
	opaque bool // replace each sensitive part by a SecretValue
}

func (r reader) value(v cty.Value, f *Form, secrets *Paths) *Value {
	out := &Value{Sensitive: secrets.Has()}
	switch {
	case v == cty.NilVal:
		return nil
	case r.opaque && (out.Sensitive || f.IsSensitive()):
		return &Value{Kind: SecretValue, Sensitive: true}
	case !v.IsKnown():
		out.Kind = UnknownValue
		return out
	case v.IsNull():
		out.Kind = NullValue
		return out
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		out.Kind, out.Text = StringValue, v.AsString()
	case ty == cty.Number:
		out.Kind, out.Text = NumberValue, ctyvalue.NumberText(v.AsBigFloat())
	case ty == cty.Bool:
		out.Kind, out.Text = BoolValue, strconv.FormatBool(v.True())
	case ctyvalue.IsDict(ty):
		r.dict(out, v, f, secrets)
	case ctyvalue.IsSequence(ty):
		r.seq(out, v, f, secrets)
	}
	return out
}

func (r reader) seq(out *Value, from cty.Value, f *Form, secrets *Paths) {
	out.Kind = ListValue
	if f != nil && f.kind == fSet {
		out.Kind = SetValue
	}
	if n := from.LengthInt(); n > 0 {
		out.Elements = make([]*Value, 0, n)
	}
	for _, ev := range ctyvalue.Items(from) {
		out.Elements = append(out.Elements, r.value(ev, f.Element(), secrets.At(strconv.Itoa(len(out.Elements)))))
	}
	if r.opaque && from.Type().IsSetType() && slices.ContainsFunc(out.Elements, (*Value).secretInside) {
		out.Elements = distinct(out.Elements)
	}
}

// distinct sorts the elements of an opaque set and removes duplicates. Otherwise the order and the number of the
// elements would reveal the sensitive parts: two elements that differ only in such a part count as one element.
func distinct(vs []*Value) []*Value {
	byKey := map[string]*Value{}
	for _, v := range vs {
		byKey[string(v.appendKey(nil))] = v
	}
	out := make([]*Value, 0, len(byKey))
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		out = append(out, byKey[key])
	}
	return out
}

func (r reader) dict(out *Value, from cty.Value, f *Form, secrets *Paths) {
	out.Kind = ObjectValue
	if f != nil && f.kind == fMap {
		out.Kind = MapValue
	}
	for name, ev := range ctyvalue.Members(from) {
		inner, hidden := f.Part(name), secrets.At(name)
		if f.strict() && ev.IsKnown() && ev.IsNull() && !inner.isWriteOnly() && !(r.opaque && hidden.Has()) {
			continue // in an object with a schema, null is the same as a missing value
		}
		e := r.value(ev, inner, hidden)
		if inner.IsSensitive() {
			e.Sensitive = true
		}
		out.Names, out.Elements = append(out.Names, name), append(out.Elements, e)
	}
}

// sequence returns the elements of a list or set.
func (v *Value) sequence() []*Value {
	if v == nil {
		return nil
	}
	return v.Elements
}

// Strings often contain JSON: policies, templates, settings. If a string contains an object or an array, views show its
// content as a call of jsonencode.

// parseJSON returns the Value of the content of a string that is a JSON object or array. It returns false for any other
// string.
func parseJSON(s string) (*Value, bool) {
	if s == "" || s[0] != '{' && s[0] != '[' || !json.Valid([]byte(s)) {
		return nil, false
	}
	return readJSON(&jsontext.Scanner{In: []byte(s)}), true
}

func readJSON(s *jsontext.Scanner) *Value {
	switch s.Peek() {
	case '{':
		return readJSONObject(s)
	case '[':
		v := &Value{Kind: ListValue}
		s.Array(func() { v.Elements = append(v.Elements, readJSON(s)) })
		return v
	case '"':
		return &Value{Kind: StringValue, Text: string(s.Str())}
	case 't', 'f':
		return &Value{Kind: BoolValue, Text: strconv.FormatBool(s.Boolean())}
	case 'n':
		s.Null()
		return &Value{Kind: NullValue}
	}
	return &Value{Kind: NumberValue, Text: string(s.Raw())}
}

// readJSONObject reads the members of an object. The last member with a name replaces earlier ones.
func readJSONObject(s *jsontext.Scanner) *Value {
	members := map[string]*Value{}
	s.Object(func(key []byte) {
		name := string(key)
		members[name] = readJSON(s)
	})
	v := &Value{Kind: ObjectValue, Names: slices.Sorted(maps.Keys(members))}
	for _, name := range v.Names {
		v.Elements = append(v.Elements, members[name])
	}
	return v
}
