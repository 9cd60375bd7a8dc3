package vet

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
)

// evaluate evaluates every declaration of every module once, however often the module is called, with a frame (module
// instance) in which only literal values are known. It skips declarations that are part of a cycle or depend on one. It
// discards the values, because only the diagnostics matter.
func (c *checker) evaluate(o frame.Options) {
	o.Validate, o.Steady, o.Variables = true, nil, nil
	root, _ := frame.New(c.p, o, c.bag)
	c.p.EachUnit(func(n *program.Node) {
		e := &validation{c: c, f: frame.Placeholder(root, n.Config.Path)}
		for _, d := range n.Unit.Defs {
			if id := n.Decl(d.Index); !c.p.Endless(id) {
				e.declaration(id, d)
			}
		}
		if !c.p.Cyclic() {
			e.imports()
		}
	})
}

// validation evaluates the declarations of one module in the frame f.
type validation struct {
	c *checker
	f *frame.Frame
}

// result records the status of an evaluation. After a failure, Check returns false.
func (t *validation) result(o frame.Status) {
	if o != frame.OK {
		t.c.ok = false
	}
}

func (t *validation) declaration(id program.Decl, d *program.Def) {
	bag := t.c.bag
	switch d.Kind {
	case program.Variable:
		t.conditions(id, d, program.Validation, nil)
	case program.Local:
		_, o := t.f.Named(d.Kind, d.Name, frame.After, bag)
		t.result(o)
	case program.Output:
		_, o := t.f.Named(d.Kind, d.Name, frame.After, bag)
		t.result(o)
		t.conditions(id, d, program.OutputPre, nil)
	case program.Call:
		t.keys(id)
		t.result(frame.NewChecker(t.f).Inputs(id, bag))
	case program.Resource:
		t.resource(id, d)
	case program.Action:
		t.keys(id)
		_, o := t.f.Config(id, addr.NoKey, frame.After, bag)
		t.result(o)
		_, o = t.f.ProviderKey(id, addr.NoKey, frame.After, bag)
		t.result(o)
	case program.Provider:
		t.keys(id)
		_, o := t.f.Settings(id, addr.NoKey, frame.After, bag)
		t.result(o)
	case program.Check:
		t.conditions(id, d, program.Assert, nil)
	}
}

func (t *validation) keys(d program.Decl) {
	t.result(max(t.f.Keys(d, frame.After, t.c.bag).Status, frame.OK))
}

func (t *validation) resource(id program.Decl, d *program.Def) {
	bag := t.c.bag
	t.keys(id)
	_, o := t.f.Config(id, addr.NoKey, frame.After, bag)
	t.result(o)
	self := frame.NewChecker(t.f).Self(id)
	t.conditions(id, d, program.Pre, nil)
	t.conditions(id, d, program.Post, &self)
	_, o = t.f.PreventDestroy(id, addr.NoKey, frame.Before, bag)
	t.result(o)
	_, o = t.f.Forget(id, addr.NoKey, frame.Before, bag)
	t.result(o)
	_, o = t.f.ProviderKey(id, addr.NoKey, frame.After, bag)
	t.result(o)
	_, o = t.f.Triggers(id, addr.NoKey, bag)
	t.result(o)
	for _, x := range frame.Actions(t.f).Triggers(id) {
		_, o = frame.Actions(t.f).Holding(id, addr.NoKey, x, &self, frame.After, bag)
		t.result(o)
		for _, ref := range x.Invokes {
			_, o = frame.Actions(t.f).Invoked(id, addr.NoKey, ref, frame.After, bag)
			t.result(o)
		}
	}
	t.result(frame.NewChecker(t.f).Provisioners(id, &self, bag))
}

func (t *validation) conditions(id program.Decl, d *program.Def, when program.When, self *mark.Value) {
	if len(d.Conditions[when]) == 0 {
		return
	}
	for _, r := range t.f.Conditions(id, addr.NoKey, when, self, t.c.bag) {
		t.c.ok = t.c.ok && r.Status != state.Errored && (r.Status != state.Fail || when != program.OutputPre)
	}
}

func (t *validation) imports() {
	_, o := t.f.AllImports(t.c.bag)
	t.result(o)
}
