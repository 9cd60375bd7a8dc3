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
	"github.com/lethe-iac/lethe/internal/engine/rounds"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Apply applies the plan in req. It returns false if a step failed or did not run, or if bag has another error. The
// result is never nil. If the apply cannot start, Result.Snapshot is the state before the plan.
func Apply(ctx context.Context, env run.Env, req Request, bag *diag.Bag) (*Result, bool) {
	req.Options.Pure, req.Options.PlanTime = false, req.Plan.Timestamp
	if req.Journal == nil {
		req.Journal = journal.None{}
	}
	again := &rereading{}
	r, ok := run.New(ctx, env, run.Request{
		Program: req.Program, Options: req.Options, Results: req.Plan.Functions, Kind: run.Kind{Mode: req.Plan.Mode}, Before: again.before, Later: len(req.Plan.Deferred) > 0, Keep: rounds.Needed(req.Program, env.Settings.Providers.Echoes, req.Plan),
	}, bag)
	if !ok {
		return &Result{Snapshot: req.Plan.Previous}, false
	}
	defer r.Sessions.Close(ctx, bag)
	defer r.End()
	req.Plan = again.prepare(r, req.Plan)
	a := &applier{
		run: r, again: again, req: &req, plan: req.Plan, hosts: run.HostsFor(env.Settings, req.Program.Tree(), req.Plan.Refreshed), edit: req.Plan.Refreshed.Edit(),
		changes: filling.ChangesByObject(req.Plan), deposed: map[addr.Object]addr.Object{}, made: map[addr.Object]made{}, going: map[addr.Object]time.Time{}, importedObjects: map[addr.Object]bool{},
	}
	a.amend()
	a.expectChecks()
	filling.Applied(a.run.Program, a.run.Frame, a.plan)
	again.begin(ctx, func(c *plan.Change) { (&step{a: a, run: a.run, records: &stepRecords{}}).up(ctx, c) })
	ok = a.walk(ctx)
	a.unfinished()
	if !ok && a.plan.Mode == plan.Destroy {
		a.keepData()
	}
	a.outputs(ok)
	if ok && a.plan.Mode == plan.Normal && !a.plan.Partial() && a.plan.Visits() {
		a.run.Conditions.CheckValues(a.run.Bag)
	}
	a.run.Account(a.failures...)
	a.edit.Head().Checks = a.run.Conditions.Checks.Results(a.planned())
	ok = ok && !bag.HasErrors()
	return &Result{Snapshot: a.edit.Done(), Frame: r.Frame, Summary: a.summary(ok), Interrupted: r.Budget.Interrupted(), Unknown: a.unknown}, ok
}

func (a *applier) summary(ok bool) event.Summary {
	s := event.Summary{
		Failed: !ok, NotStarted: a.notStarted,
		Operation: "apply", Added: int(a.added.Load()), Changed: int(a.changed.Load()),
		Destroyed: int(a.destroyed.Load()), Invoked: int(a.invoked.Load()), Imported: int(a.imported.Load()), Forgotten: int(a.forgotten.Load()),
	}
	if a.plan.Mode == plan.Destroy {
		s.Operation = "destroy"
	}
	return s
}

// amend updates the metadata of objects that the plan does not change: dependencies, provider and lifecycle settings.
// It writes no record to the journal (the file that protects changes against a crash): if the process ends before the
// state is written, the next apply makes the same updates.
func (a *applier) amend() {
	for _, c := range a.plan.Changes {
		if e := a.edit.Get(c.Object); e != nil && c.Action == plan.NoOp {
			if next := a.hosts.Hosted(c.Object, run.Amended(c, e)); next.Provider != e.Provider ||
				next.CreateFirst != e.CreateFirst || next.SkipDestroy != e.SkipDestroy || next.Protected != e.Protected || !slices.Equal(next.Recorded, e.Recorded) {
				a.edit.Put(c.Object, next)
			}
		}
	}
}

