package funcs

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/customdecode"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// ephemeralMarksOf gives r the ephemeral marks of what a failed expression looked at. got is the value that came
// with the failure: an expression that is not HCL's own, as references become when they are compiled,
// can put the marks of what it looked at onto that.
//
// References are evaluated again, which is cheap, since what they name is there already. Function calls
// are not, or calls that fail inside one another would take time without end: of them it counts what
// goes in. A reference that fails looked at what it reached before: of `local.list[9]` at the list, but
// not at its elements, since the length of a list is not ephemeral because an element is.
//
// What is too large to be looked through for marks is an error: it cannot be said to have none.
func (c *call) ephemeralMarksOf(r cty.Value, e *customdecode.ExpressionClosure, got cty.Value) (cty.Value, error) {
	l := looker{call: c, ctx: e.EvalContext, r: stillEphemeral(r, got)}
	l.see(e.Expression)
	if l.err != nil {
		return cty.NilVal, l.err
	}
	return l.r, nil
}

type looker struct {
	*call
	ctx *hcl.EvalContext
	r   cty.Value
	err error
}

// whole is for a value of which any part may have been looked at.
func (l *looker) whole(v cty.Value) {
	s, all := l.look(v)
	if !all {
		l.err = s.problem(l.call)
		return
	}
	l.r = deepEphemeral(l.r, v, s)
}

// see goes through an expression and everything in it.
func (l *looker) see(e hcl.Expression) {
	switch e := e.(type) {
	case nil, *hclsyntax.LiteralValueExpr, *hclsyntax.AnonSymbolExpr:
	case *hclsyntax.ScopeTraversalExpr:
		l.reference(e.Traversal)
	case *hclsyntax.IndexExpr:
		l.chain(e, e.Collection)
		l.see(e.Key)
	case *hclsyntax.RelativeTraversalExpr:
		l.chain(e, e.Source)
	default:
		if parts, ok := partsOf(e); ok {
			for _, p := range parts {
				l.see(p)
			}
			return
		}
		l.value(e)
	}
}

// partsOf are the expressions that an expression of HCL's own is made of; false for what is not one
// of them, or is a leaf.
func partsOf(e hcl.Expression) (parts []hclsyntax.Expression, ok bool) {
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		parts = []hclsyntax.Expression{e.Expression}
	case *hclsyntax.FunctionCallExpr:
		parts = e.Args
	case *hclsyntax.ConditionalExpr:
		parts = []hclsyntax.Expression{e.Condition, e.TrueResult, e.FalseResult}
	case *hclsyntax.BinaryOpExpr:
		parts = []hclsyntax.Expression{e.LHS, e.RHS}
	case *hclsyntax.UnaryOpExpr:
		parts = []hclsyntax.Expression{e.Val}
	case *hclsyntax.TupleConsExpr:
		parts = e.Exprs
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			parts = append(parts, item.KeyExpr, item.ValueExpr)
		}
	case *hclsyntax.ObjectConsKeyExpr:
		parts = keyParts(e)
	case *hclsyntax.ForExpr:
		parts = []hclsyntax.Expression{e.CollExpr, e.KeyExpr, e.ValExpr, e.CondExpr}
	case *hclsyntax.SplatExpr:
		parts = []hclsyntax.Expression{e.Source, e.Each}
	case *hclsyntax.TemplateExpr:
		parts = e.Parts
	case *hclsyntax.TemplateJoinExpr:
		parts = []hclsyntax.Expression{e.Tuple}
	case *hclsyntax.TemplateWrapExpr:
		parts = []hclsyntax.Expression{e.Wrapped}
	default:
		return nil, false
	}
	return parts, true
}

// keyParts are none for a bare name, which is a key and no reference.
func keyParts(e *hclsyntax.ObjectConsKeyExpr) []hclsyntax.Expression {
	if hcl.ExprAsKeyword(e.Wrapped) != "" && !e.ForceNonLiteral {
		return nil
	}
	return []hclsyntax.Expression{e.Wrapped}
}

// value is a leaf: all of it was looked at, if it is there.
func (l *looker) value(e hcl.Expression) {
	v, diags := e.Value(l.ctx)
	if diags.HasErrors() {
		l.r = stillEphemeral(l.r, v)
		return
	}
	l.whole(v)
}

// reference follows a traversal as far as it goes.
func (l *looker) reference(t hcl.Traversal) {
	v, diags := t.TraverseAbs(l.ctx)
	if !diags.HasErrors() {
		l.whole(v)
		return
	}
	for i := 1; i < len(t); i++ {
		v, diags := t[:i].TraverseAbs(l.ctx)
		if diags.HasErrors() {
			return
		}
		l.r = stillEphemeral(l.r, v)
	}
}

// chain is an index or attribute of something. If only references are on the way, what it reaches is
// all that was looked at; else, everything.
func (l *looker) chain(e, from hclsyntax.Expression) {
	if !simple(e) {
		l.see(from)
		return
	}
	v, diags := e.Value(l.ctx)
	if !diags.HasErrors() {
		l.whole(v)
		return
	}
	l.r = stillEphemeral(l.r, v)
	if v, diags := from.Value(l.ctx); !diags.HasErrors() {
		l.r = stillEphemeral(l.r, v)
		return
	}
	l.see(from)
}

// simple reports whether an expression is made of references and constants alone.
func simple(e hcl.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.IndexExpr:
		return simple(e.Collection) && simple(e.Key)
	case *hclsyntax.RelativeTraversalExpr:
		return simple(e.Source)
	case *hclsyntax.TemplateExpr:
		return e.IsStringLiteral()
	}
	_, composed := partsOf(e)
	return !composed
}
