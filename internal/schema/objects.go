package schema

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// fields reads the attributes of an object that is known, not null and unmarked.
type fields struct {
	v     cty.Value
	types map[string]cty.Type
	raw   map[string]any
}

func fieldsOf(v cty.Value) fields {
	f := fields{v: v, types: v.Type().AttributeTypes()}
	if ctyvalue.Direct {
		f.raw = ctyvalue.Held(v).(map[string]any)
	}
	return f
}

// get gives an attribute, and whether there is one of that name.
func (f fields) get(name string) (cty.Value, bool) {
	ty, ok := f.types[name]
	switch {
	case !ok:
		return cty.NilVal, false
	case ctyvalue.Direct:
		return ctyvalue.Make(ty, f.raw[name]), true
	}
	return f.v.GetAttr(name), true
}

// view reads what the nodes of a shape are in an object; in one that is null or unknown, all of
// them are.
type view struct {
	fields
	null, unknown bool
}

func viewOf(v cty.Value) view {
	switch {
	case !v.IsKnown():
		return view{unknown: true}
	case v.IsNull():
		return view{null: true}
	}
	return view{fields: fieldsOf(v)}
}

func (w view) of(n *node) cty.Value {
	switch {
	case w.unknown:
		return n.unknown
	case w.null:
		return n.codec.null
	}
	v, _ := w.get(n.name)
	return v
}

// builder makes an object or a map of a known type.
type builder struct {
	c    *codec
	raw  map[string]any
	vals map[string]cty.Value
}

// newBuilder starts one with room for n. Where the type is loose, values may turn out to be of
// more special types than it says, and an object will be of a type of its own.
func newBuilder(c *codec, n int) builder {
	if ctyvalue.Direct && !c.loose {
		return builder{c: c, raw: make(map[string]any, n)}
	}
	return builder{c: c, vals: make(map[string]cty.Value, n)}
}

// set adds a value; the name must be in Unicode normal form.
func (b builder) set(name string, v cty.Value) {
	if b.raw != nil {
		b.raw[name] = ctyvalue.Held(v)
	} else {
		b.vals[name] = v
	}
}

func (b builder) has(name string) bool {
	_, raw := b.raw[name]
	_, val := b.vals[name]
	return raw || val
}

func (b builder) len() int { return len(b.raw) + len(b.vals) }

func (b builder) value() (cty.Value, *failure) {
	switch {
	case b.raw != nil:
		return ctyvalue.Make(b.c.ty, b.raw), nil
	case b.c.kind == kindObject:
		return cty.ObjectVal(b.vals), nil
	case len(b.vals) == 0:
		return cty.MapValEmpty(b.c.elem.ty), nil
	case b.c.loose && !cty.CanMapVal(b.vals):
		return cty.NilVal, fail("all elements must be of the same type")
	}
	return cty.MapVal(b.vals), nil
}

// Assembly collects the attributes of an object whose type is foreseen. Values of other types are
// taken too: the object is of a type of its own then.
type Assembly struct {
	ty    cty.Type
	types map[string]cty.Type
	raw   map[string]any
	vals  map[string]cty.Value
}

// Assemble begins an object that is expected to be of type ty.
func Assemble(ty cty.Type) *Assembly {
	a := &Assembly{ty: ty}
	if ctyvalue.Direct && ty.IsObjectType() && len(ty.OptionalAttributes()) == 0 {
		a.types = ty.AttributeTypes()
		a.raw = make(map[string]any, len(a.types))
	} else {
		a.vals = map[string]cty.Value{}
	}
	return a
}

// Set sets an attribute.
func (a *Assembly) Set(name string, v cty.Value) {
	if a.raw == nil {
		a.vals[name] = v
		return
	}
	if ty, ok := a.types[name]; ok && ty.Equals(v.Type()) {
		a.raw[name] = ctyvalue.Held(v)
		return
	}
	a.surprise()
	a.vals[name] = v
}

// surprise goes on with values, of whatever type.
func (a *Assembly) surprise() {
	a.vals = make(map[string]cty.Value, len(a.types))
	for name, raw := range a.raw {
		a.vals[name] = ctyvalue.Make(a.types[name], raw)
	}
	a.raw = nil
}

// Value is the object.
func (a *Assembly) Value() cty.Value {
	if a.raw != nil && len(a.raw) == len(a.types) {
		return ctyvalue.Make(a.ty, a.raw)
	}
	if a.raw != nil {
		a.surprise()
	}
	return cty.ObjectVal(a.vals)
}

