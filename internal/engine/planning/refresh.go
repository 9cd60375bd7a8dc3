package planning

import (
	"context"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
	"github.com/zclconf/go-cty/cty"
)

// addRefresh makes the node that looks at a resource's real objects, before decide, through some
// provider configurations. What their settings refer to is decided by then.
func (p *planner) addRefresh(res addr.Resource, decide walk.Node, through ...program.Decl) {
	objects := p.stored(res)
	if len(objects) == 0 {
		return
	}
	n := p.node(res.String(), func(_ context.Context, f *walk.Fan) bool {
		f.Jobs(len(objects), func(ctx context.Context, i int) bool {
			return (&storedObject{p, objects[i], p.prior.Get(objects[i])}).look(ctx)
		})
		return true
	})
	p.graph.Waits(decide, n)
	for _, c := range through {
		p.users[c] = append(p.users[c], n)
		p.graph.Waits(n, p.decide[c])
	}
}

// storedObject is an object of the state that a plan walk looks at.
type storedObject struct {
	p     *planner
	o     addr.Object
	entry *state.Entry // as it was stored, where it has moved
}

// look looks at one stored object and fills its before slot.
func (x *storedObject) look(ctx context.Context) bool {
	t, u, s, ok := x.tools(ctx)
	if !ok {
		x.fail()
		return false
	}
	cur := object.Current{Entry: x.entry}
	if moved := x.p.moved.Retyped[x.o]; moved != (addr.Instance{}) {
		if cur.Entry, cur.Known, ok = t.Move(ctx, x.entry, moved); ok {
			cur.Entry.Provider = u.Instance
		}
	} else {
		cur.Entry, cur.Known, ok = t.Upgrade(ctx, x.entry)
	}
	if !ok {
		x.fail()
		return false
	}
	last := cur
	read := x.p.req.Refresh && s != nil
	if read {
		cur.Entry, cur.Known, ok = t.Read(ctx, cur.Entry, cur.Known)
	} else {
		cur.Entry, cur.Known, ok = t.Renewed(cur.Entry, cur.Known)
	}
	if !ok {
		x.fail()
		return false
	}
	if read {
		x.drifted(t, last, cur)
		if cur.Entry != nil {
			last = cur
		}
	}
	x.keep(cur, last, t)
	return true
}

// tools is what it takes to look at a stored object, and the provider configuration that it is looked at through. A session
// that nothing can be read through because its settings are not known leaves the object as it was stored (s is nil), with one
// warning.
func (x *storedObject) tools(ctx context.Context) (*object.Tools, declared.Use, *run.Session, bool) {
	u, ok := x.p.run.StoredUse(ctx, x.o.Instance, x.entry.Provider)
	if !ok {
		return nil, u, nil, false
	}
	s, ok := x.session(ctx, u)
	if !ok {
		return nil, u, nil, false
	}
	typ := x.p.run.TypeOf(ctx, u.Instance.Provider, x.o.Resource(), x.o.Instance)
	if typ == nil {
		return nil, u, nil, false
	}
	t := x.p.run.Tools(x.o, s, typ)
	if s.Unknown {
		x.warnUnread(s, u)
		return t, u, nil, true
	}
	return t, u, s, true
}

// session gives the session to look at objects through. What its settings refer to was decided:
// if they are known, objects are looked for where they are going to be worked on; else where they were
// made.
func (x *storedObject) session(ctx context.Context, u declared.Use) (*run.Session, bool) {
	if x.p.req.Mode == plan.Destroy {
		return x.p.run.Sessions.Get(ctx, x.p.run.Bag, u, frame.Before)
	}
	if after, ok := x.p.run.Sessions.GetIf(ctx, x.p.run.Bag, u, frame.After, true); !ok || !after.Unknown {
		return after, ok
	}
	if before, ok := x.p.run.Sessions.GetIf(ctx, x.p.run.Bag, u, frame.Before, true); ok && !before.Unknown {
		return before, true
	}
	return x.p.run.Sessions.Get(ctx, x.p.run.Bag, u, frame.After)
}

