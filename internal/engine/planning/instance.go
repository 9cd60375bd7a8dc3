package planning

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
)

// decide takes one declared instance through planning and fills its after slot.
func (x *instance) decide(ctx context.Context) bool {
	c, v, ok := x.propose(ctx)
	if !ok {
		x.p.outcomes.fail(x.d.ID)
		x.f.Fail(x.d.ID, x.key, frame.After)
		return false
	}
	x.f.PutLazy(x.d.ID, x.key, frame.After, v)
	x.p.back.foresee(ctx, c, c.Entry)
	x.p.outcomes.noteChange(x.d.ID, c)
	x.p.decisions.record(c)
	return x.run.Post(x.d, x.f, x.key, x.inst, v)
}

// propose evaluates an instance's configuration and has its provider plan it.
func (x *instance) propose(ctx context.Context) (*plan.Change, func() mark.Value, bool) {
	if x.p.req.Quiet {
		return x.takenIn(ctx)
	}
	x.run.Receive(ctx, x.d.ID, x.f.Addr(), x.key)
	if x.p.outcomes.dependencyFailed(x.d.ID) {
		return nil, nil, false
	}
	if !x.run.Pre(x.d, x.f, x.key, x.inst) {
		return nil, nil, false
	}
	cur, importing, ok := x.current(ctx)
	if !ok {
		return nil, nil, false
	}
	config, out := x.f.Config(x.d.ID, x.key, frame.After, x.run.Bag)
	if out != frame.OK {
		return nil, nil, false
	}
	t, u, ok := x.run.ToolsAfter(ctx, x.d, x.f, x.key, x.inst)
	if !ok || !t.Validate(ctx, config) {
		return nil, nil, false
	}
	forced, ok := x.forced(cur)
	if !ok {
		return nil, nil, false
	}
	c, ok := t.Plan(ctx, config, cur, forced)
	if !ok {
		return nil, nil, false
	}
	c.Was = x.p.moved.Origin(c.Object)
	c.Provider, c.Importing = u.Instance, importing
	c.Settled = c.Settled && !x.run.Sessions.Unknown(u)
	c.Recorded = x.p.recordedOf(x.d.ID)
	c.Conditions = declared.HasResourceConditions(x.d)
	if c.SkipDestroy, out = x.f.Forget(x.d.ID, x.p.faceOf(x.f), x.run.Bag); out != frame.OK {
		return nil, nil, false
	}
	if c.Action.Replaces() && cur.Entry != nil && cur.Entry.SkipDestroy {
		c.Action = plan.ForgetCreate
	}
	if c.Action.Replaces() {
		x.p.lookBefore(ctx, c.Object, t.Type, declared.UseOf(x.run.Program, x.d, cur.Entry.Provider.Key), cur)
	}
	if !x.p.allowed(x.d, x.f, c) {
		x.p.decisions.record(c) // the proposed change is still shown
		return nil, nil, false
	}
	return c, valueOf(t, c, cur), true
}

// valueOf is what an instance's after slot holds.
func valueOf(t *object.Tools, c *plan.Change, cur object.Current) func() mark.Value {
	if !c.Unchanged {
		return func() mark.Value { return c.After }
	}
	return lazy(t, cur)
}

// forced is what bears on the decision beside configuration and provider.
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
		if t.Undeclared && !x.p.stores(t) {
			x.run.Bag.Add(diag.Errorf("Invalid replace_triggered_by expression", "There is no %s%s, and the state has no such object either: no change of it can replace %s. Correct the key, or remove the reference.",
				t.Resource, t.Key, x.inst).At(t.At).About(x.inst))
			return out, false
		}
		out.Triggered = out.Triggered || cur.Entry != nil && x.p.decisions.triggered(t)
	}
	return out, true
}
