package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// The functions in this file compile expressions and bodies on demand. These expressions are not part of the program,
// or a static evaluation needs them before a program exists. Their references are not recorded. In a static evaluation,
// the parameter static is the name of the feature that needs the result before planning, for messages. Otherwise static
// is "".

// Expression compiles an expression. The parameter may has the symbols that the expression may use. If Expression
// reports an error, it returns false.
func (n *Node) Expression(e hcl.Expression, may AllowedRefs, static string, bag *diag.Bag) (hclsyntax.Expression, bool) {
	c := n.compiler(&Def{}, static, bag)
	out := c.in(ByValue, may).expr(e)
	return out, !c.failed
}

// Block compiles a body against a schema. The parameter may has the symbols that the body may use. If Block reports an
// error, it returns false.
func (n *Node) Block(b hcl.Body, s *schema.Block, may AllowedRefs, static string, bag *diag.Bag) (*expr.Body, bool) {
	c := n.compiler(&Def{}, static, bag)
	raw := bodyRewriter{c.in(ByProvision, may)}.body(b)
	bc := &bodyCompiler{c: c, bag: bag, ok: true}
	out := bc.compile(raw, s)
	return out, bc.ok && !c.failed
}

// Where returns the range of the text in body b that sets the value at a path. If no text in b sets it, Where returns
// the range for missing arguments of the innermost block on the path. If the path is empty, Where returns the range at.
func (n *Node) Where(b hcl.Body, s *schema.Block, at diag.Range, path cty.Path) diag.Range {
	if len(path) == 0 {
		return at
	}
	var reported diag.Bag // discarded, because the errors were reported when the body was compiled
	c := n.compiler(&Def{}, "settings", &reported)
	raw := bodyRewriter{c.in(ByProvision, AllowedRefs{})}.body(b)
	(&bodyCompiler{c: c, bag: &reported, ok: true}).compile(raw, s)
	return raw.Where(at, path)
}

// Local compiles the expression of a local, unless it is already compiled. If it reports an error, it returns false.
func (n *Node) Local(d *Def, static string, bag *diag.Bag) bool {
	if d.Value != nil {
		return true
	}
	c := n.compiler(d, static, bag)
	d.Value = c.in(ByValue, AllowedRefs{}).expr(d.Src.Loc.Expr)
	return !c.failed
}

// Inputs compiles the arguments of a module call, unless they are already compiled. If it reports an error, it returns
// false.
func (n *Node) Inputs(call *Def, static string, bag *diag.Bag) bool {
	if call.Inputs.Args != nil {
		return true
	}
	c := n.compiler(call, static, bag)
	call.Inputs.Args = c.arguments(call.Src.Mod.Body, AllowedRefs{})
	return !c.failed
}