// lookBefore looks for what is to be ended through its provider as it was, if it was found through the provider as it will
// be, which is configured otherwise. It may not be there where what the provider is configured from changed outside, and this
// plan puts that back: then everything is ended through the provider as it will be.
func (p *planner) lookBefore(ctx context.Context, o addr.Object, typ *object.Type, u declared.Use, cur object.Current) {
	if p.req.Mode == plan.Destroy || !p.req.Refresh || !u.Declared || len(p.run.Receivers.Ephemerals(u.Decl)) > 0 {
		return
	}
	after, ok := p.run.Sessions.GetIf(ctx, p.run.Bag, u, frame.After, true)
	if !ok || after.Unknown {
		return
	}
	before, ok := p.run.Sessions.Settle(ctx, p.run.Bag, u, frame.Before)
	if !ok || before == after || before.Unknown || before.Astray.Load() || before.Same(after) {
		return
	}
	if s, ok := p.run.Sessions.Get(ctx, &diag.Bag{}, u, frame.Before); ok {
		t := p.run.Tools(o, s, typ)
		t.Bag = &diag.Bag{}
		if there, _, ok := t.Read(ctx, cur.Entry, cur.Known); ok && there != nil {
			return
		}
	}
	before.Astray.Store(true)
}

// warnUnread says once for a session that nothing is read through it.
func (x *storedObject) warnUnread(s *run.Session, u declared.Use) {
	if !s.FirstWarning() {
		return
	}
	x.p.run.Bag.Add(diag.Warningf("Objects not refreshed", "The settings of %s depend on values that are not known yet%s, and how it was configured before is not known either. Its existing objects were not refreshed: the plan is based on what the state says of them.", u.Instance, x.throughLeases(u)))
}

// throughLeases names the leases that are not open and that a provider is configured with.
func (x *storedObject) throughLeases(u declared.Use) string {
	if !u.Declared {
		return ""
	}
	var names []string
	for _, e := range x.p.run.Receivers.Ephemerals(u.Decl) {
		if len(x.p.run.Leases.OpenOf(e)) == 0 {
			names = append(names, x.p.run.Program.Decls()[e].Resource.String())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (of " + strings.Join(names, ", ") + ", to be opened at apply)"
}

// keep keeps what was found, and on the before face what the object is, or was last.
func (x *storedObject) keep(cur, last object.Current, t *object.Tools) {
	x.p.mu.Lock()
	x.p.found[x.o] = cur
	if cur.Entry != x.entry {
		x.p.edit.Put(x.o, cur.Entry)
	}
	x.p.mu.Unlock()
	if d, ok := x.p.run.Program.Resource(x.o.Resource()); ok && !x.o.IsDeposed() {
		if f := x.p.run.Frame.At(x.o.Module, frame.Before); f != nil {
			f.PutLazy(d.ID, x.o.Key, frame.Before, lazy(t, last)) // decoded only if it is looked at
		}
	}
}

// drifted remembers what changed outside, for the plan; where nothing will be decided, also what only moved. What is deposed is
// to be destroyed in any case: it is told of only where that is all that there is to tell.
func (x *storedObject) drifted(t *object.Tools, was, is object.Current) {
	from := x.p.moved.Origin(x.o)
	moved := from != x.o && x.p.req.Mode == plan.RefreshOnly
	if was.Entry == is.Entry && !moved || x.o.IsDeposed() && x.p.req.Mode != plan.RefreshOnly {
		return
	}
	before, ok := t.Value(was.Entry, was.Known)
	if !ok {
		return
	}
	c := &plan.Change{Object: x.o, Was: from, Action: plan.Delete, Before: before, After: mark.Plain(t.Type.Null()), Entry: was.Entry, Provider: was.Entry.Provider}
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
	x.p.mu.Lock()
	defer x.p.mu.Unlock()
	x.p.drift = append(x.p.drift, c)
}

// fail marks an instance's value as failed: what receives it is skipped in silence.
func (x *storedObject) fail() {
	d, ok := x.p.run.Program.Resource(x.o.Resource())
	if !ok {
		return
	}
	x.p.outcomes.fail(d.ID)
	if f := x.p.run.Frame.At(x.o.Module, frame.Before); f != nil {
		f.Fail(d.ID, x.o.Key, frame.Before)
	}
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