// keepData restores stored data sources after a failed destroy. A destroy plan drops all data sources, but a provider
// configuration may need them when the user tries again, and reading them may fail then. keepData restores the data
// sources on which the remaining objects depend, except for results that the state must not store.
func (a *applier) keepData() {
	needed := map[addr.Resource]bool{}
	for _, e := range a.edit.Head().Objects() {
		for _, on := range e.Recorded {
			needed[on] = true
		}
	}
	for o, e := range a.plan.Previous.Objects() {
		if o.Mode == addr.Data && needed[o.Resource()] && a.edit.Get(o) == nil && !a.run.Settings.Forgets(a.run.Program, o, e) {
			a.edit.Put(o, e)
		}
	}
}

// recordMoves records the new addresses of moved objects before any step runs, because later records use the new
// addresses. Without this record, a crash after the change of a moved object would leave the object at both addresses.
// The next run would then treat one address as no longer declared.
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

// taint taints each object whose replacement was deferred to a later round (a further plan and apply of the command)
// although -replace or replace_triggered_by requires it. The trigger has changed in this round and does not change again.
// If the command ends before the later round, the taint makes the next command replace the object.
func (a *applier) taint() {
	var changed []journal.Change
	for _, c := range a.plan.Deferred {
		if e := a.edit.Get(c.Object); e != nil && c.ReplacedLater() {
			tainted := *e
			tainted.Tainted, tainted.Complete = true, !e.Tainted || e.Complete
			changed = append(changed, journal.Change{Object: c.Object, Entry: &tainted})
		}
	}
	if len(changed) > 0 {
		(&step{a: a, run: a.run, records: &stepRecords{}}).write(0, changed...)
	}
}

