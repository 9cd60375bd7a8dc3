package expr

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Late is what stands for an expression that is wrong where that matters only if it is evaluated. Its mistakes are
// reported then.
type Late struct {
	hclsyntax.Expression // as it was written
	Mistakes             []diag.Diagnostic
}

func (e *Late) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if s := envOf(ctx); s != nil {
		s.errors(e.Mistakes)
	}
	return cty.DynamicVal, nil
}
