package frame

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Config evaluates a resource's body into a value of its schema's type. Of a managed resource or
// a data source it refuses ephemeral values everywhere but in write-only arguments.
func (f *Frame) Config(d program.Decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	ld := f.local(d)
	v, leaves, outcome := f.body(ld, k, face, bag)
	if outcome == OK && ld.Res.Mode != addr.Ephemeral && !acceptEphemeral(f, ld, v, leaves, bag) {
		outcome = Broken
	}
	return v, outcome
}

// Settings evaluates the body of a provider configuration.
func (f *Frame) Settings(d program.Decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	if f.w.p.NodeOf(d) == nil { // implied
		return mark.Plain(f.w.p.Schema(d).Empty()), OK
	}
	v, _, outcome := f.body(f.local(d), k, face, bag)
	return v, outcome
}

// body evaluates a body; beside it is said where something ephemeral is in the sets in it.
func (f *Frame) body(d *program.Def, k addr.Key, face Face, bag *diag.Bag) (mark.Value, []expr.SetLeaf, Outcome) {
	b := f.w.p.Body(d)
	if b == nil {
		return mark.Plain(cty.DynamicVal), nil, Broken // its schema is missing, which Bind reported
	}
	s := f.scope(face, bag).of(d, k)
	defer s.release()
	v := b.Eval(&s.Env, s.Ctx)
	if o := s.outcome(); o != OK {
		return mark.Plain(cty.DynamicVal), nil, o
	}
	if d.Kind == program.Resource && d.Res.Mode != addr.Ephemeral {
		v = f.w.names.Forget(v, b.Schema.Type())
	}
	return s.split(v), s.SetLeaves, OK
}
