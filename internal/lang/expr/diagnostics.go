package expr

import "github.com/hashicorp/hcl/v2"

// errorIn returns an error about the expression e, which was evaluated in ctx. The parameter at is the position of the
// mistake, and context is the larger range to show around it.
func errorIn(e hcl.Expression, ctx *hcl.EvalContext, at, context hcl.Range, title, detail string) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: title, Detail: detail, Subject: &at, Context: &context, Expression: e, EvalContext: ctx}
}

func withContext(ds hcl.Diagnostics, e hcl.Expression, ctx *hcl.EvalContext) {
	for _, d := range ds {
		if d.Expression == nil {
			d.Expression, d.EvalContext = e, ctx
		}
	}
}

// ErrorAt returns an error with a position.
func ErrorAt(title, detail string, at hcl.Range) hcl.Diagnostics {
	return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: title, Detail: detail, Subject: &at}}
}
