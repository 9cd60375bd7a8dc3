package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// An expression may contain infinity, but infinity cannot be stored or sent to a provider. If a result that is stored
// or sent contains infinity, an error is reported before any change is made.

// infinite returns the path of an infinite number in v, and whether there is one.
func infinite(v cty.Value) (cty.Path, bool) {
	if v.Type() == cty.String || v.Type() == cty.Bool {
		return nil, false
	}
	var at cty.Path
	found := false
	_ = cty.Walk(v, func(p cty.Path, v cty.Value) (bool, error) {
		unmarked, _ := mark.Unmark(v)
		if !found && unmarked.Type() == cty.Number && unmarked.IsKnown() && !unmarked.IsNull() && unmarked.AsBigFloat().IsInf() {
			at, found = p.Copy(), true
		}
		return !found, nil
	})
	return at, found
}

// Finite reports whether v contains no infinite number. If v contains one, Finite adds an error and returns false. The
// parameter what names the value in the error. e is the expression that was evaluated in ctx.
func (s *Env) Finite(v cty.Value, what string, e hclsyntax.Expression, ctx *hcl.EvalContext) bool {
	path, found := infinite(v)
	if !found {
		return true
	}
	if len(path) > 0 {
		what += mark.PathBelow(path)
	}
	s.Error(s.WithValues(diag.Errorf("Number is infinite", "The value of %s is infinity, which can be neither stored nor sent to a provider. Check for a division by zero, the logarithm of zero, or a very large power.", what).At(e.Range()), e, ctx))
	return false
}
