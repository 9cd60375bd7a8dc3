package planning

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/store"
)

// decide plans one declared instance of a managed resource and sets its planned value (after face). It returns false if
// planning, a postcondition or the plan of an action invocation fails. If a later round (a further plan and apply) must
// decide about the instance, decide returns true, unless this round must destroy the object first and cannot plan this.
func (x *instance) decide(ctx context.Context) bool {
	if ok, known := x.again(ctx); known {
		return ok
	}
	c, v, out := x.propose(ctx)
	if out.Kind == plan.Deferred {
		ok := out.Why == plan.DeferredPrereq || x.endFirst(ctx)
		x.wait(c, out.Why)
		return ok
	}
	if out.Kind != plan.Known {
		x.p.outcomes.fail(x.d.ID)
		x.f.Fail(x.d.ID, x.key, frame.After)
		return false
	}
	x.f.PutLazy(x.d.ID, x.key, frame.After, v)
	x.p.back.prepareDestroy(ctx, c, c.Entry)
	x.p.outcomes.noteChange(x.d.ID, c)
	x.p.decisions.record(c)
	if !x.run.Conditions.Post(x.run.Bag, x.d, x.f, x.key, x.inst, v) {
		return false
	}
	return invoke(ctx, x.p, x.d, c, x.f, v)
}

// propose evaluates the configuration of an instance, and calls its provider to plan it. It returns the change and a
// function that returns the planned value. Both are nil if the outcome is not Known, with one exception: if the
// provider has planned a change that must wait for a later round, only the function is nil.
func (x *instance) propose(ctx context.Context) (*plan.Change, func() mark.Value, plan.Outcome) {
	if x.p.req.Operation.Policy().ImportsOnly {
		c, v, ok := x.imported(ctx)
		return c, v, plan.Done(ok)
	}
	x.run.Receive(ctx, x.d.ID, x.f.Addr(), x.key)
	if x.p.outcomes.dependencyFailed(x.d.ID) {
		return nil, nil, plan.Outcome{}
	}
	behind := x.p.deferred.behind(x.d.ID, x.inst.Module)
	ok, unsure := x.run.Conditions.Preconditions(x.run.Bag, x.d, x.f, x.key, x.inst)
	if !ok {
		return nil, nil, plan.Outcome{}
	}
	if behind&program.ByTrigger != 0 || behind != 0 && unsure {
		return nil, nil, plan.Defer(plan.DeferredPrereq)
	}
	cur, importing, ok := x.current(ctx)
	if !ok {
		return nil, nil, x.importLater
	}
	config, evaluated := x.f.Config(x.d.ID, x.key, frame.After, x.run.Bag)
	if evaluated != frame.OK {
		return nil, nil, plan.Outcome{}
	}
	t, u, out := x.tools(ctx)
	if out.Kind != plan.Known {
		return nil, nil, out
	}
	if !t.Validate(ctx, config) {
		return nil, nil, plan.Outcome{}
	}
	known, unknown := config.Raw.IsWhollyKnown(), x.run.Sessions.Unknown(u)
	if behind != 0 && (!known && !unknown || unknown && cur.Entry == nil) {
		return nil, nil, plan.Defer(plan.DeferredPrereq)
	}
	forced, ok := x.forced(cur)
	if !ok {
		return nil, nil, plan.Outcome{}
	}
	if forced.Elsewhere, out = x.elsewhere(ctx, t, u, cur, forced); out.Kind != plan.Known {
		return nil, nil, out
	}
	c, out := x.plan(ctx, t, u, config, cur, forced)
	if out.Kind != plan.Known {
		return nil, nil, out
	}
	c.Was = x.p.moved.Origin(c.Object)
	c.Provider, c.Importing = u.Instance, importing
	c.Settled = c.Settled && !x.run.Sessions.Unknown(u)
	c.Recorded = x.p.recordedOf(x.d.ID)
	c.Conditions = declared.HasResourceConditions(x.d)
	if c.SkipDestroy, evaluated = x.f.Forget(x.d.ID, x.inst.Key, x.p.faceOf(x.f), x.run.Bag); evaluated != frame.OK {
		return nil, nil, plan.Outcome{}
	}
	if c.Action.Replaces() && cur.Entry != nil && (cur.Entry.SkipDestroy || c.SkipDestroy) {
		c.Action = plan.ForgetCreate
	}
	if behind != 0 && (c.Action != plan.NoOp || importing != nil || !known) {
		return c, nil, plan.Defer(plan.DeferredPrereq) // a later round decides about the objects for which the instance waits, and then about the instance
	}
	if c.Action.Replaces() {
		was, ok := x.run.StoredUse(ctx, x.inst, cur.Entry.Provider)
		if !ok {
			return nil, nil, plan.Outcome{}
		}
		x.p.lookBefore(ctx, c.Object, t.Type, was, cur)
	}
	if c.Action == plan.Create && slices.Contains(x.p.req.Unanswered, x.inst) {
		x.search(ctx, t, c)
	}
	if !x.p.allowed(x.d, x.f, c) {
		x.p.decisions.record(c) // the user still sees the proposed change
		return nil, nil, plan.Outcome{}
	}
	return c, valueOf(t, c, cur), out
}

