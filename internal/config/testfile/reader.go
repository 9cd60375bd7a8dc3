package testfile

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/native"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

var overrideBlocks = []hcl.BlockHeaderSchema{
	{Type: "override_resource"}, {Type: "override_data"}, {Type: "override_module"}, {Type: "override_ephemeral"},
	{Type: "override_action"},
}

// reader reads one test file.
type reader struct {
	*config.Parts
	root    string // the directory of the root module
	sources *diag.Sources
	file    *File

	parallel, skipCleanup bool // values of the test block, which apply to runs without these arguments
}

var testSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "parallel"}, {Name: "skip_cleanup"}}}

// test reads a test block, which contains the defaults for all runs.
func (r *reader) test(b *hcl.Block) {
	content, _ := r.Content(b.Body, testSchema)
	r.Bool(content.Attributes["parallel"], &r.parallel)
	r.Bool(content.Attributes["skip_cleanup"], &r.skipCleanup)
}

// sole returns the first block, or nil if blocks is empty. It reports an error for each further block, because a file
// may have only one block of the type.
func (r *reader) sole(blocks hcl.Blocks) *hcl.Block {
	if len(blocks) == 0 {
		return nil
	}
	for _, b := range blocks[1:] {
		r.again(b, blocks[0], "test file")
	}
	return blocks[0]
}

// again reports a second block of a type. The parameter in is a noun for the enclosing block or the file.
func (r *reader) again(b, first *hcl.Block, in string) {
	r.Bag.Add(diag.Errorf("Multiple \""+b.Type+"\" blocks", "This %s already has a %q block at %s. Merge the two blocks.", in, b.Type, first.DefRange).At(config.Place(b)))
}

// variables reads a variables block, and adds its values to a map by name. It reports mistakes to r.Bag.
func (r *reader) variables(b *hcl.Block, into map[string]*Value) {
	attrs, ds := b.Body.JustAttributes()
	r.Bag.HCL(ds)
	for _, a := range attrs {
		e, ds := native.Expression(a.Expr)
		r.Bag.HCL(ds)
		into[a.Name] = &Value{a.Name, e, literal(e), a.Range}
	}
}

// literal returns the value of a literal string, number, boolean or null. It returns NilVal for any other expression.
func literal(e hclsyntax.Expression) cty.Value {
	switch x := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return x.Val
	case *hclsyntax.TemplateExpr:
		if len(x.Parts) == 1 {
			return literal(x.Parts[0])
		}
	}
	return cty.NilVal
}
