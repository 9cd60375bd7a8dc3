package applying

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// up does the work of a change without its destruction: it creates, updates or reads one object, or checks the
// conditions of an unchanged object. It returns false after an error. A failure of a data source in a check block
// counts as success.
func (x *step) up(ctx context.Context, c *plan.Change) bool {
	d, ok := x.run.Program.Resource(c.Object.Resource())
	if !ok {
		return false
	}
	if d.Res.Check != "" {
		ok := false
		x.run.Conditions.Unevaluated(d, c.Object.Module, x.run.ScopedData(d, func(r *run.Run) { ok = (&step{x.a, r, x.records}).upDeclared(ctx, c, d) }))
		return ok || x.run.Bag.HasAsides() // a failing data source in a check block prevents no other step, provided that a warning has the reason
	}
	return x.upDeclared(ctx, c, d)
}

func (x *step) upDeclared(ctx context.Context, c *plan.Change, d *program.Declaration) bool {
	inst := c.Object.Instance
	f := x.run.Frame.At(inst.Module, frame.After)
	if !x.importObject(c) {
		x.a.failed(d, inst)
		return false
	}
	v, ok := x.bring(ctx, d, f, c, inst)
	if !ok {
		x.a.failed(d, inst)
		return false
	}
	f.Put(d.ID, inst.Key, frame.After, v)
	return len(declared.ProvisionersOf(x.run.Program, x.run.Removals, c, nil, false).List) > 0 || x.after(d, f, inst, v)
}

func (x *step) bring(ctx context.Context, d *program.Declaration, f *frame.Frame, c *plan.Change, inst addr.Instance) (mark.Value, bool) {
	if c.Action == plan.NoOp {
		return x.unchanged(d, f, c, inst)
	}
	x.run.Receive(ctx, d.ID, inst.Module, inst.Key)
	if !x.run.Conditions.Pre(x.run.Bag, d, f, inst.Key, inst) {
		return mark.Value{}, false
	}
	config, out := f.Config(d.ID, inst.Key, frame.After, x.run.Bag)
	if out != frame.OK {
		return mark.Value{}, false
	}
	t, u, ok := x.run.ToolsAfter(ctx, d, f, inst.Key, inst)
	if !ok {
		return mark.Value{}, false
	}
	if c.Action == plan.Read {
		return x.read(ctx, t, u, c, config)
	}
	return x.make(ctx, d, t, u, c, config)
}

// unchanged checks the preconditions of an object that the plan does not change, and returns its stored value. It
// returns false if a precondition fails, or if the state lacks the object.
func (x *step) unchanged(d *program.Declaration, f *frame.Frame, c *plan.Change, inst addr.Instance) (mark.Value, bool) {
	e := x.a.entry(c.Object)
	if e == nil || !x.run.Conditions.Pre(x.run.Bag, d, f, inst.Key, inst) {
		return mark.Value{}, false
	}
	return filling.StoredValue(x.run.Program, d, e), true
}

func (x *step) read(ctx context.Context, t *object.Tools, u declared.Use, c *plan.Change, config mark.Value) (mark.Value, bool) {
	v, entry, out := t.ReadData(ctx, config, object.Stored{Provider: u.Instance, Recorded: c.Recorded, Was: c.Entry}, false)
	if out.Kind != plan.Known {
		return v, false
	}
	if x.run.Settings.Forgets(x.run.Program, c.Object, entry) {
		if x.a.entry(c.Object) == nil {
			return v, true
		}
		entry = nil
	}
	return v, x.write(0, journal.Change{Object: c.Object, Entry: entry})
}