// plan calls the provider to plan the instance. If the provider's settings are not all known and the call fails, plan
// calls the provider again and allows it to defer the change. If the second call fails, too, a later round plans the
// instance, because the settings are known then.
func (x *instance) plan(ctx context.Context, t *object.Tools, u declared.Use, config mark.Value, cur object.Current, forced object.Forced) (*plan.Change, plan.Outcome) {
	if !x.p.req.Options.Defers || !x.run.Sessions.Unknown(u) {
		return t.Plan(ctx, config, cur, forced)
	}
	first, second := &diag.Bag{}, &diag.Bag{}
	t.Bag = first
	c, out := t.Plan(ctx, config, cur, forced)
	if out.Kind != plan.Known && first.HasErrors() {
		t.Bag, t.Allow = second, provider.Allow{Deferral: true}
		c, out = t.Plan(ctx, config, cur, forced)
		if t.Allow = (provider.Allow{}); out.Kind == plan.Failed && second.HasErrors() {
			out = plan.Defer(plan.ProviderConfigUnknown)
		}
		if out.Kind == plan.Deferred {
			x.p.deferred.blame(first.List()...)
		}
		first = second
	}
	if t.Bag = x.run.Bag; out.Kind != plan.Deferred {
		x.run.Bag.Add(first.List()...)
	}
	if out.Kind == plan.Known && c.Action == plan.NoOp {
		x.p.state.doubt(x.inst.Current())
	}
	return c, out
}

// search asks the provider for the object that an interrupted run may have created at the address of a planned
// creation. It reports as a warning whether the provider found the object. It reports nothing if the provider cannot be
// asked, for example because the id of the object is not known.
func (x *instance) search(ctx context.Context, t *object.Tools, c *plan.Change) {
	found, ok := t.Search(ctx, c, object.Stored{Provider: c.Provider})
	switch {
	case !ok:
	case found.Exists:
		advice := "import it with an import block."
		if found.ID != "" {
			advice = "record it with: lethe state resolve " + store.ShellCommand("-id="+found.ID, x.inst.String())
		}
		x.run.Bag.Add(diag.Warningf("Object of a lost run found", "%s has no object in the state, but the provider found an object by its %s. An interrupted run may have created it. If it belongs to this configuration, %s", x.inst, found.By, advice).About(x.inst))
	default:
		x.run.Bag.Add(diag.Warningf("No object of a lost run found", "The provider found no object by the %s of %s. The interrupted run may not have created it, or it is not visible yet. If it does not exist, run: lethe state resolve -absent %[2]s", found.By, x.inst).About(x.inst))
	}
}

// valueOf returns a function that returns the planned value of the instance with the change c. For an unchanged object,
// the function decodes cur when it is called.
func valueOf(t *object.Tools, c *plan.Change, cur object.Current) func() mark.Value {
	if !c.Unchanged {
		return func() mark.Value { return c.After }
	}
	return lazy(t, cur)
}

