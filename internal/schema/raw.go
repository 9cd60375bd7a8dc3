package schema

import (
	"iter"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"unsafe"

	"github.com/zclconf/go-cty/cty"
)

// This file is the only one that knows how package cty lays a value out: a type, and what it
// holds. Through the front door an attribute costs two Unicode normalisations and three map
// look-ups, an element of a list an allocated number for its index, a new object four maps and a
// type of its own: most of the time that coding and comparing wide objects takes. So values are
// read and made directly; encoding and decoding forty attributes takes less than half of what it
// took before.
//
// layoutKnown tries all of it on samples when the program starts. Should a later version of cty be
// laid out in another way, everything goes through the front door again: slower, not wrong. Tests
// run both ways.

// direct says that values are read and made directly.
var direct = layoutKnown()

type layout struct {
	ty cty.Type
	v  any // nil: null; []any, map[string]any, string, bool, *big.Float; others are opaque
}

// inside is what v holds.
func inside(v cty.Value) any { return (*layout)(unsafe.Pointer(&v)).v }

// seal makes a value of what another of the same type held.
func seal(ty cty.Type, v any) cty.Value {
	l := layout{ty, v}
	return *(*cty.Value)(unsafe.Pointer(&l))
}

func layoutKnown() (ok bool) {
	defer func() { ok = recover() == nil && ok }()
	value := reflect.TypeFor[cty.Value]()
	if value.NumField() != 2 || value.Size() != unsafe.Sizeof(layout{}) ||
		value.Field(0).Type != reflect.TypeFor[cty.Type]() || value.Field(1).Type != reflect.TypeFor[any]() {
		return false
	}
	a := cty.StringVal("a")
	list := cty.ListVal([]cty.Value{a})
	maps := cty.MapVal(map[string]cty.Value{"k": a})
	object := cty.ObjectVal(map[string]cty.Value{"a": a, "u": cty.UnknownVal(cty.Bool), "n": cty.NullVal(cty.Number)})
	attrs := inside(object).(map[string]any)
	return inside(a).(string) == "a" && inside(cty.True).(bool) && inside(cty.Zero).(*big.Float).Sign() == 0 &&
		inside(list).([]any)[0].(string) == "a" && inside(maps).(map[string]any)["k"].(string) == "a" &&
		len(attrs) == 3 && attrs["a"].(string) == "a" && attrs["n"] == nil &&
		attrs["u"] == inside(cty.UnknownVal(cty.Bool)) && attrs["u"] == inside(cty.DynamicVal) &&
		seal(object.Type(), map[string]any{"a": "a", "u": attrs["u"], "n": nil}).RawEquals(object)
}

// fields reads the attributes of an object that is known, not null and unmarked.
type fields struct {
	v     cty.Value
	types map[string]cty.Type
	raw   map[string]any
}

func fieldsOf(v cty.Value) fields {
	f := fields{v: v, types: v.Type().AttributeTypes()}
	if direct {
		f.raw = inside(v).(map[string]any)
	}
	return f
}