// make creates or updates a managed object, and records the result in the state and in the journal (the file that
// records changes until the state is written). It returns the new value, and false if the object was not created or
// updated, or if the journal has failed.
func (x *step) make(ctx context.Context, d *program.Declaration, t *object.Tools, u declared.Use, c *plan.Change, config mark.Value) (mark.Value, bool) {
	cur, ok := x.current(t, c)
	if !ok {
		return mark.Value{}, false
	}
	p, ok := x.proposal(ctx, d, t, c, cur, config)
	if !ok {
		return mark.Value{}, false
	}
	if c.Action == plan.Update && c.Why != plan.UpdateEarlierValue && t.Nothing(p) {
		v, entry, news := t.Same(p, run.Amended(c, cur.Entry))
		if news {
			x.a.count(c)
		}
		return v, x.write(0, journal.Change{Object: c.Object, Entry: entry})
	}
	old, ok := x.depose(c)
	if !ok {
		return mark.Value{}, false
	}
	action := plan.Create
	if cur.Entry != nil {
		action = plan.Update
	}
	op, ok := x.a.intend(c.Object, action, u.Instance)
	if !ok {
		return mark.Value{}, false
	}
	stored := object.Stored{Provider: u.Instance, Recorded: c.Recorded, CreateFirst: c.CreateFirst, SkipDestroy: c.SkipDestroy, Protected: c.Protected}
	provisioned := len(declared.ProvisionersOf(x.run.Program, x.run.Removals, c, nil, false).List) > 0
	if provisioned {
		stored.Later = func(done event.Done) { x.a.postpone(done) }
	}
	t.Note = x.noted(op, c.Object, expected(stored, p.Asked, provisioned), cur.Entry, old)
	v, entry, ok := t.Up(ctx, p, cur.Entry, stored)
	if ok && provisioned {
		entry.Tainted = true // the object counts as tainted until its provisioners have run
	}
	results := []journal.Change{{Object: c.Object, Entry: entry}}
	forgets := c.Action == plan.ForgetCreate && old != (addr.Object{}) && entry != nil
	switch {
	case entry == nil && old != (addr.Object{}):
		results = x.a.restore(c.Object, old) // the create failed: the old object is current again
	case forgets:
		results = append(results, journal.Change{Object: old})
	}
	if t.Unanswered {
		op = 0 // the interrupted call may have had an effect, so the record must not mark the call as ended
	}
	if !x.write(op, results...) {
		return v, false
	}
	if forgets {
		x.forgot(c.Object)
	}
	if ok {
		x.a.count(c)
	}
	return v, ok
}

// current returns the stored object that the change c updates. The result is empty if c creates an object, also as a
// part of a replacement. current returns false if the stored object is missing or cannot be encoded.
func (x *step) current(t *object.Tools, c *plan.Change) (object.Current, bool) {
	if c.Action != plan.Update {
		return object.Current{}, true
	}
	return x.known(t, c.Object)
}

// known returns the stored object o with its encoded value. It returns false if the state lacks the object, or if the
// object does not match the schema.
func (x *step) known(t *object.Tools, o addr.Object) (object.Current, bool) {
	e := x.a.entry(o)
	if e == nil {
		return object.Current{}, false
	}
	k, ok := t.Stored(e)
	return object.Current{Entry: e, Known: k}, ok
}

// proposal returns the provider's plan for the object that the apply carries out. If c.Settled is true and the
// configuration is the same as in the plan, this is the plan that the user approved. Otherwise the provider plans again
// with the values that are known now. If its new plan does not agree with the approved plan, proposal reports an error
// and returns false.
func (x *step) proposal(ctx context.Context, d *program.Declaration, t *object.Tools, c *plan.Change, cur object.Current, config mark.Value) (*object.Proposal, bool) {
	forced := object.Forced{IgnoreAll: d.Res.Lifecycle.IgnoreAll, Ignore: run.Ignored(d)}
	if c.Settled && !x.run.Settings.Closed.Has(shortcut.Settled) {
		if p, ok := t.Approved(c, cur, config, forced); p != nil || !ok {
			return p, ok
		}
	}
	if !t.Validate(ctx, config) {
		return nil, false
	}
	cur.Approved = c.Private
	p, out := t.Propose(ctx, config, cur, forced)
	return p, out.Kind == plan.Known && t.Within(c, p)
}

