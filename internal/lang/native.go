package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/zclconf/go-cty/cty"
)

// native gives the syntax tree of an expression, whatever syntax it is written in. What cannot be
// read becomes a syntax error, which is reported when the tree is compiled.
func native(e hcl.Expression) hclsyntax.Expression {
	if n, ok := e.(hclsyntax.Expression); ok {
		return n
	}
	n, diags := config.Native(e)
	if diags.HasErrors() {
		return &hclsyntax.ExprSyntaxError{Placeholder: cty.DynamicVal, ParseDiags: diags, SrcRange: e.Range()}
	}
	return n
}
