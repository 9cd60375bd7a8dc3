package frame

import (
	"sync"

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
// They are compiled against the schema that comes with the question, once for each walk.

// blocks remembers compiled bodies of this kind.
type blocks struct {
	mu sync.Mutex
	m  map[blockKey]*block
}

type blockKey struct {
	of     any // *config.Provisioner or *config.Connection, or what the caller chose
	schema *schema.Block
}

type block struct {
	body  *expr.Body
	diags []diag.Diagnostic
	ok    bool
}

// Provisioner evaluates the body of a provisioner of a resource against the provisioner's schema.
func (f *Frame) Provisioner(p *config.Provisioner, s *schema.Block, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	return f.w.blocks.of(f, p, p.Body, s).eval(f, in, face, bag)
}

// Connection evaluates a connection block.
func (f *Frame) Connection(c *config.Connection, s *schema.Block, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	return f.w.blocks.of(f, c, c.Body, s).eval(f, in, face, bag)
}

// Body evaluates any body of the frame's module against a schema. It is compiled anew each time.
func (f *Frame) Body(b hcl.Body, s *schema.Block, in Scope, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	return compileBlock(f, b, s).eval(f, in, face, bag)
}

// of gives a compiled body, which is compiled when first asked for.
func (w *blocks) of(f *Frame, of any, b hcl.Body, s *schema.Block) *block {
	key := blockKey{of, s}
	w.mu.Lock()
	got := w.m[key]
	w.mu.Unlock()
	if got == nil {
		got = compileBlock(f, b, s)
		w.mu.Lock()
		if w.m == nil {
			w.m = map[blockKey]*block{}
		}
		w.m[key] = got
		w.mu.Unlock()
	}
	return got
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
