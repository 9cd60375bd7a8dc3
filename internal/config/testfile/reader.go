package testfile

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

var overrideBlocks = []hcl.BlockHeaderSchema{
	{Type: "override_resource"}, {Type: "override_data"}, {Type: "override_module"}, {Type: "override_ephemeral"},
}

// reader reads one test file.
type reader struct {
	*config.Parts
	root    string // the directory of the root module
	sources *diag.Sources
	file    *File

	parallel, skipCleanup bool // as the test block says
}

var testSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "parallel"}, {Name: "skip_cleanup"}}}

// test reads a test block: what goes for all runs that say nothing else.
func (r *reader) test(b *hcl.Block) {
	content, _ := r.Content(b.Body, testSchema)
	r.Bool(content.Attributes["parallel"], &r.parallel)
	r.Bool(content.Attributes["skip_cleanup"], &r.skipCleanup)
}

// sole is the block of a type that a file has one of; nil: there is none.
func (r *reader) sole(blocks hcl.Blocks) *hcl.Block {
	if len(blocks) == 0 {
		return nil
	}
	for _, b := range blocks[1:] {
		r.again(b, blocks[0], "test file")
	}
	return blocks[0]
}

// again refuses a second block of a type; in is what may have one.
func (r *reader) again(b, first *hcl.Block, in string) {
	r.Bag.Add(diag.Errorf("Multiple \""+b.Type+"\" blocks", "This %s has a %q block at %s already. Put everything into one of them.", in, b.Type, first.DefRange).At(config.Place(b)))
}

// variables reads a variables block.
func (r *reader) variables(b *hcl.Block, into map[string]*Value) {
	attrs, ds := b.Body.JustAttributes()
	r.Bag.HCL(ds)
	for _, a := range attrs {
		e, ds := config.Native(a.Expr)
		r.Bag.HCL(ds)
		into[a.Name] = &Value{a.Name, e, literal(e), a.Range}
	}
}

// literal is the value of a text, a number or a truth value that is written out, NilVal of anything else.
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
