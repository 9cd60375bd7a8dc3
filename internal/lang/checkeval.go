package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// evaluate evaluates every declaration of every unit once, in a frame where all that is not written
// out is unknown, and drops the values: what matters is what is reported.
func (c *checker) evaluate(o Options) {
	o.Validate, o.Steady, o.Variables = true, nil, nil
	root, _ := c.p.Frame(o, c.bag)
	c.eachUnit(c.p.root, func(n *node) {
		e := &trial{c: c, f: frameOf(root, n)}
		for _, d := range n.unit.decls {
			if !c.p.Endless(n.decl(d.index)) {
				e.declaration(d)
			}
		}
		if !c.p.cyclic {
			e.imports()
		}
	})
}

// frameOf is the validate frame of a node: the placeholder instance of every call on the way.
func frameOf(root *Frame, n *node) *Frame {
	if n.parent == nil {
		return root
	}
	p := frameOf(root, n.parent)
	return p.child(n.parent.unit.decls[n.call], addr.NoKey)
}

// trial evaluates the declarations of one unit.
type trial struct {
	c *checker
	f *Frame
}

// result takes note of how an evaluation went.
func (t *trial) result(o Outcome) {
	if o != OK {
		t.c.ok = false
	}
}

func (t *trial) declaration(d *decl) {
	id := t.f.n.decl(d.index)
	bag := t.c.bag
	switch d.kind {
	case Variable:
		t.conditions(id, d, Validation, nil)
	case Local:
		_, o := t.f.Local(d.name, After, bag)
		t.result(o)
	case Output:
		_, o := t.f.Output(d.name, After, bag)
		t.result(o)
		t.conditions(id, d, OutputPre, nil)
	case Call:
		t.keys(d)
		t.arguments(d)
	case Resource:
		t.resource(id, d)
	case Provider:
		t.keys(d)
		_, o := t.f.Settings(id, addr.NoKey, After, bag)
		t.result(o)
	case Check:
		t.conditions(id, d, Assert, nil)
	}
}

func (t *trial) keys(d *decl) {
	t.result(max(t.f.keys(d, After, t.c.bag).Status, OK))
}

func (t *trial) resource(id Decl, d *decl) {
	bag := t.c.bag
	t.keys(d)
	_, o := t.f.Config(id, addr.NoKey, After, bag)
	t.result(o)
	self := mark.Split(t.f.placeholder(d))
	t.conditions(id, d, Pre, nil)
	t.conditions(id, d, Post, &self)
	_, o = t.f.PreventDestroy(id, Before, bag)
	t.result(o)
	_, o = t.f.Forget(id, Before, bag)
	t.result(o)
	_, o = t.f.ProviderKey(id, addr.NoKey, After, bag)
	t.result(o)
	_, o = t.f.Triggers(id, addr.NoKey, bag)
	t.result(o)
	t.provisioners(d, &self)
}

func (t *trial) conditions(id Decl, d *decl, when When, self *mark.Value) {
	if len(d.conds[when]) == 0 {
		return
	}
	for _, r := range t.f.Conditions(id, addr.NoKey, when, After, self, t.c.bag) {
		t.c.ok = t.c.ok && r.Status != state.Errored
	}
}

// arguments evaluates the inputs of a call against the variables they are for.
func (t *trial) arguments(d *decl) {
	child := t.f.n.children[d.nth]
	if child == nil {
		return
	}
	s := t.f.scope(After, t.c.bag).of(d, addr.NoKey)
	defer s.release()
	s.Marked = true // each argument in turn
	for _, name := range sorted(d.args) {
		a := d.args[name]
		i, ok := child.unit.index(Variable, name)
		if !ok {
			continue
		}
		s.Failed, s.Broken = false, false
		v := s.Eval(a.expr)
		if s.outcome() == OK {
			s.accept(child, child.unit.decls[i], v, a.expr)
		}
		t.result(s.outcome())
	}
}

// provisioners evaluates what provisioners and connections say, whatever it is for.
func (t *trial) provisioners(d *decl, self *mark.Value) {
	for _, raw := range d.bodies {
		s := t.f.scope(After, t.c.bag).of(d, addr.NoKey)
		s.setSelf(self)
		s.try(raw, s.Ctx)
		t.result(s.outcome())
		s.release()
	}
}

// try evaluates the arguments of a body without a schema.
func (s *scope) try(raw *rawBody, ctx *hcl.EvalContext) {
	for i := range raw.attrs {
		s.EvalIn(raw.attrs[i].expr, ctx)
	}
	for i := range raw.blocks {
		b := &raw.blocks[i]
		if b.dynamic == nil {
			s.try(b.body, ctx)
			continue
		}
		s.EvalIn(b.dynamic.forEach, ctx)
		child := ctx.NewChild()
		child.Variables = map[string]cty.Value{b.dynamic.iterator: cty.DynamicVal}
		s.try(b.body, child)
	}
}

func (t *trial) imports() {
	_, o := t.f.AllImports(t.c.bag)
	t.result(o)
}