// lister makes a list, set or tuple of a known type.
type lister struct {
	c    *codec
	raw  []any
	vals []cty.Value
}

func newLister(c *codec, n int) lister {
	if ctyvalue.Direct && c.kind == kindList && !c.loose {
		return lister{c: c, raw: make([]any, 0, n)}
	}
	return lister{c: c, vals: make([]cty.Value, 0, n)}
}

func (l *lister) add(v cty.Value) {
	if l.raw != nil {
		l.raw = append(l.raw, ctyvalue.Held(v))
	} else {
		l.vals = append(l.vals, v)
	}
}

func (l *lister) len() int { return len(l.raw) + len(l.vals) }

// value makes it. Elements of a loose type may turn out to be of several types, which only a tuple
// can hold.
func (l *lister) value() (cty.Value, *failure) {
	switch {
	case l.raw != nil:
		return ctyvalue.Make(l.c.ty, l.raw), nil
	case l.c.kind == kindTuple:
		return cty.TupleVal(l.vals), nil
	case l.c.loose && !cty.CanListVal(l.vals):
		return cty.NilVal, fail("all elements must be of the same type")
	case l.c.kind == kindList && len(l.vals) == 0:
		return cty.ListValEmpty(l.c.elem.ty), nil
	case l.c.kind == kindList:
		return cty.ListVal(l.vals), nil
	case len(l.vals) == 0:
		return cty.SetValEmpty(l.c.elem.ty), nil
	}
	return cty.SetVal(l.vals), nil
}

// listLike makes a list, set or tuple as of is one of, with other elements of the same types.
func listLike(of cty.Value, vals []cty.Value) cty.Value {
	ty := of.Type()
	switch {
	case ty.IsTupleType():
		return cty.TupleVal(vals)
	case ty.IsSetType() && len(vals) == 0:
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(vals)
	case len(vals) == 0:
		return cty.ListValEmpty(ty.ElementType())
	case !ctyvalue.Direct || ty.HasDynamicTypes():
		return cty.ListVal(vals)
	}
	raw := make([]any, len(vals))
	for i, v := range vals {
		raw[i] = ctyvalue.Held(v)
	}
	return ctyvalue.Make(ty, raw)
}

// mapLike makes a map or object likewise.
func mapLike(of cty.Value, vals map[string]cty.Value) cty.Value {
	switch ty := of.Type(); {
	case ty.IsObjectType():
		return cty.ObjectVal(vals)
	case len(vals) == 0:
		return cty.MapValEmpty(ty.ElementType())
	}
	return cty.MapVal(vals)
}

// lookup finds elements of a map or object by key; there are none in what is null or unknown.
func lookup(v cty.Value) func(string) (cty.Value, bool) {
	switch {
	case !known(v):
		return func(string) (cty.Value, bool) { return cty.NilVal, false }
	case v.Type().IsObjectType():
		return fieldsOf(v).get
	case ctyvalue.Direct:
		raw, ety := ctyvalue.Held(v).(map[string]any), v.Type().ElementType()
		return func(k string) (cty.Value, bool) {
			ev, ok := raw[k]
			return ctyvalue.Make(ety, ev), ok
		}
	}
	vals := v.AsValueMap()
	return func(k string) (cty.Value, bool) {
		ev, ok := vals[k]
		return ev, ok
	}
}

// orNull is the element that find finds, or null of no particular type.
func orNull(find func(string) (cty.Value, bool), key string) cty.Value {
	if v, ok := find(key); ok {
		return v
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// elements is the list, set or tuple as a slice; nil if it is null or unknown.
func elements(v cty.Value) []cty.Value {
	if !known(v) {
		return nil
	}
	return ctyvalue.Elements(v)
}

// same reports whether two objects are one and the same; it may say no wrongly.
func same(a, b cty.Value) bool {
	if !ctyvalue.Direct {
		return equal(a, b)
	}
	x, okX := ctyvalue.Held(a).(map[string]any)
	y, okY := ctyvalue.Held(b).(map[string]any)
	return okX && okY && ctyvalue.SameMap(x, y)
}

// known reports whether there is something to look into.
func known(v cty.Value) bool { return v.IsKnown() && !v.IsNull() }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func normal(s string) string {
	if ctyvalue.IsASCII(s) {
		return s
	}
	return cty.NormalizeString(s)
}
