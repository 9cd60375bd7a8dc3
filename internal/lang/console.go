package lang

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// longestInput keeps the depth of the parser's recursion within what a stack can hold.
const longestInput = 64 << 10

// ParseAndEval reads an expression and evaluates it, as the console does.
func (f *Frame) ParseAndEval(src []byte, filename string, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	if len(src) > longestInput {
		bag.Add(diag.Errorf("Expression too long", "An expression typed in may have up to %d bytes.", longestInput))
		return mark.Plain(cty.DynamicVal), Broken
	}
	e, diags := hclsyntax.ParseExpression(src, filename, diag.Pos{Line: 1, Column: 1})
	if !bag.HCL(diags) {
		return mark.Plain(cty.DynamicVal), Broken
	}
	return f.Eval(e, Scope{}, face, bag)
}