// depose is called before the creation of a new object. If the change destroys or forgets the old object only after
// this creation, depose makes the old object a deposed object in the state, and returns its new address. For other
// changes, and if no old object exists, depose returns the zero Object and true. It returns false if the journal has
// failed. If the run ends before the old object is forgotten, the deposed object has destroy = false, so that the next
// run forgets it.
func (x *step) depose(c *plan.Change) (addr.Object, bool) {
	if c.Action != plan.CreateDelete && c.Action != plan.ForgetCreate {
		return addr.Object{}, true
	}
	e := x.a.entry(c.Object)
	if e == nil {
		return addr.Object{}, true
	}
	x.a.mu.Lock()
	old := addr.Object{Instance: c.Object.Instance, Deposed: x.a.freeKey(c.Object.Instance)}
	x.a.deposed[c.Object] = old
	x.a.mu.Unlock()
	deposed := *e
	deposed.CreateFirst = c.CreateFirst
	deposed.SkipDestroy = e.SkipDestroy || c.Action == plan.ForgetCreate
	return old, x.write(0, journal.Change{Object: old, Entry: &deposed}, journal.Change{Object: c.Object})
}

// forgot counts an object that was removed from the state without destroying it, and sends the event.
func (x *step) forgot(o addr.Object) {
	x.a.forgotten.Add(1)
	x.run.Settings.Send(event.Done{Object: o, Op: event.Forget})
}

// down destroys the old object of the change c, or removes it from the state (forgets it). face selects the prior
// settings (before face) or the planned settings (after face) of its provider. down returns false if the object could
// not be destroyed, or if the journal has failed. It does nothing and returns true if the state has no such object.
func (x *step) down(ctx context.Context, c *plan.Change, face frame.Face) bool {
	o, e, ok := x.destroyedEntry(c)
	if e == nil {
		return ok
	}
	if c.Action == plan.Forget {
		x.forgot(o)
		return x.write(0, journal.Change{Object: o})
	}
	private, stored := e.Private, e.Provider
	switch {
	case c.Action == plan.Delete: // the state in a saved plan has one provider instance for all instances of a resource, but the change has the instance of this object
		private, stored = c.Private, c.Provider
	case c.Action == plan.DeleteCreate && !e.Tainted:
		private = c.Private // the planned private data has the configured timeouts, which a provider SDK stores there
	}
	t, u, ok := x.toolsDown(ctx, o, stored, face)
	if !ok {
		return false
	}
	cur, ok := x.known(t, o)
	if !ok {
		return false
	}
	op, ok := x.a.intend(o, plan.Delete, u.Instance)
	if !ok {
		return false
	}
	t.Note = x.noted(op, o, expected(object.Stored{Provider: u.Instance}, mark.Value{}, false), cur.Entry, addr.Object{})
	t.Began = x.a.destroyedAt(o)
	left, ok := t.Down(ctx, cur, private)
	if ok {
		x.a.destroyed.Add(1)
	}
	if t.Unanswered {
		op = 0
	}
	return x.write(op, journal.Change{Object: o, Entry: left}) && ok
}

// toolsDown returns the tools to destroy the stored object o, and the provider instance that destroys it. The provider
// has its prior settings if face is Before, and its planned settings otherwise. toolsDown returns false if the provider
// cannot be configured or has no such type.
func (x *step) toolsDown(ctx context.Context, o addr.Object, stored addr.ProviderInstance, face frame.Face) (*object.Tools, declared.Use, bool) {
	u, ok := x.run.StoredUse(ctx, o.Instance, stored)
	if !ok {
		return nil, u, false
	}
	s, ok := x.run.Sessions.Get(ctx, x.run.Bag, u, face)
	typ := x.run.Types.Of(ctx, x.run.Bag, u.Instance.Provider, o.Resource(), o.Instance)
	if !ok || typ == nil {
		return nil, u, false
	}
	return x.run.Tools(o, s, typ), u, true
}
