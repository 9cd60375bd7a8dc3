package planning

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// readAll reads all instances of a data source, or leaves the reading to apply. In a destroy plan it drops the stored
// results instead. It returns false if the keys of the instances failed, or are unknown and no later round (a further
// plan and apply) decides about them.
func (p *planner) readAll(_ context.Context, f *walk.Fan, d *program.Declaration) bool {
	if p.req.Mode == plan.Destroy {
		p.dropData(d.Resource)
		return true
	}
	jobs, kept, whole := p.declaredJobs(d)
	if whole {
		p.dropDataExcept(d.Resource, kept)
	} else {
		p.outcomes.fail(d.ID)
	}
	f.Jobs(len(jobs), func(ctx context.Context, i int) bool {
		defer p.leaseUsers.InstanceDone(d.ID, jobs[i].frame.Addr(), jobs[i].key)
		x := p.instance(d, jobs[i].frame, jobs[i].key)
		if d.Res.Check == "" {
			return x.read(ctx)
		}
		ok := false
		reported := p.run.ScopedData(d, func(r *run.Run) {
			x.run = r
			ok = x.read(ctx)
		})
		p.run.Conditions.Unevaluated(d, jobs[i].frame.Addr(), reported)
		// A check block must not fail the plan. If its data source cannot be read, the job succeeds, provided that a
		// warning has the reason.
		return ok || p.run.Bag.HasAsides()
	})
	return whole
}

// placeholder returns the value of a data source until apply reads it: attributes that the configuration sets, and
// unknown values.
func placeholder(t *object.Tools, config mark.Value) mark.Value {
	after := mark.Value{Raw: t.Type.Placeholder(config.Raw), Marks: config.Sensitive().Marks}
	after.Marks = mark.Union(after.Marks, mark.SensitiveAt(t.Type.SensitivePaths(after.Raw)))
	return after
}

// pending returns the outcome Pending with a reason if a data source can be read only during apply (ADR 14), and Known
// otherwise. It is Pending if the configuration, the provider's settings or a precondition (unsure) is unknown, or if a
// dependency changes in this plan.
func (x *instance) pending(config mark.Value, u declared.Use, unsure bool) plan.Outcome {
	switch {
	case !config.Raw.IsWhollyKnown() || x.run.Sessions.Unknown(u):
		return plan.Await(plan.ReadConfigUnknown)
	case unsure || x.p.outcomes.dependencyChanges(x.d.ID, x.inst.Module, updated) || declared.HasResourceConditions(x.d) && x.p.outcomes.changesBehind(x.d.ID, x.inst.Module):
		return plan.Await(plan.ReadDependencyPending)
	}
	return plan.Done(true)
}

// read reads one instance of a data source, or plans that apply reads it. If apply reads it, its planned value is a
// placeholder with unknown parts. If a later round (a further plan and apply) reads it, read records this and returns
// true. It returns false if the instance has no value, and if a postcondition fails.
func (x *instance) read(ctx context.Context) bool {
	if ok, known := x.again(ctx); known && x.d.Res.Check == "" {
		return ok
	}
	v, out := x.readNow(ctx)
	if out.Kind == plan.Deferred {
		x.wait(nil, out.Why)
		return true
	}
	if !out.HasValue() {
		x.p.outcomes.fail(x.d.ID)
		x.f.Fail(x.d.ID, x.key, frame.After)
		x.tryAgain()
		return false
	}
	x.f.Put(x.d.ID, x.key, frame.After, v)
	return x.run.Conditions.Post(x.run.Bag, x.d, x.f, x.key, x.inst, func() mark.Value { return v })
}