// get gives an attribute, and whether there is one of that name.
func (f fields) get(name string) (cty.Value, bool) {
	ty, ok := f.types[name]
	switch {
	case !ok:
		return cty.NilVal, false
	case direct:
		return seal(ty, f.raw[name]), true
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
	if direct && !c.loose {
		return builder{c: c, raw: make(map[string]any, n)}
	}
	return builder{c: c, vals: make(map[string]cty.Value, n)}
}

// set adds a value; the name must be in Unicode normal form.
func (b builder) set(name string, v cty.Value) {
	if b.raw != nil {
		b.raw[name] = inside(v)
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
		return seal(b.c.ty, b.raw), nil
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
	if direct && ty.IsObjectType() && len(ty.OptionalAttributes()) == 0 {
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
		a.raw[name] = inside(v)
		return
	}
	a.surprise()
	a.vals[name] = v
}

// surprise goes on with values, of whatever type.
func (a *Assembly) surprise() {
	a.vals = make(map[string]cty.Value, len(a.types))
	for name, raw := range a.raw {
		a.vals[name] = seal(a.types[name], raw)
	}
	a.raw = nil
}

// Value is the object.
func (a *Assembly) Value() cty.Value {
	if a.raw != nil && len(a.raw) == len(a.types) {
		return seal(a.ty, a.raw)
	}
	if a.raw != nil {
		a.surprise()
	}
	return cty.ObjectVal(a.vals)
}

// WhollyKnown is v.IsWhollyKnown(), for values that hold no marks mostly without allocating.
func WhollyKnown(v cty.Value) bool {
	if !direct {
		return v.IsWhollyKnown()
	}
	whole, sure := wholly(inside(v))
	if !sure {
		return v.IsWhollyKnown()
	}
	return whole
}

// wholly reports whether nothing in what a value holds is unknown, if it is sure.
func wholly(raw any) (whole, sure bool) {
	switch x := raw.(type) {
	case nil, string, bool, *big.Float:
		return true, true
	case map[string]any:
		for _, part := range x {
			if whole, sure := wholly(part); !whole || !sure {
				return whole, sure
			}
		}
		return true, true
	case []any:
		for _, part := range x {
			if whole, sure := wholly(part); !whole || !sure {
				return whole, sure
			}
		}
		return true, true
	}
	return false, raw == unknown // else a set, marks, a refined unknown value, or something opaque
}

// unknown is what an unknown value holds that nothing more is known of.
var unknown = func() any {
	if direct {
		return inside(cty.DynamicVal)
	}
	return nil
}()

// lister makes a list, set or tuple of a known type.
type lister struct {
	c    *codec
	raw  []any
	vals []cty.Value
}

func newLister(c *codec, n int) lister {
	if direct && c.kind == kindList && !c.loose {
		return lister{c: c, raw: make([]any, 0, n)}
	}
	return lister{c: c, vals: make([]cty.Value, 0, n)}
}

func (l *lister) add(v cty.Value) {
	if l.raw != nil {
		l.raw = append(l.raw, inside(v))
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
		return seal(l.c.ty, l.raw), nil
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
	case !direct || ty.HasDynamicTypes():
		return cty.ListVal(vals)
	}
	raw := make([]any, len(vals))
	for i, v := range vals {
		raw[i] = inside(v)
	}
	return seal(ty, raw)
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

// items goes through a list, set or tuple that is known, not null and unmarked.
func items(v cty.Value) iter.Seq2[int, cty.Value] {
	ty := v.Type()
	return func(yield func(int, cty.Value) bool) {
		if direct && ty.IsListType() {
			ety := ty.ElementType()
			for i, raw := range inside(v).([]any) {
				if !yield(i, seal(ety, raw)) {
					return
				}
			}
			return
		}
		for it, i := v.ElementIterator(), 0; it.Next(); i++ {
			if _, ev := it.Element(); !yield(i, ev) {
				return
			}
		}
	}
}

// members goes through a map or object that is known, not null and unmarked, in the order of its
// keys.
func members(v cty.Value) iter.Seq2[string, cty.Value] {
	ty := v.Type()
	return func(yield func(string, cty.Value) bool) {
		if direct {
			raw := inside(v).(map[string]any)
			for _, k := range sortedKeys(raw) {
				if !yield(k, seal(memberType(ty, k), raw[k])) {
					return
				}
			}
			return
		}
		for it := v.ElementIterator(); it.Next(); {
			if ek, ev := it.Element(); !yield(ek.AsString(), ev) {
				return
			}
		}
	}
}

func memberType(ty cty.Type, key string) cty.Type {
	if ty.IsObjectType() {
		return ty.AttributeTypes()[key]
	}
	return ty.ElementType()
}

// lookup finds elements of a map or object by key; there are none in what is null or unknown.
func lookup(v cty.Value) func(string) (cty.Value, bool) {
	switch {
	case !known(v):
		return func(string) (cty.Value, bool) { return cty.NilVal, false }
	case v.Type().IsObjectType():
		return fieldsOf(v).get
	case direct:
		raw, ety := inside(v).(map[string]any), v.Type().ElementType()
		return func(k string) (cty.Value, bool) {
			ev, ok := raw[k]
			return seal(ety, ev), ok
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
	vals := make([]cty.Value, 0, v.LengthInt())
	for _, ev := range items(v) {
		vals = append(vals, ev)
	}
	return vals
}

// same reports whether two objects are one and the same; it may say no wrongly.
func same(a, b cty.Value) bool {
	if !direct {
		return equal(a, b)
	}
	x, okX := inside(a).(map[string]any)
	y, okY := inside(b).(map[string]any)
	return okX && okY && sameMap(x, y)
}

// known reports whether there is something to look into.
func known(v cty.Value) bool { return v.IsKnown() && !v.IsNull() }

func sortedKeys[V any](m map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}

// stringOf is cty.StringVal without looking at text that is ASCII anyway.
func stringOf(s string) cty.Value {
	if direct && isASCII(s) {
		return seal(cty.String, s)
	}
	return cty.StringVal(s)
}

func normal(s string) string {
	if isASCII(s) {
		return s
	}
	return cty.NormalizeString(s)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// floatOf is the number that v holds; it must not be changed.
func floatOf(v cty.Value) *big.Float {
	if direct {
		return inside(v).(*big.Float)
	}
	return v.AsBigFloat()
}
