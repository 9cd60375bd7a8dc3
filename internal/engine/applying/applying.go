package applying

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
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
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// Request says what to carry out.
type Request struct {
	Program *program.Program
	Options frame.Options
	Plan    *plan.Plan
	Journal journal.Journal // nil keeps nothing
}

// Result is what came of it. Snapshot is to be stored however the apply ended.
type Result struct {
	Snapshot *state.Snapshot
	Summary  event.Summary
	Cut      bool // an interrupt kept something from being done
}

// applier is the apply walk, over the steps of a plan.
type applier struct {
	run   *run.Run
	req   *Request
	plan  *plan.Plan
	hosts run.Hosts

	mu     sync.Mutex
	edit   *state.Edit
	broken error                // the journal failed: nothing new is started
	made   map[addr.Object]made // created, with provisioners to come
	taken  map[addr.Object]bool // imported

	changes                                        map[addr.Object]*plan.Change
	deposed                                        map[addr.Object]addr.Object // current object → where its predecessor waits
	added, changed, destroyed, imported, forgotten atomic.Int32
}

// Apply carries a plan out.
func Apply(ctx context.Context, env run.Env, req Request, bag *diag.Bag) (*Result, bool) {
	req.Options.Pure, req.Options.PlanTime = false, req.Plan.Timestamp
	if req.Journal == nil {
		req.Journal = journal.None{}
	}
	r, ok := run.New(ctx, env, run.Request{
		Program: req.Program, Options: req.Options, Results: req.Plan.Functions, Destroy: req.Plan.Mode == plan.Destroy,
	}, bag)
	if !ok {
		return &Result{Snapshot: req.Plan.Previous}, false
	}
	defer r.Sessions.Close()
	defer r.End()
	a := &applier{
		run: r, req: &req, plan: req.Plan, hosts: run.HostsFor(env.Settings, req.Program.Tree(), req.Plan.Refreshed), edit: req.Plan.Refreshed.Edit(),
		changes: filling.ChangesByObject(req.Plan), deposed: map[addr.Object]addr.Object{}, made: map[addr.Object]made{}, taken: map[addr.Object]bool{},
	}
	a.amend()
	a.expectChecks()
	filling.Applied(a.run.Program, a.run.Frame, a.plan)
	ok = a.walk(ctx)
	a.unmade()
	a.outputs(ok)
	if ok && a.plan.Mode == plan.Normal && len(a.plan.Targets)+len(a.plan.Excludes) == 0 && a.anySteps() {
		a.run.CheckValues()
	}
	a.edit.Head().Checks = a.run.Checks.Results(a.plan.Checks)
	return &Result{Snapshot: a.edit.Done(), Summary: a.summary(), Cut: r.Cut.Load()}, ok && !bag.HasErrors()
}

func (a *applier) summary() event.Summary {
	s := event.Summary{
		Operation: "apply", Added: int(a.added.Load()), Changed: int(a.changed.Load()),
		Destroyed: int(a.destroyed.Load()), Imported: int(a.imported.Load()), Forgotten: int(a.forgotten.Load()),
	}
	if a.plan.Mode == plan.Destroy {
		s.Operation = "destroy"
	}
	return s
}

// write records what became of objects, as one transaction: in the working snapshot and in the
// journal, where it is durable before the step is over. op is the call that did it, 0 for none.
//
// No caller has to wait for it here. Records become durable in the order that they are given in, so a
// later intent of the step is durable only after it.
func (x *step) write(op journal.Op, changed ...journal.Change) bool {
	for i, c := range changed {
		changed[i].Entry = x.a.hosts.Hosted(c.Object, c.Entry)
	}
	x.a.mu.Lock()
	for _, c := range changed {
		x.a.edit.Put(c.Object, c.Entry)
	}
	well := x.a.broken == nil
	x.a.mu.Unlock()
	x.a.req.Journal.Later(x.records.record(func(err error) {
		if err != nil {
			x.a.lost(err)
		}
		for _, c := range changed {
			x.a.over(c.Object)
		}
	}), op, changed...)
	return well
}

// lost stops the run: what cannot be recorded must not be done.
func (a *applier) lost(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return
	}
	a.broken = err
	a.run.Bag.Add(diag.Errorf("Failed to record progress", "The journal beside the state could not be written: %s.\n\nNothing new is started. What is running finishes, and everything that was done is kept in memory and written with the state at the end.", err))
}

// intend announces a provider call that changes something.
func (a *applier) intend(o addr.Object, action plan.Action, p addr.ProviderInstance) (journal.Op, bool) {
	a.mu.Lock()
	broken := a.broken
	a.mu.Unlock()
	if broken != nil {
		return 0, false
	}
	op, err := a.req.Journal.Intent(journal.Intent{Object: o, Action: action.String(), Provider: p})
	if err != nil {
		a.lost(err)
		return 0, false
	}
	a.run.InFlight.Set(o, true)
	return op, true
}

