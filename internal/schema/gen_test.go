package schema

import (
	"fmt"
	"math/big"

	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// gen generates random types and values for all properties of this package.

type gen struct {
	dynamic bool // generated types may be dynamic
	unknown bool // generated values may be unknown
	refined bool // unknown values may have refinements
	null    bool // generated values may be null
}

func (g gen) typ(t *rapid.T, depth int) cty.Type {
	max := 7
	if depth <= 0 {
		max = 2
	}
	n := rapid.IntRange(0, max).Draw(t, "type")
	if g.dynamic && rapid.IntRange(0, 11).Draw(t, "any") == 0 {
		return cty.DynamicPseudoType
	}
	// Elements of collections share one type, so their type contains no dynamic type.
	elem := func() cty.Type { g := g; g.dynamic = false; return g.typ(t, depth-1) }
	switch n {
	case 0:
		return cty.String
	case 1:
		return cty.Number
	case 2:
		return cty.Bool
	case 3:
		return cty.List(elem())
	case 4:
		return cty.Set(elem())
	case 5:
		return cty.Map(elem())
	case 6:
		tys := make([]cty.Type, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range tys {
			tys[i] = g.typ(t, depth-1)
		}
		return cty.Tuple(tys)
	}
	atys := map[string]cty.Type{}
	for range rapid.IntRange(0, 20).Draw(t, "attrs") {
		atys[rapid.StringMatching(`[a-e][a-e_]{0,3}`).Draw(t, "name")] = g.typ(t, depth-1)
	}
	return cty.Object(atys)
}

func (g gen) value(t *rapid.T, ty cty.Type) cty.Value {
	pick := rapid.IntRange(0, 9).Draw(t, "pick")
	switch {
	case g.null && pick == 0:
		return cty.NullVal(ty)
	case g.unknown && pick == 1:
		return g.unknownOf(t, g.concrete(t, ty))
	}
	switch {
	case ty == cty.DynamicPseudoType:
		g.dynamic = false
		return g.value(t, g.typ(t, 1))
	case ty == cty.String:
		return cty.StringVal(text_(t))
	case ty == cty.Number:
		return number(t)
	case ty == cty.Bool:
		return cty.BoolVal(rapid.Bool().Draw(t, "bool"))
	case ty.IsListType(), ty.IsSetType():
		vals := make([]cty.Value, rapid.IntRange(0, 4).Draw(t, "len"))
		for i := range vals {
			vals[i] = g.value(t, ty.ElementType())
		}
		switch {
		case len(vals) == 0 && ty.IsListType():
			return cty.ListValEmpty(ty.ElementType())
		case len(vals) == 0:
			return cty.SetValEmpty(ty.ElementType())
		case ty.IsListType():
			return cty.ListVal(vals)
		}
		return cty.SetVal(vals)
	case ty.IsMapType():
		vals := map[string]cty.Value{}
		for range rapid.IntRange(0, 4).Draw(t, "len") {
			vals[text_(t)] = g.value(t, ty.ElementType())
		}
		if len(vals) == 0 {
			return cty.MapValEmpty(ty.ElementType())
		}
		return cty.MapVal(vals)
	case ty.IsTupleType():
		var vals []cty.Value
		for _, ety := range ty.TupleElementTypes() {
			vals = append(vals, g.value(t, ety))
		}
		return cty.TupleVal(vals)
	}
	vals := map[string]cty.Value{}
	for _, name := range sortedNames(ty) {
		vals[name] = g.value(t, ty.AttributeType(name))
	}
	return cty.ObjectVal(vals)
}

// concrete returns a type that conforms to ty, with fewer dynamic parts.
func (g gen) concrete(t *rapid.T, ty cty.Type) cty.Type {
	switch {
	case ty == cty.DynamicPseudoType && rapid.Bool().Draw(t, "concrete"):
		g.dynamic = false
		return g.typ(t, 0)
	case ty.IsObjectType():
		atys := map[string]cty.Type{}
		for _, name := range sortedNames(ty) {
			atys[name] = g.concrete(t, ty.AttributeType(name))
		}
		return cty.Object(atys)
	}
	return ty
}

func sortedNames(ty cty.Type) (names []string) {
	for _, a := range compile(ty).attrs {
		names = append(names, a.name)
	}
	return names
}

func text_(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringMatching(`[a-z]{0,6}`), rapid.String(),
		rapid.SampledFrom([]string{"", "a\"b\\c\n", "<&>", "é", "e\u0301", "\u2028", "0", "true", "1e3"}),
		rapid.Map(rapid.IntRange(0, 70000), func(n int) string { return fmt.Sprintf("%0*d", min(n, 70000)/64, n) }),
	).Draw(t, "text")
}

// number returns any number except negative zero. cty treats negative zero and zero as different elements of a set,
// though they are equal.
func number(t *rapid.T) cty.Value {
	if v := anyNumber(t); v.AsBigFloat().Sign() != 0 {
		return v
	}
	return cty.Zero
}

func anyNumber(t *rapid.T) cty.Value {
	switch rapid.IntRange(0, 5).Draw(t, "number") {
	case 0:
		return cty.NumberIntVal(rapid.Int64().Draw(t, "int"))
	case 1:
		return cty.NumberUIntVal(rapid.Uint64().Draw(t, "uint"))
	case 2:
		return cty.NumberFloatVal(rapid.Float64Range(-1e30, 1e30).Draw(t, "float"))
	case 3:
		return cty.MustParseNumberVal(rapid.StringMatching(`-?[0-9]{1,40}(\.[0-9]{1,30})?(e-?[0-9]{1,2})?`).Draw(t, "decimal"))
	case 4:
		f, _, _ := big.ParseFloat("0.1", 10, 512, big.ToNearestEven)
		return cty.NumberVal(f)
	}
	return cty.NumberIntVal(int64(rapid.IntRange(-300, 300).Draw(t, "small")))
}

func (g gen) unknownOf(t *rapid.T, ty cty.Type) cty.Value {
	v := cty.UnknownVal(ty)
	if !g.refined || ty == cty.DynamicPseudoType || rapid.Bool().Draw(t, "plain") {
		return v
	}
	b := v.Refine()
	if rapid.Bool().Draw(t, "notnull") {
		b = b.NotNull()
	}
	switch {
	case ty == cty.String && rapid.Bool().Draw(t, "prefix"):
		b = b.StringPrefix(text_(t))
	case ty == cty.Number && rapid.Bool().Draw(t, "bounds"):
		low := rapid.Int64Range(-1000, 1000).Draw(t, "low")
		b = b.NumberRangeLowerBound(cty.NumberIntVal(low), rapid.Bool().Draw(t, "inc"))
		b = b.NumberRangeUpperBound(cty.NumberIntVal(low+rapid.Int64Range(1, 1000).Draw(t, "more")), rapid.Bool().Draw(t, "inc"))
	case ty.IsCollectionType() && rapid.Bool().Draw(t, "length"):
		low := rapid.IntRange(0, 20).Draw(t, "low")
		b = b.CollectionLengthLowerBound(low).CollectionLengthUpperBound(low + rapid.IntRange(0, 5).Draw(t, "more"))
	}
	return b.NewValue()
}