// readNow returns the result of a data source, or a placeholder if apply must read the data source (outcome Pending).
// The outcome is Deferred if a later round (a further plan and apply) must read the data source, and Failed after an
// error. If useStored allows this, readNow returns the stored result without reading the data source. For a data source
// in a check block, it also plans that apply reads the data source again.
func (x *instance) readNow(ctx context.Context) (mark.Value, plan.Outcome) {
	x.run.Receive(ctx, x.d.ID, x.f.Addr(), x.key)
	if x.p.outcomes.dependencyFailed(x.d.ID) {
		return mark.Value{}, plan.Outcome{}
	}
	behind := x.p.deferred.behind(x.d.ID, x.inst.Module)
	if behind&(program.ByDepends|program.ByModule) != 0 {
		return mark.Value{}, plan.Defer(plan.DeferredPrereq)
	}
	ok, unsure := x.run.Conditions.Preconditions(x.run.Bag, x.d, x.f, x.key, x.inst)
	if !ok {
		return mark.Value{}, plan.Outcome{}
	}
	config, evaluated := x.f.Config(x.d.ID, x.key, frame.After, x.run.Bag)
	if evaluated != frame.OK {
		return mark.Value{}, plan.Outcome{}
	}
	t, u, out := x.tools(ctx)
	if out.Kind != plan.Known {
		return mark.Value{}, out
	}
	if !t.Validate(ctx, config) {
		return mark.Value{}, plan.Outcome{}
	}
	if behind != 0 && (unsure || declared.HasResourceConditions(x.d) || !config.Raw.IsWhollyKnown() || x.run.Sessions.Unknown(u) || x.p.deferred.direct(x.d.ID, x.inst.Module)) {
		return mark.Value{}, plan.Defer(plan.DeferredPrereq)
	}
	if out = x.pending(config, u, unsure); out.Kind == plan.Pending {
		x.p.outcomes.notePending(x.d.ID, x.inst, out.Why)
		return x.readLater(u, out.Why, placeholder(t, config)), out
	}
	if stored, entry, ok := x.p.useStored(x.d, t, config, x.inst, u); ok {
		if entry != x.p.prior.Get(x.inst.Current()) {
			x.p.state.put(x.inst.Current(), entry)
		}
		x.p.back.wasRead(x.d.ID, x.inst, config, stored)
		return stored, plan.Done(true)
	}
	v, entry, out := t.ReadData(ctx, config, object.Stored{Provider: u.Instance, Recorded: x.p.recordedOf(x.d.ID), Was: x.p.prior.Get(x.inst.Current())}, true)
	if out.Kind == plan.Known {
		x.p.state.put(x.inst.Current(), entry)
	}
	switch {
	case out.Kind == plan.Known && x.d.Res.Check == "":
		x.p.back.wasRead(x.d.ID, x.inst, config, v)
	case x.d.Res.Check != "": // apply evaluates the check block again, and reads its data source again
		after := v
		if out.Kind != plan.Known {
			after = placeholder(t, config)
		}
		x.readLater(u, plan.ReadCheckNested, after)
	}
	return v, out
}

// tryAgain handles a data source in a check block that could not be read during plan: it plans that apply reads the
// data source, unless the plan has this already. Apply evaluates the check block again and needs the result.
func (x *instance) tryAgain() {
	if x.d.Res.Check == "" || x.planned {
		return
	}
	key, out := x.f.ProviderKey(x.d.ID, x.key, frame.After, &diag.Bag{})
	if out != frame.OK {
		key = addr.NoKey
	}
	s := x.p.run.Program.Schema(x.d.ID)
	x.readLater(declared.UseOf(x.p.run.Program, x.d, key), plan.ReadCheckNested, mark.Plain(s.Placeholder(s.Empty())))
}

// readLater adds a change to the plan, so that apply reads the data source. It returns the expected result, which it
// received as after. For a plan that no apply follows (refresh-only, import), it adds nothing.
func (x *instance) readLater(u declared.Use, why plan.Reason, after mark.Value) mark.Value {
	x.planned = true
	if x.run.Kind.DecidesNothing() {
		return after
	}
	c := &plan.Change{
		Object: x.inst.Current(), Was: x.p.moved.Origin(x.inst.Current()), Action: plan.Read, Why: why,
		Before: mark.Plain(x.p.run.Program.Schema(x.d.ID).Null()), After: after, Provider: u.Instance,
		Entry: x.p.prior.Get(x.inst.Current()), Recorded: x.p.recordedOf(x.d.ID),
	}
	x.p.decisions.record(c)
	x.run.Settings.Send(event.Pending{Object: x.inst.Current(), Reason: string(why)})
	return after
}