// over says that the outcome of a call is known.
func (a *applier) over(o addr.Object) { a.run.InFlight.Set(o, false) }

func (a *applier) entry(o addr.Object) *state.Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.edit.Get(o)
}

// failed empties what an instance would have given to others.
func (a *applier) failed(d *program.Declaration, i addr.Instance) {
	if f := a.run.Frame.At(i.Module, frame.After); f != nil {
		f.Fail(d.ID, i.Key, frame.After)
	}
}

// up brings one object to where the plan wants it.
func (x *step) up(ctx context.Context, c *plan.Change) bool {
	d, ok := x.run.Program.Resource(c.Object.Resource())
	if !ok {
		return false
	}
	if d.Res.Check != "" {
		x.run.Unread(d, c.Object.Module, x.run.Scoped(func(r *run.Run) { (&step{x.a, r, x.records}).upDeclared(ctx, c, d) }))
		return true // a check keeps nothing from being done
	}
	return x.upDeclared(ctx, c, d)
}

func (x *step) upDeclared(ctx context.Context, c *plan.Change, d *program.Declaration) bool {
	inst := c.Object.Instance
	f := x.run.Frame.At(inst.Module, frame.After)
	if !x.takeIn(c) {
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
		return x.visit(d, f, c, inst)
	}
	x.run.Receive(ctx, d.ID, inst.Module, inst.Key)
	if !x.run.Pre(d, f, inst.Key, inst) {
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

// takeIn records an imported object as planning found it, in the first step of its change: it is ours
// from then on, however the change ends that goes with the import.
func (x *step) takeIn(c *plan.Change) bool {
	if c.Importing == nil || c.Entry == nil {
		return true
	}
	x.a.mu.Lock()
	done := x.a.taken[c.Object]
	x.a.taken[c.Object] = true
	x.a.mu.Unlock()
	if done {
		return true
	}
	if !x.write(0, journal.Change{Object: c.Object, Entry: run.Amended(c, c.Entry)}) {
		return false
	}
	x.a.imported.Add(1)
	x.run.Settings.Tell(event.Imported{Object: c.Object, ID: c.Importing.ID})
	return true
}

// amend records what is new about objects that stay as they are, without a step: what they depend
// on, through which provider they work, how they will end. None of it is lost with a journal that
// does not have it, as the next apply finds it again.
func (a *applier) amend() {
	for _, c := range a.plan.Changes {
		if e := a.edit.Get(c.Object); e != nil && c.Action == plan.NoOp {
			if next := a.hosts.Hosted(c.Object, run.Amended(c, e)); next.Provider != e.Provider ||
				next.CreateFirst != e.CreateFirst || next.SkipDestroy != e.SkipDestroy || !slices.Equal(next.Recorded, e.Recorded) {
				a.edit.Put(c.Object, next)
			}
		}
	}
}

// visit gives the value of an object that its provider has nothing to do with.
func (x *step) visit(d *program.Declaration, f *frame.Frame, c *plan.Change, inst addr.Instance) (mark.Value, bool) {
	e := x.a.entry(c.Object)
	if e == nil || !x.run.Pre(d, f, inst.Key, inst) {
		return mark.Value{}, false
	}
	return filling.StoredValue(x.run.Program, d, e), true
}

func (x *step) read(ctx context.Context, t *object.Tools, u declared.Use, c *plan.Change, config mark.Value) (mark.Value, bool) {
	v, entry, ok := t.ReadData(ctx, config, object.Stored{Provider: u.Instance, Recorded: c.Recorded, Was: c.Entry}, false)
	if !ok {
		return v, false
	}
	return v, x.write(0, journal.Change{Object: c.Object, Entry: entry})
}

// make creates or updates a managed object.
func (x *step) make(ctx context.Context, d *program.Declaration, t *object.Tools, u declared.Use, c *plan.Change, config mark.Value) (mark.Value, bool) {
	cur, ok := x.current(t, c)
	if !ok {
		return mark.Value{}, false
	}
	p, ok := x.proposal(ctx, d, t, c, cur, config)
	if !ok {
		return mark.Value{}, false
	}
	if c.Action == plan.Update && t.Nothing(p) {
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
	op, ok := x.a.intend(c.Object, c.Action, u.Instance)
	if !ok {
		return mark.Value{}, false
	}
	stored := object.Stored{Provider: u.Instance, Recorded: c.Recorded, CreateFirst: c.CreateFirst, SkipDestroy: c.SkipDestroy}
	provisioned := len(declared.ProvisionersOf(x.run.Program, x.run.Removals, c, nil, false).List) > 0
	if provisioned {
		stored.Later = func(done event.Done) { x.a.postpone(done) }
	}
	v, entry, ok := t.Up(ctx, p, cur.Entry, stored)
	if ok && provisioned {
		entry.Tainted = true // until its provisioners are over
	}
	results := []journal.Change{{Object: c.Object, Entry: entry}}
	if entry == nil && old != (addr.Object{}) {
		results = x.a.restore(c.Object, old) // the create came to nothing: the old object is current again
	}
	if t.Unanswered {
		op = 0 // that it came to something stays possible
	}
	if !x.write(op, results...) {
		return v, false
	}
	if ok {
		x.a.count(c)
	}
	return v, ok
}

func (a *applier) count(c *plan.Change) {
	if c.Action == plan.Update {
		a.changed.Add(1)
	} else {
		a.added.Add(1)
	}
}

// current is the object that a change starts from: nothing for what is created, also as the second
// half of a replacement.
func (x *step) current(t *object.Tools, c *plan.Change) (object.Current, bool) {
	if c.Action != plan.Update {
		return object.Current{}, true
	}
	return x.known(t, c.Object)
}

// known is a stored object in its wire form.
func (x *step) known(t *object.Tools, o addr.Object) (object.Current, bool) {
	e := x.a.entry(o)
	if e == nil {
		return object.Current{}, false
	}
	k, ok := t.Stored(e)
	return object.Current{Entry: e, Known: k}, ok
}

// proposal is what the provider is asked to make. Where nothing can have changed since the plan,
// the plan stands; elsewhere the provider plans again with what is known now, and has to stay
// within what was approved.
func (x *step) proposal(ctx context.Context, d *program.Declaration, t *object.Tools, c *plan.Change, cur object.Current, config mark.Value) (*object.Proposal, bool) {
	forced := object.Forced{IgnoreAll: d.Res.Lifecycle.IgnoreAll, Ignore: run.Ignored(d)}
	if c.Settled && !x.run.Settings.Closed.Has(shortcut.Settled) {
		return t.Approved(c, cur, config, forced)
	}
	if !t.Validate(ctx, config) {
		return nil, false
	}
	p, ok := t.Propose(ctx, config, cur, forced)
	return p, ok && t.Within(c, p)
}

// depose makes room for the new object of a create-first replacement.
func (x *step) depose(c *plan.Change) (addr.Object, bool) {
	if c.Action != plan.CreateDelete {
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
	return old, x.write(0, journal.Change{Object: old, Entry: &deposed}, journal.Change{Object: c.Object})
}

func (a *applier) restore(o, old addr.Object) []journal.Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.deposed, o)
	return []journal.Change{{Object: o, Entry: a.edit.Get(old)}, {Object: old}}
}

// downed is the object that a change ends: the current one, a deposed one, or the predecessor that
// a create-first replacement deposed, if it has.
func (a *applier) downed(c *plan.Change) addr.Object {
	if c.Action != plan.CreateDelete {
		return c.Object
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.deposed[c.Object]
}

// down ends one object.
func (x *step) down(ctx context.Context, c *plan.Change, face frame.Face) bool {
	if !x.takeIn(c) {
		return false
	}
	o := x.a.downed(c)
	e := x.a.entry(o)
	if e == nil {
		return true // the create failed, and the old object lives on
	}
	if c.Action == plan.Forget || c.Action == plan.ForgetCreate {
		x.a.forgotten.Add(1)
		x.run.Settings.Tell(event.Done{Object: o, Op: event.Forget})
		return x.write(0, journal.Change{Object: o})
	}
	t, u, ok := x.toolsDown(ctx, o, e, face)
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
	private := e.Private
	if c.Action == plan.Delete {
		private = c.Private
	}
	left, ok := t.Down(ctx, cur, private)
	if ok {
		x.a.destroyed.Add(1)
	}
	if t.Unanswered {
		op = 0
	}
	return x.write(op, journal.Change{Object: o, Entry: left}) && ok
}

// toolsDown is what it takes to end a stored object: its provider on the face that the order of steps
// found for it.
func (x *step) toolsDown(ctx context.Context, o addr.Object, e *state.Entry, face frame.Face) (*object.Tools, declared.Use, bool) {
	u, ok := x.run.StoredUse(ctx, o.Instance, e)
	if !ok {
		return nil, u, false
	}
	s, ok := x.run.Sessions.Get(ctx, x.run.Bag, u, face)
	typ := x.run.TypeOf(ctx, u.Instance.Provider, o.Resource(), o.Instance)
	if !ok || typ == nil {
		return nil, u, false
	}
	return x.run.Tools(o, s, typ), u, true
}
