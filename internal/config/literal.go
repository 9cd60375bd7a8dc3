package config

import (
	"math/big"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/zclconf/go-cty/cty"
)

// What the language wants to be constant is evaluated here, without variables and functions.
// Even so, a few lines can ask for a result of any size (loops in loops, products of powers), so
// an expression is estimated before it is evaluated.

// constant evaluates an expression that may not refer to anything.
func (l *loader) constant(e hcl.Expression) (cty.Value, bool) {
	v, d := constant(e, l.opts.Limits)
	if d != nil {
		l.hcl(hcl.Diagnostics{d})
		return cty.DynamicVal, false
	}
	return v, true
}

// constant evaluates e, or says in one message why it cannot.
func constant(e hcl.Expression, limits Limits) (cty.Value, *hcl.Diagnostic) {
	if n, ok := e.(hclsyntax.Expression); ok && (&estimate{}).of(n) > uint64(limits.Literal) {
		r := e.Range()
		return cty.DynamicVal, &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  "Constant expression too large",
			Detail:   "The result of this expression could get larger than a constant may be. Write it out smaller, or move it to a locals block.",
			Subject:  &r,
		}
	}
	v, ds := e.Value(nil)
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
func (l *loader) typed(a *hcl.Attribute, t cty.Type, want string) (cty.Value, bool) {
	v, ok := l.constant(a.Expr)
	if !ok {
		return v, false
	}
	c, err := convert.To(v, t)
	if err != nil || c.IsNull() || !c.IsKnown() {
		l.error(a.Expr.Range(), "Unsuitable value type", "Unsuitable value: %s is required for %q.", want, a.Name)
		return c, false
	}
	return c, true
}

// boolean reads a constant true or false; an absent argument leaves v as it is.
func (l *loader) boolean(a *hcl.Attribute, v *bool) {
	if a == nil {
		return
	}
	if c, ok := l.typed(a, cty.Bool, "a bool"); ok {
		*v = c.True()
	}
}

// text reads a constant string; an absent argument leaves v as it is.
func (l *loader) text(a *hcl.Attribute, v *string) bool {
	if a == nil {
		return false
	}
	c, ok := l.typed(a, cty.String, "a string")
	if ok {
		*v = c.AsString()
	}
	return ok
}

// estimate bounds the number of elements and bytes in the result of an expression, and with it
// the work of evaluating it. Names stand for the elements of the collections that loops go over.
type estimate struct {
	elements bool // count elements only, not the bytes in them
	names    map[string]uint64
	items    map[*hclsyntax.AnonSymbolExpr]uint64
}

const huge = 1 << 40

func plus(a, b uint64) uint64 { return min(a+b, huge) }

func times(a, b uint64) uint64 {
	if a != 0 && b > huge/a {
		return huge
	}
	return min(a*b, huge)
}

func (s *estimate) all(es []hclsyntax.Expression) uint64 {
	n := uint64(1)
	for _, e := range es {
		n = plus(n, s.of(e))
	}
	return n
}

func (s *estimate) of(e hclsyntax.Expression) uint64 {
	switch e := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		if s.elements {
			return 1
		}
		return sizeOf(e.Val)
	case *hclsyntax.TemplateExpr:
		return s.all(e.Parts)
	case *hclsyntax.TemplateWrapExpr:
		return s.of(e.Wrapped)
	case *hclsyntax.TemplateJoinExpr:
		return s.of(e.Tuple)
	case *hclsyntax.ParenthesesExpr:
		return s.of(e.Expression)
	case *hclsyntax.ObjectConsKeyExpr:
		return s.of(e.Wrapped)
	case *hclsyntax.TupleConsExpr:
		return s.all(e.Exprs)
	case *hclsyntax.ObjectConsExpr:
		n := uint64(1)
		for _, item := range e.Items {
			n = plus(n, plus(s.of(item.KeyExpr), s.of(item.ValueExpr)))
		}
		return n
	case *hclsyntax.FunctionCallExpr: // of type expressions; elsewhere it is an error
		return s.all(e.Args)
	case *hclsyntax.ConditionalExpr:
		return plus(s.of(e.Condition), plus(s.of(e.TrueResult), s.of(e.FalseResult)))
	case *hclsyntax.BinaryOpExpr:
		return s.binary(e)
	case *hclsyntax.UnaryOpExpr:
		return s.of(e.Val)
	case *hclsyntax.IndexExpr:
		return plus(s.of(e.Collection), s.of(e.Key))
	case *hclsyntax.RelativeTraversalExpr:
		return s.of(e.Source)
	case *hclsyntax.ScopeTraversalExpr:
		return plus(1, s.names[e.Traversal.RootName()])
	case *hclsyntax.AnonSymbolExpr:
		return plus(1, s.items[e])
	case *hclsyntax.SplatExpr:
		return s.splat(e)
	case *hclsyntax.ForExpr:
		return s.loop(e)
	}
	return 1
}

// each bounds the number of elements of a collection and the size of one of them.
func (s *estimate) each(e hclsyntax.Expression) (count, size uint64) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return s.each(e.Expression)
	case *hclsyntax.TupleConsExpr:
		for _, item := range e.Exprs {
			size = max(size, s.of(item))
		}
		return uint64(len(e.Exprs)), size
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			size = max(size, s.of(item.KeyExpr), s.of(item.ValueExpr))
		}
		return uint64(len(e.Items)), size
	}
	n := s.of(e)
	return n, n
}

// maxDigits is how many digits a computed number may have: writing one down takes time that grows
// faster than its length.
const maxDigits = 20_000

// binary takes the digits of both operands together, which is right for products.
func (s *estimate) binary(e *hclsyntax.BinaryOpExpr) uint64 {
	n := plus(s.of(e.LHS), s.of(e.RHS))
	if e.Op.Type == cty.Number && n > maxDigits {
		return huge
	}
	return n
}

func (s *estimate) splat(e *hclsyntax.SplatExpr) uint64 {
	count, size := s.each(e.Source)
	if s.items == nil {
		s.items = map[*hclsyntax.AnonSymbolExpr]uint64{}
	}
	s.items[e.Item] = size
	return plus(s.of(e.Source), times(count, s.of(e.Each)))
}

func (s *estimate) loop(e *hclsyntax.ForExpr) uint64 {
	count, size := s.each(e.CollExpr)
	outer := s.names
	s.names = map[string]uint64{e.KeyVar: size, e.ValVar: size}
	for k, v := range outer {
		if _, shadowed := s.names[k]; !shadowed {
			s.names[k] = v
		}
	}
	body := uint64(1)
	for _, part := range []hclsyntax.Expression{e.KeyExpr, e.ValExpr, e.CondExpr} {
		if part != nil {
			body = plus(body, s.of(part))
		}
	}
	s.names = outer
	return plus(s.of(e.CollExpr), times(count, body))
}

// sizeOf is the size of a constant: for strings their bytes, for numbers the digits it takes to
// print them.
func sizeOf(v cty.Value) uint64 {
	if v.IsNull() || !v.IsKnown() {
		return 1
	}
	switch v.Type() {
	case cty.String:
		return uint64(len(v.AsString())) + 1
	case cty.Number:
		return digits(v.AsBigFloat())
	}
	return 1
}

func digits(f *big.Float) uint64 {
	exp := f.MantExp(nil)
	if exp < 0 {
		exp = -exp
	}
	return uint64(exp)/3 + 2
}
