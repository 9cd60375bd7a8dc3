package funcs

import (
	"errors"
	"fmt"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

var stringLists = cty.Map(cty.List(cty.String))

// mappings are the functions of maps and objects.
var mappings = []*builtin{
	fixed("keys", "Returns the keys of a map, or the attribute names of an object, sorted.", cty.DynamicPseudoType, keys,
		param{name: "inputMap", typ: cty.DynamicPseudoType, doc: "The map or object.", mode: unknown | marked | quick}),
	{
		name: "lookup", doc: "Returns the element of a map with a key, or a default if the key is missing.",
		params: []param{
			{name: "inputMap", typ: cty.DynamicPseudoType, doc: "The map or object.", mode: marked | quick},
			{name: "key", typ: cty.String, doc: "The key."},
		},
		rest: &param{name: "default", typ: cty.DynamicPseudoType, mode: null | unknown | dynamic | marked | quick,
			doc: "The result if the key is missing. Without a default, a missing key is an error."},
		returns: cty.DynamicPseudoType, nullable: true, kind: lookupType, run: lookup,
	},
	{
		name: "merge", doc: "Merges maps or objects. If several have the same key, the last element is used.",
		rest:    &param{name: "maps", typ: cty.DynamicPseudoType, doc: "The maps or objects, in order.", mode: null | dynamic | unknown | marked | quick},
		returns: cty.DynamicPseudoType, run: merge,
	},
	fixed("transpose", "Swaps the keys and values of a map of lists of strings.", stringLists, transpose,
		param{name: "values", typ: stringLists, doc: "The map."}),
	varying("values", "Returns the elements of a map, or the attributes of an object, in the order of their keys.", libraryType(stdlib.ValuesFunc), ofTypes(stdlib.ValuesFunc),
		param{name: "mapping", typ: cty.DynamicPseudoType, doc: "The map or object.", mode: marked}),
	varying("zipmap", "Creates a map from a list of keys and a list of values.", libraryType(stdlib.ZipmapFunc), zipMap,
		param{name: "keys", typ: cty.List(cty.String), doc: "The keys. If any key is sensitive or ephemeral, the whole map is."},
		param{name: "values", typ: cty.DynamicPseudoType, doc: "The values, one for each key. With a tuple, the result is an object.", mode: marked}),
}

// keys returns the keys of a map, or the attribute names of an object. Unlike the function of cty, it does not visit
// the elements, and takes the names of an object from its type.
func keys(c *call) (cty.Value, error) {
	m := c.marks.unmark(c.args[0])
	if !m.IsKnown() || !m.Type().IsMapType() {
		return stdlib.Keys(cty.UnknownVal(m.Type()))
	}
	names := make([]cty.Value, 0, m.LengthInt())
	for name := range ctyvalue.Members(m) {
		names = append(names, cty.StringVal(name))
	}
	return listOf(cty.String, names), nil
}

func lookupType(c *call) (cty.Type, error) {
	if len(c.args) > 3 {
		return cty.NilType, fmt.Errorf("lookup() takes two or three arguments, got %d", len(c.args))
	}
	switch ty := c.given[0].Type(); {
	case ty.IsObjectType():
		return c.attributeType(ty)
	case ty.IsMapType():
		if len(c.args) == 3 {
			if _, err := convert.To(c.args[2], ty.ElementType()); err != nil {
				return cty.NilType, bad(2, "the default value must have the same type as the map elements")
			}
		}
		return ty.ElementType(), nil
	}
	return cty.NilType, bad(0, "lookup() requires a map as the first argument")
}

func (c *call) attributeType(ty cty.Type) (cty.Type, error) {
	if !c.args[1].IsKnown() {
		return cty.DynamicPseudoType, nil
	}
	key := c.args[1].AsString()
	switch {
	case ty.HasAttribute(key):
		return ty.AttributeType(key), nil
	case len(c.args) == 3:
		return c.args[2].Type(), nil
	}
	return cty.NilType, bad(0, "the given object has no attribute %s", c.quote(1, key))
}

// lookup returns an element of a map or an attribute of an object, or the default. If there is no default, a missing
// key is an error. The result has the marks of the default only if it is the default.
func lookup(c *call) (cty.Value, error) {
	ty, err := lookupType(c)
	if err != nil {
		return cty.NilVal, err
	}
	m, key := c.marks.unmark(c.args[0]), c.args[1]
	switch {
	case m.Type().IsObjectType() && m.Type().HasAttribute(key.AsString()):
		return m.GetAttr(key.AsString()), nil
	case m.Type().IsMapType() && m.HasIndex(key).True():
		return m.Index(key), nil
	case len(c.args) < 3:
		return cty.NilVal, fmt.Errorf("lookup failed to find key %s", c.quote(1, key.AsString()))
	}
	v, err := convert.To(c.args[2], ty)
	return v, c.badBecause(2, err)
}

// merge returns a map if all arguments are maps of one type, and an object otherwise. An argument of another type is an
// error.
func merge(c *call) (cty.Value, error) {
	m := merger{attrs: make(map[string]cty.Value, c.keysAtMost()), alike: true, fuel: c.limits.Elements}
	for i, v := range c.args {
		if !v.Type().IsMapType() && !v.Type().IsObjectType() && v.Type() != cty.DynamicPseudoType {
			return cty.NilVal, fmt.Errorf("arguments must be maps or objects, got %q", v.Type().FriendlyName())
		}
		m.add(i, c.marks.unmark(v))
	}
	if len(m.attrs) > c.limits.Elements {
		return cty.NilVal, c.tooMany()
	}
	return m.result(), nil
}

// keysAtMost returns an estimate of the number of keys of all arguments together, to allocate memory. It does not count
// unknown, null and marked arguments, and returns at most the limit of elements.
func (c *call) keysAtMost() (n int) {
	for _, v := range c.args {
		if v.IsKnown() && !v.IsNull() && !v.IsMarked() && v.CanIterateElements() {
			n += v.LengthInt()
		}
	}
	return min(n, c.limits.Elements)
}

type merger struct {
	attrs   map[string]cty.Value
	first   cty.Type // the type of the first argument
	alike   bool     // all arguments so far have the type of the first argument
	untyped bool     // the type of at least one argument is unknown
	unkeyed bool     // the keys of at least one argument are unknown
	pending bool     // at least one argument is unknown
	fuel    int      // how many comparisons of types are still permitted
}

func (m *merger) add(i int, v cty.Value) {
	ty := v.Type()
	switch {
	case v.IsNull() && !ty.IsMapType():
		ty = cty.EmptyObject // null counts as an object without attributes
	case ty == cty.DynamicPseudoType:
		m.untyped = true
	case !v.IsKnown() && ty.IsMapType():
		m.unkeyed, m.pending = true, true
	case !v.IsKnown():
		m.pending = true
		for name, aty := range ty.AttributeTypes() {
			m.attrs[name] = cty.UnknownVal(aty)
		}
	case !v.IsNull():
		m.put(v)
	}
	if i == 0 {
		m.first = ty
	}
	m.alike = m.alike && ctyvalue.SameType(ty, m.first, &m.fuel)
}

// put adds the elements of a known map or object.
func (m *merger) put(v cty.Value) {
	for name, e := range ctyvalue.Members(v) {
		m.attrs[name] = e
	}
}

func (m *merger) result() cty.Value {
	switch {
	case m.untyped:
		return cty.DynamicVal
	case m.first == cty.NilType:
		return cty.EmptyObjectVal
	case m.alike && m.pending:
		return cty.UnknownVal(m.first)
	case m.alike && m.first.IsMapType():
		return mapOf(m.first.ElementType(), m.attrs)
	case m.unkeyed:
		return cty.DynamicVal
	case m.pending:
		attrs := make(map[string]cty.Type, len(m.attrs))
		for name, v := range m.attrs {
			attrs[name] = v.Type()
		}
		return cty.UnknownVal(cty.Object(attrs))
	}
	return cty.ObjectVal(m.attrs)
}

func transpose(c *call) (cty.Value, error) {
	if c.unknown {
		return cty.UnknownVal(stringLists), nil
	}
	turned := map[string][]cty.Value{}
	for it := c.args[0].ElementIterator(); it.Next(); {
		key, list := it.Element()
		if list.IsNull() {
			return cty.NilVal, errors.New("input must not contain null list")
		}
		for _, v := range ctyvalue.Elements(list) {
			if v.IsNull() {
				return cty.NilVal, errors.New("input list must not contain null string")
			}
			turned[v.AsString()] = append(turned[v.AsString()], key)
		}
	}
	out := make(map[string]cty.Value, len(turned))
	for k, list := range turned {
		out[k] = cty.ListVal(list)
	}
	return mapOf(cty.List(cty.String), out), nil
}

// zipMap calls the zipmap of cty. If the lengths of the lists are known and differ, it returns an error with both
// lengths, unless they are secret.
func zipMap(c *call) (cty.Value, error) {
	keys, vals := c.args[0], c.args[1]
	if vals, _ = mark.Unmark(vals); keys.IsWhollyKnown() && (vals.Type().IsListType() || vals.Type().IsTupleType()) {
		if have, want := keys.LengthInt(), vals.LengthInt(); have != want {
			return cty.NilVal, fmt.Errorf("number of keys (%s) does not match number of values (%s)", c.show(0, have), c.show(1, want))
		}
	}
	return ofTypes(stdlib.ZipmapFunc)(c)
}
