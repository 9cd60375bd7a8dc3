package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// What is compiled when it is asked for: expressions and bodies that are no part of the program as such, and all
// that a static evaluation needs, before there is a program. Nothing of it is recorded in the unit. static is what
// needs the result before anything is planned, as messages call it; empty if nothing does.

// Expression compiles an expression.
func (n *Node) Expression(e hcl.Expression, may AllowedRefs, static string, bag *diag.Bag) (hclsyntax.Expression, bool) {
	c := n.compiler(&Def{}, static, bag)
	out := c.in(ByValue, may).expr(e)
	return out, !c.failed
}

// Block compiles a body against a schema.
func (n *Node) Block(b hcl.Body, s *schema.Block, may AllowedRefs, static string, bag *diag.Bag) (*expr.Body, bool) {
	c := n.compiler(&Def{}, static, bag)
	raw := c.in(ByProvision, may).body(b)
	bc := &bodyCompiler{c: c, bag: bag, ok: true}
	out := bc.compile(raw, s)
	return out, bc.ok && !c.failed
}

// Where is where in a body that Block compiles a path leads, at if it leads to nothing that is written out.
func (n *Node) Where(b hcl.Body, s *schema.Block, at diag.Range, path cty.Path) diag.Range {
	if len(path) == 0 {
		return at
	}
	var said diag.Bag // what is wrong with the body was reported when it was compiled
	c := n.compiler(&Def{}, "settings", &said)
	raw := c.in(ByProvision, AllowedRefs{}).body(b)
	(&bodyCompiler{c: c, bag: &said, ok: true}).compile(raw, s)
	return raw.Where(at, path)
}

// Local compiles the expression of a local that is not compiled yet.
func (n *Node) Local(d *Def, static string, bag *diag.Bag) bool {
	if d.Value != nil {
		return true
	}
	c := n.compiler(d, static, bag)
	d.Value = c.in(ByValue, AllowedRefs{}).expr(d.Loc.Expr)
	return !c.failed
}

// Inputs compiles the inputs of a call that are not compiled yet.
func (n *Node) Inputs(call *Def, static string, bag *diag.Bag) bool {
	if call.Args != nil {
		return true
	}
	c := n.compiler(call, static, bag)
	call.Args = c.arguments(call.Mod.Body, AllowedRefs{})
	return !c.failed
}
