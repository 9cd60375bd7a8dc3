package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// What is evaluated only to find out what is wrong with it, in frames that validate.

// Placeholder is the frame that stands for all instances of a module while validating.
func (f *Frame) Placeholder(m addr.Module) *Frame {
	if m.IsRoot() {
		return f.root()
	}
	p := f.Placeholder(m.Parent())
	i, _ := p.u.index(Call, m.Name())
	return p.child(p.u.decls[i], addr.NoKey)
}

// SelfOf stands for an object of a resource while nothing is known of it but its type.
func (f *Frame) SelfOf(d Decl) mark.Value { return mark.Split(f.placeholder(f.local(d))) }

// TryInputs evaluates the inputs of a call against the variables they are for.
func (f *Frame) TryInputs(call Decl, bag *diag.Bag) Outcome {
	d := f.local(call)
	child := f.n.children[d.nth]
	if child == nil {
		return OK
	}
	s := f.scope(After, bag).of(d, addr.NoKey)
	defer s.release()
	s.Marked = true // each argument in turn
	worst := OK
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
		worst = max(worst, s.outcome())
	}
	return worst
}

// TryProvisioners evaluates what the provisioners and connections of a resource say, whatever they are for.
func (f *Frame) TryProvisioners(d Decl, self *mark.Value, bag *diag.Bag) Outcome {
	worst := OK
	for _, raw := range f.local(d).bodies {
		s := f.scope(After, bag).of(f.local(d), addr.NoKey)
		s.setSelf(self)
		s.try(raw, s.Ctx)
		worst = max(worst, s.outcome())
		s.release()
	}
	return worst
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
