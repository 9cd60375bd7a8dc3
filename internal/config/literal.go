package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
)

// What the language wants to be constant is evaluated here, without variables and functions. Even so, a few lines can
// ask for a result of any size, by loops in loops, so there is a budget.

// constant evaluates an expression that may not refer to anything.
func (rd *reader) constant(e hcl.Expression) (cty.Value, bool) {
	v, d := constant(e, rd.opts.Limits)
	if d != nil {
		rd.hcl(hcl.Diagnostics{d})
		return cty.DynamicVal, false
	}
	return v, true
}

// constant evaluates e, or says in one message why it cannot.
func constant(e hcl.Expression, l limits.Limits) (cty.Value, *hcl.Diagnostic) {
	v, ds, err := syntax.Value(e, nil, l)
	if err != nil {
		r := e.Range()
		return cty.DynamicVal, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Constant expression too large",
			Detail:   "The result of this expression gets larger than a constant may be. Write it out smaller, or move it to a locals block.",
			Subject:  &r,
		}
	}
	for _, d := range ds {
		if d.Severity == hcl.DiagError {
			return cty.DynamicVal, explainConstant(d, e)
		}
	}
	return v, nil
}

// explainConstant says what to do where the library only says what is not allowed.
func explainConstant(d *hcl.Diagnostic, e hcl.Expression) *hcl.Diagnostic {
	out := *d
	switch d.Summary {
	case "Variables not allowed":
		out.Detail = "Variables may not be used here: the value must be known before anything is evaluated. Write it out as a constant."
	case "Function calls not allowed":
		out.Detail = "Functions may not be called here: the value must be known before anything is evaluated. Write the result out as a constant."
	}
	if out.Subject == nil {
		r := e.Range()
		out.Subject = &r
	}
	return &out
}

// typed evaluates a constant argument of a primitive type. want says in words what it must be.
func (rd *reader) typed(a *hcl.Attribute, t cty.Type, want string) (cty.Value, bool) {
	v, ok := rd.constant(a.Expr)
	if !ok {
		return v, false
	}
	c, err := convert.To(v, t)
	if err != nil || c.IsNull() || !c.IsKnown() {
		rd.error(a.Expr.Range(), "Unsuitable value type", "Unsuitable value: %s is required for %q.", want, a.Name)
		return c, false
	}
	return c, true
}

// boolean reads a constant true or false; an absent argument leaves v as it is.
func (rd *reader) boolean(a *hcl.Attribute, v *bool) {
	if a == nil {
		return
	}
	if c, ok := rd.typed(a, cty.Bool, "a bool"); ok {
		*v = c.True()
	}
}

// string evaluates an expression that has to be a constant string; if it is something else, title and format say so.
func (rd *reader) string(e hcl.Expression, title, format string, a ...any) (string, bool) {
	v, ok := rd.constant(e)
	if !ok {
		return "", false
	}
	if !v.IsKnown() { // the parser has reported what stands here
		return "", false
	}
	if v.Type() != cty.String || v.IsNull() {
		rd.error(e.Range(), title, format, a...)
		return "", false
	}
	return v.AsString(), true
}

// text reads a constant string; an absent argument leaves v as it is.
func (rd *reader) text(a *hcl.Attribute, v *string) bool {
	if a == nil {
		return false
	}
	c, ok := rd.typed(a, cty.String, "a string")
	if ok {
		*v = c.AsString()
	}
	return ok
}

// Quoted is a string as the language writes it.
func Quoted(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }
