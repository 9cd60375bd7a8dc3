package frame

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Bodies that belong to no provider's schema: provisioners, connections, mocks of the test command.
// They are compiled against the schema that comes with the question, each time.

type block struct {
	body  *expr.Body
	diags []diag.Diagnostic
	ok    bool
}

// Provisioner evaluates the body of a provisioner of a resource against the provisioner's schema.
func (f *Frame) Provisioner(p *config.Provisioner, s *schema.Block, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	return compileBlock(f, p.Body, s).eval(f, in, face, bag)
}

// Connection evaluates a connection block.
func (f *Frame) Connection(c *config.Connection, s *schema.Block, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	return compileBlock(f, c.Body, s).eval(f, in, face, bag)
}

// Body evaluates any body of the frame's module against a schema.
func (f *Frame) Body(b hcl.Body, s *schema.Block, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	return compileBlock(f, b, s).eval(f, in, face, bag)
}

// compileBlock compiles a body. What may stand in it was checked with the declaration that it
// belongs to; here all symbols are allowed.
func compileBlock(f *Frame, b hcl.Body, s *schema.Block) *block {
	var bag diag.Bag
	out := &block{}
	out.body, out.ok = f.n.Block(b, s, program.AllowedRefs{Count: true, Each: true, Self: true}, "", &bag)
	out.diags = bag.List()
	return out
}

func (b *block) eval(f *Frame, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	bag.Add(b.diags...)
	if !b.ok {
		return mark.Plain(cty.DynamicVal), Broken
	}
	s := f.scope(face, bag)
	defer s.release()
	s.enter(in)
	v := b.body.Eval(&s.Env, s.Ctx)
	if o := s.outcome(); o != OK {
		return mark.Plain(cty.DynamicVal), o
	}
	return s.split(v), OK
}
