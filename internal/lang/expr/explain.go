package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Eval evaluates a compiled expression, and adds its diagnostics to the bag. If the evaluation fails, v.Broken or
// v.Failed is true, and the returned value must not be used.
func (v *Env) Eval(e hclsyntax.Expression) cty.Value { return v.EvalIn(e, v.Ctx) }

// EvalIn evaluates a compiled expression like Eval, in ctx, a child of the root context of v.
func (v *Env) EvalIn(e hclsyntax.Expression, ctx *hcl.EvalContext) cty.Value {
	if lit, ok := e.(*hclsyntax.LiteralValueExpr); ok {
		return lit.Val
	}
	out, diags := e.Value(ctx)
	if len(diags) > 0 {
		v.Report(diags)
	}
	return out
}

// Trail formats the origin of a value as a chain of names with their positions: "local.cfg (main.tf:12) ← var.password
// (main.tf:1)". It returns "" for nil.
func Trail(o *mark.Origin) string {
	var parts []string
	for ; o != nil; o = o.From {
		part := o.What
		if o.Range.Filename != "" {
			part += fmt.Sprintf(" (%s:%d)", o.Range.Filename, o.Range.Start.Line)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ← ")
}

// Report adds diagnostics of the HCL library to the bag. It adds to them the values of the names in the expression,
// suggestions for misspelt names, and the signature of the called function.
func (s *Env) Report(ds hcl.Diagnostics) {
	for _, d := range ds {
		out := diag.FromHCL(d)
		if e, ok := d.Expression.(hclsyntax.Expression); ok && d.EvalContext != nil {
			out = s.WithValues(out, e, d.EvalContext)
		}
		out.Detail += s.suggest(d)
		out.Call = calling(d)
		s.Error(out)
	}
}

// calling returns the function call that a diagnostic is about, with the function's signature, or nil if the diagnostic
// is not about a call.
func calling(d *hcl.Diagnostic) *diag.Call {
	call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
	if !ok || call.CalledFunctionName() == "" || d.EvalContext == nil {
		return nil
	}
	out := &diag.Call{Function: call.CalledFunctionName(), Returns: cty.DynamicPseudoType}
	if sig, ok := funcs.SignatureOf(strings.TrimPrefix(out.Function, "core::")); ok {
		for _, p := range sig.Params {
			out.Params = append(out.Params, diag.Param{Name: p.Name, Type: p.Type, Nullable: p.Nullable})
		}
		if p := sig.Variadic; p != nil {
			out.Variadic = &diag.Param{Name: p.Name, Type: p.Type, Nullable: p.Nullable}
		}
		out.Returns = sig.Returns
		return out
	}
	for ctx := d.EvalContext; ctx != nil; ctx = ctx.Parent() {
		f, ok := ctx.Functions[call.CalledFunctionName()]
		if !ok {
			continue
		}
		var types []cty.Type
		for _, p := range f.Params() {
			out.Params = append(out.Params, parameterOf(p))
			types = append(types, p.Type)
		}
		if p := f.VarParam(); p != nil {
			v := parameterOf(*p)
			out.Variadic = &v
		}
		if ty, err := f.ReturnType(types); err == nil {
			out.Returns = ty
		}
		return out
	}
	return nil
}

func parameterOf(p function.Parameter) diag.Param {
	return diag.Param{Name: p.Name, Type: p.Type, Nullable: p.AllowNull}
}

// About is the subject of a diagnostic. It determines which values the diagnostic shows.
type About uint8

// The subjects of a diagnostic.
const (
	AboutValue   About = iota // a wrong value
	AboutUnknown              // an unknown value
	AboutMarks                // a sensitive or ephemeral value
)

// WithValues adds the values of the names in the expression e to the diagnostic d about e. It never shows marked
// values.
func (s *Env) WithValues(d diag.Diagnostic, e hclsyntax.Expression, ctx *hcl.EvalContext) diag.Diagnostic {
	return s.WithValuesAbout(d, e, ctx, AboutValue)
}

// WithValuesAbout adds the values of the names in the expression e to the diagnostic d about e. The parameter what
// tells whether d is about a wrong value, an unknown value or marks. It never shows marked values, and mentions their
// marks only if d is about marks. A call during the evaluation of the names for another diagnostic returns d unchanged.
func (s *Env) WithValuesAbout(d diag.Diagnostic, e hclsyntax.Expression, ctx *hcl.EvalContext, what About) diag.Diagnostic {
	if s.explaining {
		return d
	}
	s.explaining = true
	failed, broken := s.Failed, s.Broken
	c := &collector{s: s, ctx: ctx, what: what}
	hclsyntax.Walk(e, c)
	s.Failed, s.Broken, s.explaining = failed, broken, false
	slices.SortFunc(c.out, func(a, b diag.Value) int { return strings.Compare(a.Traversal, b.Traversal) })
	d.Values = slices.Compact(c.out)
	return d
}

// WithSides adds the sides of a comparison to a diagnostic: the differences of the two sides of ==, and the values of
// sides that are neither a reference nor a constant. It returns d unchanged if e is not a comparison. text returns the
// source text of a range.
func (s *Env) WithSides(d diag.Diagnostic, e hclsyntax.Expression, ctx *hcl.EvalContext, text func(hcl.Range) string) diag.Diagnostic {
	for {
		p, inside := e.(*hclsyntax.ParenthesesExpr)
		if !inside {
			break
		}
		e = p.Expression
	}
	b, ok := e.(*Binary)
	if !ok || !compares(b.Op) {
		return d
	}
	c := &collector{s: s, ctx: ctx}
	failed, broken := s.Failed, s.Broken
	if b.Op == hclsyntax.OpEqual {
		of, with := b.LHS, b.RHS
		if _, constant := Constant(of); constant {
			of, with = with, of
		}
		d.Values = append(slices.Clip(d.Values), differences(s.EvalIn(of, ctx), s.EvalIn(with, ctx), text(of.Range()))...)
	}
	for _, side := range []hclsyntax.Expression{b.LHS, b.RHS} {
		_, constant := Constant(side)
		_, ref := side.(*Ref)
		_, name := side.(*LoopVar)
		if constant || ref || name {
			continue
		}
		if statement := c.statement(s.EvalIn(side, ctx)); statement != "" {
			d.Values = append(slices.Clip(d.Values), diag.Value{Traversal: text(side.Range()), Statement: statement})
		}
	}
	s.Failed, s.Broken = failed, broken
	return d
}

// compares reports whether an operator is a comparison.
func compares(op *hclsyntax.Operation) bool {
	switch op {
	case hclsyntax.OpEqual, hclsyntax.OpNotEqual, hclsyntax.OpGreaterThan, hclsyntax.OpGreaterThanOrEqual, hclsyntax.OpLessThan, hclsyntax.OpLessThanOrEqual:
		return true
	}
	return false
}

// collector collects the values of the references in an expression.
type collector struct {
	s    *Env
	ctx  *hcl.EvalContext
	what About
	out  []diag.Value
}

func (c *collector) Enter(n hclsyntax.Node) hcl.Diagnostics {
	switch n := unwrapNode(n).(type) {
	case *Ref:
		c.ref(n)
	case *hclsyntax.ScopeTraversalExpr:
		c.traversal(n.Traversal)
	}
	return nil
}

func (c *collector) Exit(hclsyntax.Node) hcl.Diagnostics { return nil }

// ref evaluates a reference again, and adds the values of its parts. This is cheap, because the variables, locals and
// outputs that it reads keep their values. It skips references to all instances or all outputs, because some of them
// may not exist yet. It adds nothing if the evaluation fails.
func (c *collector) ref(e *Ref) {
	if e.Repeated && !e.HasKey || e.Root == RootCall && e.Output == "" {
		return
	}
	v, diags := e.base(c.s)
	if diags.HasErrors() {
		return
	}
	c.steps(v, e.Traversal[:len(e.Traversal)-len(e.Rest)], e.Rest)
}

// traversal adds the value that a traversal selects from a loop variable or an iterator. For the whole variable it adds
// nothing.
func (c *collector) traversal(t hcl.Traversal) {
	if len(t) < 2 {
		return
	}
	v, diags := t[:1].TraverseAbs(c.ctx)
	if !diags.HasErrors() {
		c.steps(v, t[:1], t[1:])
	}
}

// steps selects from v along rest as far as possible, and adds the value at the end. name is the name of v in the
// source.
func (c *collector) steps(v cty.Value, name, rest hcl.Traversal) {
	for i, step := range rest {
		next, diags := step.TraversalStep(v)
		if diags.HasErrors() {
			rest = rest[:i]
			break
		}
		v = next
	}
	if statement := c.statement(v); statement != "" {
		full := append(slices.Clone(name), rest...)
		c.out = append(c.out, diag.Value{Traversal: syntax.ReferenceText(full), Statement: statement})
	}
}

// statement describes a value, such as "is 5" or "is list of string with 2 elements". For a sensitive or ephemeral
// value, it names the mark if the diagnostic is about marks, and otherwise returns "", because the value cannot be
// shown.
func (c *collector) statement(v cty.Value) string {
	for tag, text := range map[mark.Tag]string{mark.Sensitive: "has a sensitive value", mark.Ephemeral: "has an ephemeral value"} {
		if mark.Is(v, tag) {
			if c.what == AboutMarks {
				return text
			}
			return ""
		}
	}
	ty := v.Type()
	switch {
	case v.IsNull():
		return "is null"
	case !v.IsKnown():
		return c.unknown(ty)
	}
	return "is " + describe(v)
}

func (c *collector) unknown(ty cty.Type) string {
	switch {
	case ty == cty.DynamicPseudoType && c.what == AboutUnknown:
		return "will be known only after apply"
	case ty == cty.DynamicPseudoType:
		return ""
	case c.what == AboutUnknown:
		return "is " + ofType(ty) + ", known only after apply"
	}
	return "is " + ofType(ty)
}

// ofType describes a type, such as "a string".
func ofType(ty cty.Type) string {
	switch name := ty.FriendlyName(); {
	case ty.IsObjectType():
		return "an " + describeObject(ty)
	default:
		return "a " + name
	}
}
