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
	v, outcome := f.body(ld, k, face, bag)
	if outcome == OK && ld.res.Mode != addr.Ephemeral && !f.acceptEphemeral(ld, k, face, v, bag) {
		outcome = Broken
	}
	return v, outcome
}

// Settings evaluates the body of a provider configuration.
func (f *Frame) Settings(d Decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	if f.w.p.at[d] == nil { // implied
		return mark.Plain(f.w.p.Schema(d).Empty()), OK
	}
	return f.body(f.local(d), k, face, bag)
}

func (f *Frame) body(d *decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, Outcome) {
	b := f.w.p.checked.bodies[d]
	if b == nil {
		return mark.Plain(cty.DynamicVal), Broken // its schema is missing, which Check reported
	}
	s := f.scope(face, bag).of(d, k)
	defer s.release()
	v := b.eval(s, s.ctx)
	if o := s.outcome(); o != OK {
		return mark.Plain(cty.DynamicVal), o
	}
	return s.split(v), OK
}

// Meta evaluates the provider_meta block that the module of d has for its provider; a null value
// of no type if there is none.
func (f *Frame) Meta(d Decl, bag *diag.Bag) (cty.Value, Outcome) {
	ld := f.local(d)
	b := f.w.p.checked.metas[metaKey{f.u, ld.res.LocalProvider().Local}]
	if b == nil {
		return cty.NilVal, OK
	}
	s := f.scope(After, bag)
	defer s.release()
	v := b.eval(s, s.ctx)
	return s.split(v).Raw, s.outcome()
}

type metaKey struct {
	u     *unit
	local string
}
