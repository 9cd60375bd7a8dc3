package applying

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/ordering"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/walk"
)

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
	defer r.Sessions.Close(ctx, bag)
	defer r.End()
	a := &applier{
		run: r, req: &req, plan: req.Plan, hosts: run.HostsFor(env.Settings, req.Program.Tree(), req.Plan.Refreshed), edit: req.Plan.Refreshed.Edit(),
		changes: filling.ChangesByObject(req.Plan), deposed: map[addr.Object]addr.Object{}, made: map[addr.Object]made{}, going: map[addr.Object]time.Time{}, taken: map[addr.Object]bool{},
	}
	a.amend()
	a.expectChecks()
	filling.Applied(a.run.Program, a.run.Frame, a.plan)
	ok = a.walk(ctx)
	a.unfinished()
	if !ok && a.plan.Mode == plan.Destroy {
		a.keepData()
	}
	a.outputs(ok)
	if ok && a.plan.Mode == plan.Normal && !a.plan.Partial() && a.anySteps() {
		a.run.CheckValues()
	}
	a.run.Account(a.failures...)
	a.edit.Head().Checks = a.run.Checks.Results(a.planned())
	ok = ok && !bag.HasErrors()
	return &Result{Snapshot: a.edit.Done(), Frame: r.Frame, Summary: a.summary(ok), Cut: r.Cut.Load()}, ok
}

