package lang

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

// TestLikeTheLibrary checks that expression nodes return the same as the nodes of the HCL library for values without
// marks: the same value, or an error.
func TestLikeTheLibrary(t *testing.T) {
	vars := map[string]cty.Value{
		"s": cty.StringVal("a"), "n": cty.NumberIntVal(1), "b": cty.True,
		"l": cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("zz")}),
		"m": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("1"), "zz": cty.StringVal("2")}),
	}
	unknown := map[string]cty.Value{
		"s": cty.UnknownVal(cty.String), "n": cty.UnknownVal(cty.Number), "b": cty.UnknownVal(cty.Bool).RefineNotNull(),
		"l": cty.UnknownVal(cty.List(cty.String)), "m": cty.MapVal(map[string]cty.Value{"a": cty.UnknownVal(cty.String), "zz": cty.StringVal("2")}),
	}
	config := strings.ReplaceAll(flowConfig, "ephemeral = true", "")
	p := check(t, config)
	for name, vals := range map[string]map[string]cty.Value{"known": vars, "unknown": unknown} {
		t.Run(name, func(t *testing.T) {
			given := map[string]frame.Given{}
			for n, v := range vals {
				given[n] = frame.Given{Value: v}
			}
			var bag diag.Bag
			f, ok := frame.New(p, frame.Options{Variables: given}, &bag)
			if !ok {
				t.Fatal(show(&bag))
			}
			local := map[string]cty.Value{}
			for _, n := range []string{"obj", "strs", "nums", "map", "deep"} {
				v, _ := f.Named(program.Local, n, frame.After, &bag)
				local[n] = v.Raw
			}
			ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"var": cty.ObjectVal(vals), "local": cty.ObjectVal(local)}, Functions: funcs.Table(&funcs.Env{})}
			rapid.Check(t, func(t *rapid.T) { likeLibrary(t, f, ctx, exprGen(3).Draw(t, "expr")) })
		})
	}
}

func likeLibrary(t *rapid.T, f *frame.Frame, ctx *hcl.EvalContext, src string) {
	if strings.Contains(src, "sensitive") || strings.Contains(src, "ephemeral") {
		return
	}
	e, diags := hclsyntax.ParseExpression([]byte(src), "x.tf", diag.Pos{Line: 1, Column: 1})
	if diags.HasErrors() {
		return
	}
	want, diags := e.Value(ctx)
	got, ok := value(f, src)
	switch {
	case !ok && !diags.HasErrors() && strings.Contains(src, "?") && !want.IsWhollyKnown():
		// If the condition is unknown, Lethe still knows the common parts of both branches, such as the length of a
		// list. So it finds a mistake that the library finds when the condition is known.
	case ok == diags.HasErrors():
		t.Fatalf("%s\nok %v, and the library says %v", src, ok, diags)
	case ok && !got.Raw.RawEquals(want) && !vaguer(got.Raw, want):
		t.Fatalf("%s\ngot  %#v\nwant %#v", src, got.Raw, want)
	}
}

// vaguer reports whether two values are equal except in their unknown parts. An unknown part must be unknown in both,
// and have the same type or, in at least one value, an unknown type.
func vaguer(a, b cty.Value) bool {
	switch {
	case !a.IsKnown() || !b.IsKnown():
		return a.IsKnown() == b.IsKnown() && (a.Type().Equals(b.Type()) || a.Type() == cty.DynamicPseudoType || b.Type() == cty.DynamicPseudoType)
	case a.IsNull() || b.IsNull() || a.Type().IsPrimitiveType() || b.Type().IsPrimitiveType():
		return a.RawEquals(b)
	case a.LengthInt() != b.LengthInt():
		return false
	}
	ai, bi := a.ElementIterator(), b.ElementIterator()
	for ai.Next() && bi.Next() {
		_, av := ai.Element()
		_, bv := bi.Element()
		if !vaguer(av, bv) {
			return false
		}
	}
	return true
}
