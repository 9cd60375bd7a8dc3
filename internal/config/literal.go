package config

import (
	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
)

// The functions below evaluate expressions that the language requires to be constant, without variables and functions.
// Nested loops can still produce very large results from a few lines, so the evaluation has a limit.

// constant evaluates an expression that may not refer to anything. If the evaluation fails, constant reports an error
// and returns false.
func (rd *reader) constant(e hcl.Expression) (cty.Value, bool) {
	v, d := constant(e, rd.opts.Limits)
	if d != nil {
		rd.hcl(hcl.Diagnostics{d})
		return cty.DynamicVal, false
	}
	return v, true
}

// constant evaluates e within the limits. If the evaluation fails, constant returns an unknown value, and the error as
// a diagnostic. Otherwise the diagnostic is nil.
func constant(e hcl.Expression, l limits.Limits) (cty.Value, *hcl.Diagnostic) {
	v, ds, err := syntax.Value(e, nil, l)
	if err != nil {
		r := e.Range()
		return cty.DynamicVal, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Constant expression too large",
			Detail:   "The result of this expression is larger than the limit for constants. Make it smaller, or move it into a local value.",
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

// explainConstant adds advice to messages of the library about variables and functions in constants. If the message has
// no place, it sets the place to e.
func explainConstant(d *hcl.Diagnostic, e hcl.Expression) *hcl.Diagnostic {
	out := *d
	switch d.Summary {
	case "Variables not allowed":
		out.Detail = "Variables may not be used here. Write a constant value."
	case "Function calls not allowed":
		out.Detail = "Functions may not be called here. Write a constant value."
	}
	if out.Subject == nil {
		r := e.Range()
		out.Subject = &r
	}
	return &out
}

// typed evaluates an argument that must be a constant of the primitive type t. If it is not, typed reports an error and
// returns false. want describes the type in this error.
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

// boolean reads a constant true or false. If the argument is absent, *v does not change. If it is not a constant of
// this type, boolean reports an error, and *v does not change either.
func (rd *reader) boolean(a *hcl.Attribute, v *bool) {
	if a == nil {
		return
	}
	if c, ok := rd.typed(a, cty.Bool, "a bool"); ok {
		*v = c.True()
	}
}

// string evaluates an expression that must be a constant string. If the expression is not constant, string reports an
// error and returns false. If the value has another type or is null, the error has the given title and format.
func (rd *reader) string(e hcl.Expression, title, format string, a ...any) (string, bool) {
	v, ok := rd.constant(e)
	if !ok {
		return "", false
	}
	if !v.IsKnown() { // the parser has reported a mistake in the expression
		return "", false
	}
	if v.Type() != cty.String || v.IsNull() {
		rd.error(e.Range(), title, format, a...)
		return "", false
	}
	return v.AsString(), true
}

// text reads a constant string into *v and returns true. If the argument is absent, *v does not change and the result
// is false. If it is not a constant string, text reports an error, with the same result.
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

// constraint reads a version constraint. If it is invalid, constraint reports an error and returns false. The parameter
// what names the argument in the error.
func (rd *reader) constraint(e hcl.Expression, what string) (VersionConstraint, bool) {
	text, ok := rd.string(e, "Invalid version constraint", "A string value is required for %s, such as \">= 1.6, < 2.0\".", what)
	if !ok {
		return VersionConstraint{}, false
	}
	if _, err := version.NewConstraint(text); err != nil {
		rd.error(e.Range(), "Invalid version constraint", "This string does not use correct version constraint syntax. Write an operator and a version, such as \">= 1.6\". Separate several constraints with commas.")
		return VersionConstraint{}, false
	}
	return VersionConstraint{Text: text, Range: e.Range()}, true
}

// Quoted returns s as a quoted string in native syntax.
func Quoted(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }
