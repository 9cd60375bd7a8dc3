package planning

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
)

// decide plans one declared instance and sets its after value.
func (x *instance) decide(ctx context.Context) bool {
	c, v, out := x.propose(ctx)
	if out.Kind != plan.Known {
		x.p.outcomes.fail(x.d.ID)
		x.f.Fail(x.d.ID, x.key, frame.After)
		return false
	}
	x.f.PutLazy(x.d.ID, x.key, frame.After, v)
	x.p.back.prepareDestroy(ctx, c, c.Entry)
	x.p.outcomes.noteChange(x.d.ID, c)
	x.p.decisions.record(c)
	return x.run.Conditions.Post(x.run.Bag, x.d, x.f, x.key, x.inst, v)
}

// propose evaluates the configuration of an instance, and calls its provider to plan it.
func (x *instance) propose(ctx context.Context) (*plan.Change, func() mark.Value, plan.Outcome) {
	if x.p.req.Operation.Policy().ImportsOnly {
		c, v, ok := x.imported(ctx)
		return c, v, plan.Done(ok)
	}
	x.run.Receive(ctx, x.d.ID, x.f.Addr(), x.key)
	if x.p.outcomes.dependencyFailed(x.d.ID) {
		return nil, nil, plan.Outcome{}
	}
	if !x.run.Conditions.Pre(x.run.Bag, x.d, x.f, x.key, x.inst) {
		return nil, nil, plan.Outcome{}
	}
	cur, importing, ok := x.current(ctx)
	if !ok {
		return nil, nil, plan.Outcome{}
	}
	config, evaluated := x.f.Config(x.d.ID, x.key, frame.After, x.run.Bag)
	if evaluated != frame.OK {
		return nil, nil, plan.Outcome{}
	}
	t, u, ok := x.run.ToolsAfter(ctx, x.d, x.f, x.key, x.inst)
	if !ok || !t.Validate(ctx, config) {
		return nil, nil, plan.Outcome{}
	}
	forced, ok := x.forced(cur)
	if !ok {
		return nil, nil, plan.Outcome{}
	}
	c, out := t.Plan(ctx, config, cur, forced)
	if out.Kind != plan.Known {
		return nil, nil, out
	}
	c.Was = x.p.moved.Origin(c.Object)
	c.Provider, c.Importing = u.Instance, importing
	c.Settled = c.Settled && !x.run.Sessions.Unknown(u)
	c.Recorded = x.p.recordedOf(x.d.ID)
	c.Conditions = declared.HasResourceConditions(x.d)
	if c.SkipDestroy, evaluated = x.f.Forget(x.d.ID, x.p.faceOf(x.f), x.run.Bag); evaluated != frame.OK {
		return nil, nil, plan.Outcome{}
	}
	if c.Action.Replaces() && cur.Entry != nil && (cur.Entry.SkipDestroy || c.SkipDestroy) {
		c.Action = plan.ForgetCreate
	}
	if c.Action.Replaces() {
		x.p.lookBefore(ctx, c.Object, t.Type, declared.UseOf(x.run.Program, x.d, cur.Entry.Provider.Key), cur)
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

// search looks for the object that an interrupted run may have created at the address of a planned creation, and
// reports the result.
func (x *instance) search(ctx context.Context, t *object.Tools, c *plan.Change) {
	found, ok := t.Search(ctx, c, object.Stored{Provider: c.Provider})
	switch {
	case !ok:
	case found.Exists:
		advice := "import it with an import block."
		if found.ID != "" {
			advice = fmt.Sprintf("record it with: lethe state resolve -id=%s %s", found.ID, x.inst)
		}
		x.run.Bag.Add(diag.Warningf("Object of a lost run found", "%s has no object in the state, but the provider found an object by its %s. An interrupted run may have created it. If it belongs to this configuration, %s", x.inst, found.By, advice).About(x.inst))
	default:
		x.run.Bag.Add(diag.Warningf("No object of a lost run found", "The provider found no object by the %s of %s. The interrupted run may not have created it, or it is not visible yet. If it does not exist, run: lethe state resolve -absent %[2]s", found.By, x.inst).About(x.inst))
	}
}

// valueOf returns the after value of an instance.
func valueOf(t *object.Tools, c *plan.Change, cur object.Current) func() mark.Value {
	if !c.Unchanged {
		return func() mark.Value { return c.After }
	}
	return lazy(t, cur)
}

// forced returns the settings besides configuration and provider that affect the decision: -replace, ignore_changes and
// replace_triggered_by. It returns false if a trigger is invalid.
func (x *instance) forced(cur object.Current) (object.Forced, bool) {
	out := object.Forced{
		Replace:   slices.Contains(x.p.req.Replace, x.inst),
		IgnoreAll: x.d.Res.Lifecycle.IgnoreAll, Ignore: run.Ignored(x.d),
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
