package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
)

// What is compiled when it is asked for: expressions and bodies that are no part of the program as such, and all
// that a static evaluation needs, before there is a program. Nothing of it is recorded in the unit. static is what
// needs the result before anything is planned, as messages call it; empty if nothing does.

// Expression compiles an expression.
func (n *node) Expression(e hcl.Expression, may place, static string, bag *diag.Bag) (hclsyntax.Expression, bool) {
	c := n.compiler(&decl{}, static, bag)
	out := c.in(ByValue, may).expr(e)
	return out, !c.failed
}

// Block compiles a body against a schema.
func (n *node) Block(b hcl.Body, s *schema.Block, may place, static string, bag *diag.Bag) (*body, bool) {
	c := n.compiler(&decl{}, static, bag)
	raw := c.in(ByProvision, may).body(b)
	bc := &bodyCompiler{c: c, bag: bag, ok: true}
	out := bc.compile(raw, s)
	return out, bc.ok && !c.failed
}

// Local compiles the expression of a local that is not compiled yet.
func (n *node) Local(d *decl, static string, bag *diag.Bag) bool {
	if d.value != nil {
		return true
	}
	c := n.compiler(d, static, bag)
	d.value = c.in(ByValue, place{}).expr(d.loc.Expr)
	return !c.failed
}

// Inputs compiles the inputs of a call that are not compiled yet.
func (n *node) Inputs(call *decl, static string, bag *diag.Bag) bool {
	if call.args != nil {
		return true
	}
	c := n.compiler(call, static, bag)
	call.args = c.arguments(call.mod.Body, place{})
	return !c.failed
}

func (n *node) compiler(d *decl, static string, bag *diag.Bag) *compiler {
	return &compiler{u: n.unit, n: n, bag: bag, d: d, static: static, quiet: true}
}
