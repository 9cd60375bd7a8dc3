package engine

import (
	"context"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// refresh looks at one stored object and fills its before slot.
func (p *planner) refresh(ctx context.Context, o addr.Object) bool {
	entry := p.prior.Get(o)
	t, s, ok := p.toolsBefore(ctx, o, entry)
	if !ok {
		p.fail(o.Instance, lang.Before)
		return false
	}
	cur := object.Current{Entry: entry}
	if moved := p.moved.Retyped[o]; moved != (addr.Instance{}) {
		cur.Entry, cur.Known, ok = t.Move(ctx, entry, moved)
	} else {
		cur.Known, ok = t.Upgrade(ctx, entry)
	}
	if !ok {
		p.fail(o.Instance, lang.Before)
		return false
	}
	if p.req.Refresh && s != nil {
		upgraded := cur
		if cur.Entry, cur.Known, ok = t.Read(ctx, cur.Entry, cur.Known); !ok {
			p.fail(o.Instance, lang.Before)
			return false
		}
		p.drifted(t, o, upgraded, cur)
	}
	p.refreshed(o, cur, entry, t)
	return true
}

// toolsBefore is what it takes to look at a stored object. A session that nothing can be read through
// because its settings are not known leaves the object as it was stored (s is nil), with one warning.
func (p *planner) toolsBefore(ctx context.Context, o addr.Object, entry *state.Entry) (*object.Tools, *session, bool) {
	u, ok := p.run.storedUse(ctx, o.Instance, entry)
	if !ok {
		return nil, nil, false
	}
	s, ok := p.sessionToLook(ctx, u)
	if !ok {
		return nil, nil, false
	}
	typ := p.run.typeOf(ctx, u.Instance.Provider, o.Resource(), o.Instance)
	if typ == nil {
		return nil, nil, false
	}
	t := &object.Tools{Object: o, Provider: s.provider, Type: typ, Walk: p.run.objs, Bag: p.run.bag, Where: p.run.where(o.Instance)}
	if s.unknown {
		p.warnUnread(s, u)
		return t, nil, true
	}
	return t, s, true
}

// sessionToLook gives the session to look at objects through. What its settings refer to was decided:
// if they are known, objects are looked for where they are going to be worked on; else where they were
// made.
func (p *planner) sessionToLook(ctx context.Context, u declared.Use) (*session, bool) {
	if p.req.Mode == plan.Destroy {
		return p.run.sessions.get(ctx, p.run.bag, u, lang.Before)
	}
	if after, ok := p.run.sessions.getIf(ctx, p.run.bag, u, lang.After, true); !ok || !after.unknown {
		return after, ok
	}
	if before, ok := p.run.sessions.getIf(ctx, p.run.bag, u, lang.Before, true); ok && !before.unknown {
		return before, true
	}
	return p.run.sessions.get(ctx, p.run.bag, u, lang.After)
}

// warnUnread says once for a session that nothing is read through it.
func (p *planner) warnUnread(s *session, u declared.Use) {
	s.Lock()
	defer s.Unlock()
	if s.warned {
		return
	}
	s.warned = true
	p.run.bag.Add(diag.Warningf("Objects not refreshed", "The settings of %s depend on values that are not known yet%s, and it cannot be known how it was configured before. Its existing objects were not refreshed: the plan is based on what the state says of them.", u.Instance, p.throughLeases(u)))
}

// throughLeases names the leases that are not open and that a provider is configured with.
func (p *planner) throughLeases(u declared.Use) string {
	if !u.Declared {
		return ""
	}
	var names []string
	for _, e := range p.run.receivers.Ephemerals(u.Decl) {
		if len(p.run.leases.OpenOf(e)) == 0 {
			names = append(names, p.run.prog.Decls()[e].Resource.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (of " + strings.Join(names, ", ") + ", to be opened at apply)"
}

// refreshed keeps what was found.
func (p *planner) refreshed(o addr.Object, cur object.Current, stored *state.Entry, t *object.Tools) {
	p.mu.Lock()
	p.found[o] = cur
	if cur.Entry != stored {
		p.edit.Put(o, cur.Entry)
	}
	p.mu.Unlock()
	if d, ok := p.run.prog.Resource(o.Resource()); ok && !o.IsDeposed() {
		if f := p.run.frame.At(o.Module, lang.Before); f != nil {
			p.fillBefore(f, d, o, cur, t)
		}
	}
}

// fillBefore gives the before face an object, which is decoded only if somebody looks at it.
func (p *planner) fillBefore(f *lang.Frame, d *lang.Declaration, o addr.Object, cur object.Current, t *object.Tools) {
	if cur.Entry == nil {
		f.Fail(d.ID, o.Key, lang.Before)
		return
	}
	f.PutLazy(d.ID, o.Key, lang.Before, lazy(t, cur))
}

// lazy decodes a refreshed object when it is looked at.
func lazy(t *object.Tools, cur object.Current) func() mark.Value {
	return func() mark.Value {
		v, ok := t.Value(cur.Entry, cur.Known)
		if !ok {
			return mark.Plain(cty.UnknownVal(t.Type.Block.Type()))
		}
		return v
	}
}

// drifted remembers what changed outside, for the plan; where nothing will be decided, also what only moved.
func (p *planner) drifted(t *object.Tools, o addr.Object, was, is object.Current) {
	from := p.moved.Origin(o)
	moved := from != o && p.req.Mode == plan.RefreshOnly
	if was.Entry == is.Entry && !moved {
		return
	}
	before, ok := t.Value(was.Entry, was.Known)
	if !ok {
		return
	}
	c := &plan.Change{Object: o, Was: from, Action: plan.Delete, Before: before, After: mark.Plain(t.Type.Null()), Entry: was.Entry, Provider: was.Entry.Provider}
	if is.Entry != nil {
		after, ok := t.Value(is.Entry, is.Known)
		same := ok && after.Raw.RawEquals(before.Raw)
		if !ok || same && !moved {
			return
		}
		if c.Action, c.After = plan.Update, after; same {
			c.Action = plan.NoOp
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drift = append(p.drift, c)
}

// fail marks an instance's value as failed: what receives it is skipped in silence.
func (p *planner) fail(i addr.Instance, face lang.Face) {
	d, ok := p.run.prog.Resource(i.Resource())
	if !ok {
		return
	}
	p.failed[d.ID].Store(true)
	if f := p.run.frame.At(i.Module, face); f != nil {
		f.Fail(d.ID, i.Key, face)
	}
}
