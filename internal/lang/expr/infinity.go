package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Infinity can be counted with, but has no form that can be kept: where values leave the language it
// is a mistake, found before anything is done.

// infinite finds a number in v that is one.
func infinite(v cty.Value) (cty.Path, bool) {
	if v.Type() == cty.String || v.Type() == cty.Bool {
		return nil, false
	}
	var at cty.Path
	found := false
	_ = cty.Walk(v, func(p cty.Path, v cty.Value) (bool, error) {
		bare, _ := mark.Bare(v)
		if !found && bare.Type() == cty.Number && bare.IsKnown() && !bare.IsNull() && bare.AsBigFloat().IsInf() {
			at, found = p.Copy(), true
		}
		return !found, nil
	})
	return at, found
}

// Finite refuses infinity in what is about to leave the language.
func (s *Env) Finite(v cty.Value, what string, e hclsyntax.Expression, ctx *hcl.EvalContext) bool {
	path, found := infinite(v)
	if !found {
		return true
	}
	if len(path) > 0 {
		what += mark.PathBelow(path)
	}
	s.Error(s.WithValues(diag.Errorf("Number is infinite", "The value of %s is infinity. A division by zero, the logarithm of zero or a power that is too large gives infinity, which can be neither stored nor sent to a provider. Change the expression so that it gives a finite number.", what).At(e.Range()), e, ctx))
	return false
}
