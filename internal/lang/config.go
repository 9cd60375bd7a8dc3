package lang

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Config evaluates a resource's body into a value of its schema's type. Of a managed resource or
// a data source it refuses ephemeral values everywhere but in write-only arguments.
func (f *Frame) Config(d Decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	ld := f.local(d)
	v, leaves, outcome := f.body(ld, k, face, bag)
	if outcome == OK && ld.res.Mode != addr.Ephemeral && !f.acceptEphemeral(ld, v, leaves, bag) {
		outcome = Broken
	}
	return v, outcome
}

// Settings evaluates the body of a provider configuration.
func (f *Frame) Settings(d Decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	if f.w.p.NodeOf(d) == nil { // implied
		return mark.Plain(f.w.p.Schema(d).Empty()), OK
	}
	v, _, outcome := f.body(f.local(d), k, face, bag)
	return v, outcome
}

// body evaluates a body; beside it is said where something ephemeral is in the sets in it.
func (f *Frame) body(d *decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, []setLeaf, Outcome) {
	b := f.w.p.Body(d)
	if b == nil {
		return mark.Plain(cty.DynamicVal), nil, Broken // its schema is missing, which Check reported
	}
	s := f.scope(face, bag).of(d, k)
	defer s.release()
	v := b.eval(&s.env, s.Ctx)
	if o := s.outcome(); o != OK {
		return mark.Plain(cty.DynamicVal), nil, o
	}
	if d.kind == Resource && d.res.Mode != addr.Ephemeral {
		v = f.w.names.forget(v, b.schema.Type())
	}
	return s.split(v), s.SetLeaves, OK
}
