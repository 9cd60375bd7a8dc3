package lang

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
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
	if f.w.p.at[d] == nil { // implied
		return mark.Plain(f.w.p.Schema(d).Empty()), OK
	}
	v, _, outcome := f.body(f.local(d), k, face, bag)
	return v, outcome
}

// body evaluates a body; beside it is said where something ephemeral is in the sets in it.
func (f *Frame) body(d *decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, []setLeaf, Outcome) {
	b := f.w.p.checked.bodies[d]
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

// Meta is what the provider_meta block of a module says to a provider, known after Check; NilVal if
// there is none, or no such module.
func (p *Program) Meta(m addr.Module, prov addr.Provider) cty.Value {
	n := p.nodes[m]
	if n == nil || p.checked == nil {
		return cty.NilVal
	}
	return p.checked.metas[metaKey{n.unit, prov}]
}

type metaKey struct {
	u    *unit
	prov addr.Provider
}

// meta evaluates a provider_meta block: constants, which need no frame.
func (c *checker) meta(n *node, prov addr.Provider, raw *rawBody, sch *schema.Block) {
	b := c.compile(n, nil, raw, sch)
	s := newEnv(c.bag)
	v := b.eval(s, s.Ctx)
	if s.Broken {
		c.ok = false
		return
	}
	c.p.checked.metas[metaKey{n.unit, prov}] = v
}
