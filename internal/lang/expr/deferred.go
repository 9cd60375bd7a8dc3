package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Deferred replaces an expression with mistakes that matter only if it is evaluated. Its evaluation reports the
// mistakes and returns an unknown value.
type Deferred struct {
	hclsyntax.Expression // the expression in the source
	Mistakes             []diag.Diagnostic
}

func (e *Deferred) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if s := envOf(ctx); s != nil {
		s.errors(e.Mistakes)
	}
	return cty.DynamicVal, nil
}
