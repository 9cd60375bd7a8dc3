package lang

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
)

// evaluate evaluates every declaration of every unit once, in a frame where all that is not written
// out is unknown, and drops the values: what matters is what is reported.
func (c *checker) evaluate(o Options) {
	o.Validate, o.Steady, o.Variables = true, nil, nil
	root, _ := NewFrame(c.p, o, c.bag)
	c.p.EachUnit(func(n *node) {
		e := &trial{c: c, f: root.Placeholder(n.cfg.Path)}
		for _, d := range n.unit.decls {
			if id := n.decl(d.index); !c.p.Endless(id) {
				e.declaration(id, d)
			}
		}
		if !c.p.Cyclic() {
			e.imports()
		}
	})
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

func (t *trial) declaration(id Decl, d *decl) {
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
		t.keys(id)
		t.result(t.f.TryInputs(id, bag))
	case Resource:
		t.resource(id, d)
	case Provider:
		t.keys(id)
		_, o := t.f.Settings(id, addr.NoKey, After, bag)
		t.result(o)
	case Check:
		t.conditions(id, d, Assert, nil)
	}
}

func (t *trial) keys(d Decl) {
	t.result(max(t.f.Keys(d, After, t.c.bag).Status, OK))
}

func (t *trial) resource(id Decl, d *decl) {
	bag := t.c.bag
	t.keys(id)
	_, o := t.f.Config(id, addr.NoKey, After, bag)
	t.result(o)
	self := t.f.SelfOf(id)
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
	t.result(t.f.TryProvisioners(id, &self, bag))
}

func (t *trial) conditions(id Decl, d *decl, when When, self *mark.Value) {
	if len(d.conds[when]) == 0 {
		return
	}
	for _, r := range t.f.Conditions(id, addr.NoKey, when, After, self, t.c.bag) {
		t.c.ok = t.c.ok && r.Status != state.Errored
	}
}

func (t *trial) imports() {
	_, o := t.f.AllImports(t.c.bag)
	t.result(o)
}