// walk runs the steps of the plan. It returns true if all steps succeeded, the journal has not failed, and no interrupt
// came. Steps that configure or stop a provider, or open or close an ephemeral resource, do not count.
func (a *applier) walk(ctx context.Context) bool {
	if !a.plan.Visits() {
		return true
	}
	a.recordMoves()
	a.taint()
	o := ordering.New(a.run.Source(a.plan))
	steps := plan.Order(&o.Input)
	a.warnCyclic(o, steps)
	g := steps.Graph()
	a.run.Frame.Begin()
	defer a.run.Frame.End()
	result := a.run.WalkGraph(ctx, g, run.Names{Title: "apply", Of: func(n walk.Node) string { return stepName(o, steps.List[n]) }}, walk.RunOptions{
		Workers: a.run.Settings.Tokens(), // at most as many steps as provider calls run at once, because provisioners run without the token of a provider call
		Run: func(ctx context.Context, n walk.Node, f *walk.Fan) bool {
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
	whole := !a.run.Budget.Interrupted() && !a.failing()
	for i, s := range steps.List {
		if ended(i) == walk.Failed {
			a.failures = append(a.failures, o.Name(s))
		}
		whole = whole && (s.Kind == plan.Gate || s.Kind == plan.HoldUp || s.Kind == plan.HoldDown || ended(i) == walk.Succeeded)
	}
	if !whole {
		a.notStarted = notStarted(o, steps, ended)
	}
	return whole
}

// stepName returns the name of a step for the graph of the run.
func stepName(o *ordering.Ordering, s plan.Step) string {
	name := o.Name(s)
	switch s.Kind {
	case plan.Down, plan.DestroyProvision:
		return name + " (destroy)"
	case plan.HoldDown:
		return name + " (close)"
	}
	return name
}

// needsDurable reports whether all earlier records in the journal must be durable (safely on the disk) before a step
// begins. It returns true for two kinds of steps:
//
//   - A step that begins with an action that the journal does not announce: a provisioner, a provider configuration,
//     the opening of an ephemeral resource, or the read of a data source.
//   - A step that ends a provider. If this process crashes before the records are durable, the keeper (a second
//     process) records the answers, and asks the provider for its schemas.
//
// Other steps begin at once. They write an intent (the record that a call is about to start) before the call, and the
// journal writes this intent after the earlier records, usually in the same write.
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

// settle waits until each record that was written to the journal is durable or has failed.
func (a *applier) settle() {
	if j, ok := a.req.Journal.(interface{ Urge() }); ok {
		j.Urge()
	}
	a.records.settle()
}

// notStarted returns the sorted objects of the plan for which no step ran. ended returns the outcome of a step, by its
// index in steps.List.
func notStarted(o *ordering.Ordering, steps *plan.Steps, ended func(i int) walk.Outcome) []addr.Object {
	started := map[addr.Object]bool{{}: true} // the zero Object is the key of conditions of variables, outputs and checks, which are no objects
	for i, s := range steps.List {
		if s.Kind == plan.Up || s.Kind == plan.Down || s.Kind == plan.DestroyProvision || s.Kind == plan.Invoke || s.Kind == plan.DestroyInvoke {
			started[o.Objects[s.Index]] = started[o.Objects[s.Index]] || ended(i) != walk.Skipped
		}
	}
	maps.DeleteFunc(started, func(_ addr.Object, is bool) bool { return is })
	return slices.SortedFunc(maps.Keys(started), addr.Object.Compare)
}

// do runs the step s. It returns false if the step fails, so that the steps that depend on it are skipped.
func (x *step) do(ctx context.Context, o *ordering.Ordering, s plan.Step) bool {
	face := frame.Before
	if s.Face == plan.After {
		face = frame.After
	}
	switch s.Kind {
	case plan.Up:
		if t, ok := o.Tests[s.Index]; ok {
			f := x.run.Frame.At(t.At, frame.After)
			return f == nil || x.run.Conditions.Test(ctx, x.run.Bag, x.run.Program.Decls()[t.Decl], f)
		}
		if i, ok := o.Invoked[s.Index]; ok {
			return x.requested(ctx, i)
		}
		return x.up(ctx, x.a.changes[o.Objects[s.Index]])
	case plan.Down:
		return x.down(ctx, x.a.changes[o.Objects[s.Index]], face)
	case plan.Provision:
		return x.provision(ctx, x.a.changes[o.Objects[s.Index]], int(s.Part))
	case plan.DestroyProvision:
		return x.destroyProvision(ctx, x.a.changes[o.Objects[s.Index]], int(s.Part))
	case plan.Invoke:
		return x.invoke(ctx, x.a.changes[o.Objects[s.Index]], int(s.Part), true, frame.After)
	case plan.DestroyInvoke:
		return x.invoke(ctx, x.a.changes[o.Objects[s.Index]], int(s.Part), false, face)
	case plan.HoldUp:
		return x.holdUp(ctx, o.Holds[s.Index], face)
	case plan.HoldDown:
		x.holdDown(o.Holds[s.Index], face)
	}
	return true
}

// holdUp opens the hold h (a provider instance or an ephemeral resource): it configures the provider, or opens the
// instances of the resource. face selects its prior settings (before face) or planned settings (after face). If an
// ephemeral resource cannot be opened, its value is marked as failed, and the steps that use the value fail. holdUp
// returns false only if a provider cannot be configured and a step outside of check blocks uses it.
func (x *step) holdUp(ctx context.Context, h ordering.Hold, face frame.Face) bool {
	if h.InChecks { // each check that uses the hold reports the diagnostics as warnings
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
	if face == frame.Before {
		x.a.again.before(ctx, h.Lease.ID)
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

// skip marks the new value of an object as failed if the step s, which did not run, would have created, updated or read
// the object.
func (a *applier) skip(o *ordering.Ordering, s plan.Step) {
	if s.Kind != plan.Up {
		return
	}
	obj := o.Objects[s.Index]
	if d, ok := a.run.Program.Resource(obj.Resource()); ok && d.Kind == program.Resource && obj != (addr.Object{}) {
		a.failed(d, obj.Instance)
	}
}

// warnCyclic warns of cyclic dependencies in the state. One warning names all cycles, because users see only the first
// of several equal warnings.
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
		a.run.Bag.Add(diag.Warningf("Circular dependencies in state", "In the state, these resources depend on each other in a cycle: %s. A moved block or an edit of the state can cause this. Lethe destroys them in no particular order.", strings.Join(circles, ", ")))
	}
}
