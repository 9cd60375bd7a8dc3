package schema

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// in is what the node is in an object: null or unknown where the object is that.
func (n *node) in(obj cty.Value) cty.Value {
	switch {
	case !obj.IsKnown():
		return n.unknown
	case obj.IsNull():
		return n.codec.null
	}
	v, _ := ctyvalue.Attribute(obj, n.name)
	return v
}

// few is room for the attributes of most objects, which need not be allocated.
type few [16]cty.Value

func (f *few) room(n int) []cty.Value {
	if n <= len(f) {
		return f[:n]
	}
	return make([]cty.Value, n)
}

// object makes an object of its attributes, in the order of their names. Where the type is loose, values may be of
// more special types than it says, and the object is of a type of its own.
func (c *codec) object(vals []cty.Value) cty.Value {
	if c.loose {
		return ctyvalue.ObjectOf(cty.NilType, c.names, vals)
	}
	return ctyvalue.ObjectOf(c.ty, c.names, vals)
}

// collection makes a list, set or tuple of its elements. Elements of a loose type may turn out to be of several
// types, which only a tuple can hold.
func (c *codec) collection(vals []cty.Value) (cty.Value, *failure) {
	switch {
	case c.kind == kindTuple:
		return cty.TupleVal(vals), nil
	case c.loose && !cty.CanListVal(vals):
		return cty.NilVal, fail("all elements must be of the same type")
	}
	return listLike(c.null, vals), nil
}

// mapping makes a map of its elements.
func (c *codec) mapping(vals map[string]cty.Value) (cty.Value, *failure) {
	if c.loose && !cty.CanMapVal(vals) {
		return cty.NilVal, fail("all elements must be of the same type")
	}
	return mapLike(c.null, vals), nil
}

// rebuild makes an object of the shape of what f makes of everything that is in v.
func (s *shape) rebuild(v cty.Value, f func(n *node, v cty.Value) cty.Value) cty.Value {
	var few few
	vals := few.room(len(s.nodes))
	for i, n := range s.nodes {
		vals[i] = f(n, n.in(v))
	}
	return s.object(vals)
}

// replace makes a nested attribute, or all blocks of a type, of what f makes of every object in v, which is known
// and not null. f gets the object's key in a map or index in a list as well.
func (n *node) replace(v cty.Value, f func(key string, i int, v cty.Value) cty.Value) cty.Value {
	switch n.nesting {
	case Single, Group:
		return f("", 0, v)
	case Map:
		vals := make(map[string]cty.Value, v.LengthInt())
		for k, ev := range ctyvalue.Members(v) {
			vals[k] = f(k, 0, ev)
		}
		return mapLike(v, vals)
	}
	vals := ctyvalue.Elements(v)
	for i, ev := range vals {
		vals[i] = f("", i, ev)
	}
	return listLike(v, vals)
}

// ObjectLike is an object of type ty if these are just its attributes, each of the very type, and else one of a type of
// its own.
func ObjectLike(ty cty.Type, names []string, vals []cty.Value) cty.Value {
	types := ty.AttributeTypes()
	foreseen := len(ty.OptionalAttributes()) == 0 && len(names) == len(types)
	for i := 0; foreseen && i < len(names); i++ {
		aty, ok := types[names[i]]
		foreseen = ok && aty.Equals(vals[i].Type())
	}
	if !foreseen {
		ty = cty.NilType
	}
	return ctyvalue.ObjectOf(ty, names, vals)
}

// listLike makes a list, set or tuple as of is one of, with other elements of the same types.
func listLike(of cty.Value, vals []cty.Value) cty.Value {
	switch ty := of.Type(); {
	case ty.IsTupleType():
		return cty.TupleVal(vals)
	case ty.IsSetType() && len(vals) == 0:
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsSetType():
		return cty.SetVal(vals)
	case len(vals) == 0:
		return cty.ListValEmpty(ty.ElementType())
	}
	return cty.ListVal(vals)
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
	var vals map[string]cty.Value
	switch {
	case !known(v):
	case v.Type().IsObjectType():
		return func(k string) (cty.Value, bool) { return ctyvalue.Attribute(v, k) }
	default:
		vals = v.AsValueMap()
	}
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

// known reports whether there is something to look into.
func known(v cty.Value) bool { return v.IsKnown() && !v.IsNull() }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// pathBuilder is the way from the root to where a rule looks at the moment.
type pathBuilder cty.Path

func (t *pathBuilder) step(s cty.PathStep) { *t = append(*t, s) }

func (t *pathBuilder) attr(n *node) { t.step(n.step) }

func (t *pathBuilder) elem(v cty.Value) { t.step(cty.IndexStep{Key: v}) }

func (t *pathBuilder) index(i int) { t.elem(cty.NumberIntVal(int64(i))) }

func (t *pathBuilder) key(k string) { t.elem(cty.StringVal(k)) }

func (t *pathBuilder) up() { *t = (*t)[:len(*t)-1] }

// path is the way as a path of its own.
func (t pathBuilder) path() cty.Path { return slices.Clone(cty.Path(t)) }
