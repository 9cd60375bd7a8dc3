package schema

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// in returns the value of the node's attribute or blocks in the object obj: null if obj is null, and unknown if obj is
// unknown.
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

// few is memory on the stack for the attribute values of an object, which avoids an allocation for most objects.
type few [16]cty.Value

func (f *few) room(n int) []cty.Value {
	if n <= len(f) {
		return f[:n]
	}
	return make([]cty.Value, n)
}

// object returns an object with the attribute values vals, in the order of c.names. If the type contains a dynamic type
// (loose), the type of the object is derived from the values.
func (c *codec) object(vals []cty.Value) cty.Value {
	if c.loose {
		return ctyvalue.ObjectOf(cty.NilType, c.names, vals)
	}
	return ctyvalue.ObjectOf(c.ty, c.names, vals)
}

// collection returns a list, set or tuple with the elements vals. If the element type contains a dynamic type, the
// elements may have different types, which only a tuple permits: for a list or set, collection then returns a failure.
func (c *codec) collection(vals []cty.Value) (cty.Value, *failure) {
	switch {
	case c.kind == kindTuple:
		return cty.TupleVal(vals), nil
	case c.loose && !cty.CanListVal(vals):
		return cty.NilVal, fail("all elements must be of the same type")
	}
	return listLike(c.null, vals), nil
}

// mapping returns a map with the elements vals. If the elements have different types, it returns a failure.
func (c *codec) mapping(vals map[string]cty.Value) (cty.Value, *failure) {
	if c.loose && !cty.CanMapVal(vals) {
		return cty.NilVal, fail("all elements must be of the same type")
	}
	return mapLike(c.null, vals), nil
}

// rebuild returns an object in which each attribute or block value is the result of f for the value in v.
func (s *shape) rebuild(v cty.Value, f func(n *node, v cty.Value) cty.Value) cty.Value {
	var few few
	vals := few.room(len(s.nodes))
	for i, n := range s.nodes {
		vals[i] = f(n, n.in(v))
	}
	return s.object(vals)
}

// replace returns the collection v, the value of a nested attribute or of all blocks of a type, with the result of f in
// place of each object. v must be known and not null. f gets the key of an object in a map, or the index of an object
// in a list or set.
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

// ObjectLike returns an object with the attributes names and their values vals. If names and the types of the values
// are exactly the attributes of ty, the object has the type ty. Otherwise its type is derived from the values.
func ObjectLike(ty cty.Type, names []string, vals []cty.Value) cty.Value {
	types := ty.AttributeTypes()
	predicted := len(ty.OptionalAttributes()) == 0 && len(names) == len(types)
	for i := 0; predicted && i < len(names); i++ {
		aty, ok := types[names[i]]
		predicted = ok && aty.Equals(vals[i].Type())
	}
	if !predicted {
		ty = cty.NilType
	}
	return ctyvalue.ObjectOf(ty, names, vals)
}

// listLike returns a list, set or tuple with the elements vals. The argument of, a list, set or tuple, determines which
// of the three it is, and the element type. The types of vals must equal the types of the elements of that argument.
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

// mapLike returns a map or an object with the elements vals. The argument of, a map or an object, determines which of
// the two it is, and the element type. The types of vals must equal the types of the elements of that argument.
func mapLike(of cty.Value, vals map[string]cty.Value) cty.Value {
	switch ty := of.Type(); {
	case ty.IsObjectType():
		return cty.ObjectVal(vals)
	case len(vals) == 0:
		return cty.MapValEmpty(ty.ElementType())
	}
	return cty.MapVal(vals)
}

// lookup returns a function that returns the element of the map or object v with a key. That function returns false if
// v is null or unknown, or has no such key.
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

// orNull returns the element that find returns for the key, or a null without a type.
func orNull(find func(string) (cty.Value, bool), key string) cty.Value {
	if v, ok := find(key); ok {
		return v
	}
	return cty.NullVal(cty.DynamicPseudoType)
}

// elements returns the elements of a list, set or tuple, and nil if v is null or unknown.
func elements(v cty.Value) []cty.Value {
	if !known(v) {
		return nil
	}
	return ctyvalue.Elements(v)
}

// known reports whether v is known and not null.
func known(v cty.Value) bool { return v.IsKnown() && !v.IsNull() }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// pathBuilder is the path from the root to the value that a rule currently inspects.
type pathBuilder cty.Path

func (t *pathBuilder) step(s cty.PathStep) { *t = append(*t, s) }

func (t *pathBuilder) attr(n *node) { t.step(n.step) }

func (t *pathBuilder) elem(v cty.Value) { t.step(cty.IndexStep{Key: v}) }

func (t *pathBuilder) index(i int) { t.elem(cty.NumberIntVal(int64(i))) }

func (t *pathBuilder) key(k string) { t.elem(cty.StringVal(k)) }

func (t *pathBuilder) up() { *t = (*t)[:len(*t)-1] }

// path returns a copy of the path.
func (t pathBuilder) path() cty.Path { return slices.Clone(cty.Path(t)) }
