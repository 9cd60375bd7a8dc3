package schema

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// This file generates random schemas, and configurations and objects that match them.

func genBlock(t *rapid.T, depth int) *Block {
	b := &Block{}
	for i := range rapid.IntRange(0, 4).Draw(t, "attrs") {
		b.Attrs = append(b.Attrs, genAttr(t, fmt.Sprintf("a%d", i), depth))
	}
	if depth > 0 {
		for i := range rapid.IntRange(0, 3).Draw(t, "blocks") {
			nesting := rapid.SampledFrom([]Nesting{Single, Group, List, Set, Map}).Draw(t, "nesting")
			b.Blocks = append(b.Blocks, &Nested{Name: fmt.Sprintf("b%d", i), Nesting: nesting, Block: genBlock(t, depth-1)})
		}
	}
	return b
}

func genAttr(t *rapid.T, name string, depth int) *Attr {
	a := &Attr{Name: name, Sensitive: rapid.IntRange(0, 5).Draw(t, "sensitive") == 0}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		a.Required = true
	case 1:
		a.Optional = true
		a.WriteOnly = rapid.Bool().Draw(t, "wo")
	case 2:
		a.Computed = true
	default:
		a.Optional, a.Computed = true, true
	}
	if depth > 0 && rapid.IntRange(0, 2).Draw(t, "nested") == 0 {
		a.WriteOnly = false
		o := &Object{Nesting: rapid.SampledFrom([]Nesting{Single, List, Set, Map}).Draw(t, "nesting")}
		for i := range rapid.IntRange(1, 3).Draw(t, "inner") {
			o.Attrs = append(o.Attrs, genAttr(t, fmt.Sprintf("n%d", i), depth-1))
		}
		a.Object, a.Type = o, typeOf(o)
		return a
	}
	a.Type = gen{}.typ(t, 1)
	return a
}

// source selects the values of a generated object.
type source struct {
	config  bool // only attributes that a configuration may set get values
	unknown bool // some generated values are unknown
}

func (s source) object(t *rapid.T, attrs []*Attr, blocks []*Nested) cty.Value {
	vals := map[string]cty.Value{}
	for _, a := range attrs {
		vals[a.Name] = s.attr(t, a)
	}
	for _, n := range blocks {
		one := func() cty.Value { return s.object(t, n.Block.Attrs, n.Block.Blocks) }
		if n.Nesting == Single && rapid.Bool().Draw(t, "none") {
			vals[n.Name] = cty.NullVal(n.Type())
			continue
		}
		vals[n.Name] = nest(t, n.Nesting, n.Type(), one)
	}
	return cty.ObjectVal(vals)
}

func (s source) attr(t *rapid.T, a *Attr) cty.Value {
	settable := a.Required || a.Optional
	switch {
	case s.config && !settable, !s.config && a.WriteOnly,
		!a.Required && rapid.IntRange(0, 3).Draw(t, "null") == 0:
		return cty.NullVal(a.Type)
	case s.unknown && a.Object == nil && rapid.IntRange(0, 5).Draw(t, "unknown") == 0:
		return cty.UnknownVal(a.Type)
	case a.Object != nil:
		return nest(t, a.Object.Nesting, a.Type, func() cty.Value { return s.object(t, a.Object.Attrs, nil) })
	}
	return gen{}.value(t, a.Type)
}

// nest returns a value of type ty with the nesting: one object, or a collection of up to three objects.
func nest(t *rapid.T, nesting Nesting, ty cty.Type, one func() cty.Value) cty.Value {
	if nesting == Single || nesting == Group {
		return one()
	}
	n := rapid.IntRange(0, 3).Draw(t, "n")
	if nesting == Map {
		vals := map[string]cty.Value{}
		for i := range n {
			vals[string(rune('k'+i))] = one()
		}
		return mapLike(cty.MapValEmpty(ty.ElementType()), vals)
	}
	var vals []cty.Value
	for range n {
		vals = append(vals, one())
	}
	if nesting == Set {
		return listLike(cty.SetValEmpty(ty.ElementType()), vals)
	}
	return listLike(cty.ListValEmpty(ty.ElementType()), vals)
}

func (s source) of(t *rapid.T, b *Block) cty.Value { return s.object(t, b.Attrs, b.Blocks) }

// filled returns v with a known value in place of each unknown value.
func filled(t *rapid.T, v cty.Value) cty.Value {
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if v.IsKnown() {
			return v, nil
		}
		return gen{}.value(t, v.Type()), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