// forced returns the settings that affect the planned action in addition to the arguments of the resource, such as
// -replace, ignore_changes and replace_triggered_by. It returns false if a reference in replace_triggered_by is
// invalid.
func (x *instance) forced(cur object.Current) (object.Forced, bool) {
	out := object.Forced{
		Replace:   slices.Contains(x.p.req.Replace, x.inst),
		IgnoreAll: x.d.Res.Lifecycle.IgnoreAll, Ignore: run.Ignored(x.d),
		Rewrite:   x.p.req.Rewrite[x.inst.Current()] != "",
		Triggered: cur.Entry != nil && x.p.req.Earlier.triggers(x.inst.Current()),
	}
	if len(x.d.Res.Lifecycle.Triggers) == 0 {
		return out, true
	}
	triggers, outcome := x.f.Triggers(x.d.ID, x.key, x.run.Bag)
	if outcome != frame.OK {
		return out, false
	}
	for _, t := range triggers {
		if t.Undeclared && !stores(x.p.moved, t) {
			x.run.Bag.Add(diag.Errorf("Invalid replace_triggered_by expression", "There is no %s%s in the configuration or in the state, so it cannot replace %s. Correct the key, or remove the reference.",
				t.Resource, t.Key, x.inst).At(t.At).About(x.inst))
			return out, false
		}
		out.Triggered = out.Triggered || cur.Entry != nil && x.p.decisions.triggered(t)
	}
	return out, true
}

// endFirst handles an instance whose provider cannot plan it yet, because the plan replaces a resource to which the
// provider's settings refer, such as a server. endFirst plans the destruction of the stored object in this round: the
// provider, with its prior settings, must destroy the object before the server is destroyed. A later round creates the
// object again. For other instances, endFirst does nothing and returns true. endFirst returns false if the destruction
// cannot be planned.
func (x *instance) endFirst(ctx context.Context) bool {
	o := x.inst.Current()
	u, ok := x.run.StoredUse(ctx, x.inst, x.storedProvider())
	if !ok || !u.Declared || !x.run.Sessions.Unknown(u) || x.p.deferred.kept(x.d, o) == nil || !x.p.deferred.replaced(u.Decl) {
		return true
	}
	if before, ok := x.run.Sessions.Settle(ctx, &diag.Bag{}, u, frame.Before); !ok || before.Unknown {
		return true
	}
	return (&endedObject{x.p, o, plan.NoReason, x.d}).decide(ctx)
}

// storedProvider returns the provider instance that the state has for the object of the instance, or the zero value if
// the state has no object.
func (x *instance) storedProvider() (out addr.ProviderInstance) {
	if e := x.p.prior.Get(x.inst.Current()); e != nil {
		out = e.Provider
	}
	return out
}

// wait leaves the decision about the instance to a later round, for the given reason. c is the change that the provider
// has planned, or nil. In this round, the planned value of the instance is unknown.
func (x *instance) wait(c *plan.Change, reason plan.Reason) {
	later := x.p.deferred
	later.note(x.d.ID, x.inst.Module)
	x.f.Put(x.d.ID, x.key, frame.After, x.p.placeholder(x.d))
	kept := later.kept(x.d, x.inst.Current())
	if c == nil {
		c = later.whole(x.d, x.inst.Module)
		c.Object, c.Was = x.inst.Current(), x.p.moved.Origin(x.inst.Current())
		if kept != nil && !x.p.decisions.ends(c.Object) {
			c.Action, c.Entry, c.Provider, c.Recorded = plan.Update, kept.Entry, kept.Provider, kept.Recorded
			c.Before = filling.StoredValue(x.run.Program, x.d, kept.Entry)
		}
	}
	c.Deferral = &plan.Deferral{Reason: string(reason)}
	if kept != nil && kept.Was != kept.Object {
		kept.Deferral = c.Deferral
		x.p.decisions.record(kept)
	}
	later.trigger(x.d, c)
	later.record(c)
}

// again handles an instance about which an earlier round (plan and apply) of the command has decided: it plans no
// change, but checks conditions, because their results may have been unknown in the earlier round. ok is false if a
// condition fails. known is false if no earlier round has decided about the instance, or if the state does not have the
// object.
func (x *instance) again(ctx context.Context) (ok, known bool) {
	o := x.inst.Current()
	e := x.p.prior.Get(o)
	if e == nil || !x.p.req.Earlier.has(o) {
		return false, false
	}
	value := func() mark.Value { return filling.StoredValue(x.run.Program, x.d, e) }
	x.f.PutLazy(x.d.ID, x.key, frame.After, value)
	conditions := declared.HasResourceConditions(x.d)
	if x.d.Resource.Mode == addr.Managed {
		c := keptChange(x.p, o, e)
		c.Conditions = conditions
		x.p.decisions.record(c)
	}
	if !conditions {
		return true, true
	}
	x.run.Receive(ctx, x.d.ID, x.f.Addr(), x.key)
	return x.run.Conditions.Pre(x.run.Bag, x.d, x.f, x.key, x.inst) && x.run.Conditions.Post(x.run.Bag, x.d, x.f, x.key, x.inst, value), true
}