func (a *applier) summary(ok bool) event.Summary {
	s := event.Summary{
		Failed: !ok, NotBegun: a.notBegun,
		Operation: "apply", Added: int(a.added.Load()), Changed: int(a.changed.Load()),
		Destroyed: int(a.destroyed.Load()), Imported: int(a.imported.Load()), Forgotten: int(a.forgotten.Load()),
	}
	if a.plan.Mode == plan.Destroy {
		s.Operation = "destroy"
	}
	return s
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

// keepData puts back the data, all of which a plan of a destroy drops, that what could not be destroyed was made from:
// its provider may be configured with them, and they may not be there to be read when the user tries again.
func (a *applier) keepData() {
	needed := map[addr.Resource]bool{}
	for _, e := range a.edit.Head().Objects() {
		for _, on := range e.Recorded {
			needed[on] = true
		}
	}
	for o, e := range a.plan.Previous.Objects() {
		if o.Mode == addr.Data && needed[o.Resource()] && a.edit.Get(o) == nil {
			a.edit.Put(o, e)
		}
	}
}

// recordMoves records where objects have moved to, before anything else. What is recorded later is about their new
// places: without this, a run that is lost would leave an object that it changed at both, and the next one would take
// one of them for an object that nothing declares.
func (a *applier) recordMoves() {
	var changed []journal.Change
	seen := map[addr.Object]bool{}
	for _, c := range a.plan.Changes {
		if c.Was == c.Object {
			continue
		}
		for _, o := range []addr.Object{c.Was, c.Object} {
			if !seen[o] {
				seen[o] = true
				changed = append(changed, journal.Change{Object: o, Entry: a.edit.Get(o)})
			}
		}
	}
	if len(changed) > 0 {
		(&step{a: a, run: a.run, records: &stepRecords{}}).write(0, changed...)
	}
}

// walk runs the steps of the plan and reports whether all of them succeeded.
func (a *applier) walk(ctx context.Context) bool {
	if !a.anySteps() {
		return true
	}
	a.recordMoves()
	o := ordering.New(a.run.Source(a.plan))
	steps := plan.Order(&o.Input)
	a.warnCyclic(o, steps)
	g := steps.Graph()
	a.run.Frame.Begin()
	defer a.run.Frame.End()
	result := a.run.WalkGraph(ctx, g, walk.RunOptions{
		Workers: a.run.Settings.Tokens(), // a provisioner is a step that takes no token
		Visit: func(ctx context.Context, n walk.Node, f *walk.Fan) bool {
			x, s := &step{a: a, run: a.run, records: &stepRecords{}}, steps.List[n]
			if a.needsDurable(o, s) {
				a.settle()
			}
			return x.records.whole(func() bool { return x.do(ctx, o, s) })
		},
		Skipped: func(n walk.Node) { a.skip(o, steps.List[n]) },
	})
	a.settle()
	ended := func(i int) walk.Outcome { return result.Of(walk.Node(i)) }
	whole := !a.run.Cut.Load() && !a.failing()
	for i, s := range steps.List {
		if ended(i) == walk.Failed {
			a.failures = append(a.failures, o.Name(s))
		}
		whole = whole && (s.Kind == plan.Gate || s.Kind == plan.HoldUp || s.Kind == plan.HoldDown || ended(i) == walk.Succeeded)
	}
	if !whole {
		a.notBegun = notBegun(o, steps, ended)
	}
	return whole
}

// needsDurable reports whether what a step depends on has to be durable before it begins. So it is where it begins with a
// call that no record of the journal announces: a provisioner, a provider's settings, a data source; and where it ends a
// provider: should the engine be lost, the keeper makes records with the schema that it asks the provider for. Other steps
// begin at once: their intents are durable after the results that were given before, and mostly by the same write.
func (a *applier) needsDurable(o *ordering.Ordering, s plan.Step) bool {
	switch s.Kind {
	case plan.Provision, plan.DestroyProvision, plan.HoldUp:
		return true
	case plan.HoldDown:
		return o.Holds[s.Index].Lease == nil
	case plan.Up:
		c := a.changes[o.Objects[s.Index]]
		return c != nil && c.Action == plan.Read
	}
	return false
}

// settle waits until all that was given to the journal is durable, or cannot be.
func (a *applier) settle() {
	if j, ok := a.req.Journal.(interface{ Urge() }); ok {
		j.Urge()
	}
	a.records.settle()
}

// notBegun are the objects of which no step was begun.
func notBegun(o *ordering.Ordering, steps *plan.Steps, ended func(i int) walk.Outcome) []addr.Object {
	begun := map[addr.Object]bool{{}: true} // the empty one stands for conditions of variables
	for i, s := range steps.List {
		if s.Kind == plan.Up || s.Kind == plan.Down || s.Kind == plan.DestroyProvision {
			begun[o.Objects[s.Index]] = begun[o.Objects[s.Index]] || ended(i) != walk.Skipped
		}
	}
	maps.DeleteFunc(begun, func(_ addr.Object, is bool) bool { return is })
	return slices.SortedFunc(maps.Keys(begun), addr.Object.Compare)
}

// do does what the step stands for.
func (x *step) do(ctx context.Context, o *ordering.Ordering, s plan.Step) bool {
	face := frame.Before
	if s.Face == plan.After {
		face = frame.After
	}
	switch s.Kind {
	case plan.Up:
		if t, ok := o.Tests[s.Index]; ok {
			f := x.run.Frame.At(t.At, frame.After)
			return f == nil || x.run.Test(ctx, x.run.Program.Decls()[t.Decl], f)
		}
		return x.up(ctx, x.a.changes[o.Objects[s.Index]])
	case plan.Down:
		return x.down(ctx, x.a.changes[o.Objects[s.Index]], face)
	case plan.Provision:
		return x.provision(ctx, x.a.changes[o.Objects[s.Index]], int(s.Part))
	case plan.DestroyProvision:
		return x.destroyProvision(ctx, x.a.changes[o.Objects[s.Index]], int(s.Part))
	case plan.HoldUp:
		return x.holdUp(ctx, o.Holds[s.Index], face)
	case plan.HoldDown:
		x.holdDown(o.Holds[s.Index], face)
	}
	return true
}

// holdUp begins a session, or opens leases. A lease that cannot be opened fails what receives
// its value, by the slot.
func (x *step) holdUp(ctx context.Context, h ordering.Hold, face frame.Face) bool {
	if h.InChecks { // each check that uses it gets the diagnostics, as warnings
		(&step{x.a, x.run.With(&diag.Bag{}), x.records}).begin(ctx, h, face)
		return true
	}
	return x.begin(ctx, h, face)
}

func (x *step) begin(ctx context.Context, h ordering.Hold, face frame.Face) bool {
	if h.Lease == nil {
		_, ok := x.run.Sessions.Get(ctx, x.run.Bag, h.Use, face)
		return ok
	}
	if f := x.run.Frame.At(h.At, face); f != nil {
		x.run.Leases.ReceiveFrom(ctx, x.run.Bag, h.Lease, f, x.run.Receivers.Face(h.Lease.ID, face), h.Keys())
	}
	return true
}

func (x *step) holdDown(h ordering.Hold, face frame.Face) {
	if h.Lease == nil {
		x.run.Sessions.Release(h.Use, face)
		return
	}
	if h.One {
		x.run.Leases.CloseInstance(h.Lease, h.Lease.Resource.In(h.At).Instance(h.Key), face)
		return
	}
	x.run.Leases.Close(h.Lease, &h.At, face)
}

// skip empties what a step that did not run would have given to others.
func (a *applier) skip(o *ordering.Ordering, s plan.Step) {
	if s.Kind != plan.Up {
		return
	}
	obj := o.Objects[s.Index]
	if d, ok := a.run.Program.Resource(obj.Resource()); ok && obj != (addr.Object{}) {
		a.failed(d, obj.Instance)
	}
}

// warnCyclic says where the state's memory of dependencies goes in a circle. It is one warning for all of them, so that
// each is named: of several alike users see the first.
func (a *applier) warnCyclic(o *ordering.Ordering, steps *plan.Steps) {
	var circles []string
	for _, set := range steps.Cyclic {
		var names []addr.AbsResource
		for _, v := range set {
			if int(v) < len(o.Input.Groups) {
				names = append(names, o.Groups[v])
			}
		}
		circles = append(circles, fmt.Sprint(names))
	}
	if circles != nil {
		a.run.Bag.Add(diag.Warningf("Circular dependencies in state", "The state says that these resources depend on each other in a circle: %s. A moved block does that if it takes an object to a resource that the object depends on; so can an edit of the state. They are destroyed in no particular order among themselves.", strings.Join(circles, ", ")))
	}
}
