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

// readAll reads all instances of a data source, or leaves them for apply.
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
		defer p.leaseUsers.InstanceOver(d.ID, jobs[i].frame.Addr(), jobs[i].key)
		x := p.instance(d, jobs[i].frame, jobs[i].key)
		if d.Res.Check == "" {
			return x.read(ctx)
		}
		ok := false
		said := p.run.ScopedData(d, func(r *run.Run) {
			x.run = r
			ok = x.read(ctx)
		})
		p.run.Unread(d, jobs[i].frame.Addr(), said)
		return ok || p.run.Bag.HasAsides() // a warning says why
	})
	return whole
}

// placeholder is what is known of a result before it was read.
func placeholder(t *object.Tools, config mark.Value) mark.Value {
	after := mark.Value{Raw: t.Type.Placeholder(config.Raw), Marks: config.Sensitive().Marks}
	after.Marks = mark.Union(after.Marks, mark.SensitiveAt(t.Type.SensitivePaths(after.Raw)))
	return after
}

// dropData removes a data source's results from the state: nothing needs them any more.
func (p *planner) dropData(res addr.Resource) { p.dropDataExcept(res, nil) }

func (p *planner) dropDataExcept(res addr.Resource, kept map[addr.Instance]bool) {
	for _, o := range p.stored(res) {
		if !kept[o.Instance] {
			p.put(o, nil)
		}
	}
}

// pending is why a data source cannot be read yet (ADR 14): unsure says that its preconditions are not known.
func (x *instance) pending(config mark.Value, u declared.Use, unsure bool) plan.Reason {
	switch {
	case !config.Raw.IsWhollyKnown() || x.run.Sessions.Unknown(u):
		return plan.ReadConfigUnknown
	case unsure || x.p.outcomes.dependencyChanges(x.d.ID, x.inst.Module, updated) || declared.HasResourceConditions(x.d) && x.p.outcomes.changesBehind(x.d.ID, x.inst.Module):
		return plan.ReadDependencyPending
	}
	return plan.NoReason
}

// read reads one instance, or puts a placeholder where its value will be.
func (x *instance) read(ctx context.Context) bool {
	v, ok := x.readOrDefer(ctx)
	if !ok {
		x.p.outcomes.fail(x.d.ID)
		x.f.Fail(x.d.ID, x.key, frame.After)
		x.tryAgain()
		return false
	}
	x.f.Put(x.d.ID, x.key, frame.After, v)
	return x.run.Post(x.d, x.f, x.key, x.inst, func() mark.Value { return v })
}

func (x *instance) readOrDefer(ctx context.Context) (mark.Value, bool) {
	x.run.Receive(ctx, x.d.ID, x.f.Addr(), x.key)
	if x.p.outcomes.dependencyFailed(x.d.ID) {
		return mark.Value{}, false
	}
	ok, unsure := x.run.Preconditions(x.d, x.f, x.key, x.inst)
	if !ok {
		return mark.Value{}, false
	}
	config, out := x.f.Config(x.d.ID, x.key, frame.After, x.run.Bag)
	if out != frame.OK {
		return mark.Value{}, false
	}
	t, u, ok := x.run.ToolsAfter(ctx, x.d, x.f, x.key, x.inst)
	if !ok || !t.Validate(ctx, config) {
		return mark.Value{}, false
	}
	if why := x.pending(config, u, unsure); why != plan.NoReason {
		x.p.outcomes.noteDeferred(x.d.ID, x.inst, why)
		return x.deferRead(u, why, placeholder(t, config)), true
	}
	if stored, entry, ok := x.p.useStored(x.d, t, config, x.inst); ok {
		if entry != x.p.prior.Get(x.inst.Current()) {
			x.p.put(x.inst.Current(), entry)
		}
		x.p.back.wasRead(x.d.ID, x.inst, config, stored)
		return stored, true
	}
	v, entry, ok := t.ReadData(ctx, config, object.Stored{Provider: u.Instance, Recorded: x.p.recordedOf(x.d.ID), Was: x.p.prior.Get(x.inst.Current())}, true)
	if ok {
		x.p.put(x.inst.Current(), entry)
	}
	switch {
	case ok && x.d.Res.Check == "":
		x.p.back.wasRead(x.d.ID, x.inst, config, v)
	case x.d.Res.Check != "": // it is read again to verify the check
		after := v
		if !ok {
			after = placeholder(t, config)
		}
		x.deferRead(u, plan.ReadCheckNested, after)
	}
	return v, ok
}

// tryAgain plans the reading of data in a check block that could not be asked for. The apply looks at the check anew, and
// needs the data for that.
func (x *instance) tryAgain() {
	if x.d.Res.Check == "" || x.deferred {
		return
	}
	key, out := x.f.ProviderKey(x.d.ID, x.key, frame.After, &diag.Bag{})
	if out != frame.OK {
		key = addr.NoKey
	}
	s := x.p.run.Program.Schema(x.d.ID)
	x.deferRead(declared.UseOf(x.p.run.Program, x.d, key), plan.ReadCheckNested, mark.Plain(s.Placeholder(s.Empty())))
}

// deferRead plans the reading for apply, of what it is expected to give.
func (x *instance) deferRead(u declared.Use, why plan.Reason, after mark.Value) mark.Value {
	x.deferred = true
	if x.run.Looks {
		return after // there will be no reading
	}
	c := &plan.Change{
		Object: x.inst.Current(), Was: x.p.moved.Origin(x.inst.Current()), Action: plan.Read, Why: why,
		Before: mark.Plain(x.p.run.Program.Schema(x.d.ID).Null()), After: after, Provider: u.Instance,
		Entry: x.p.prior.Get(x.inst.Current()), Recorded: x.p.recordedOf(x.d.ID),
	}
	x.p.decisions.record(c)
	x.run.Settings.Tell(event.Deferred{Object: x.inst.Current(), Reason: string(why)})
	return after
}
