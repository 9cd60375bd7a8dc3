package planning

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// decideAll plans the changes of all instances of a managed resource: the declared instances, and the stored instances
// that are no longer declared. It returns false if the keys of the instances cannot be evaluated, or are unknown and no
// later round (a further plan and apply) decides about them. It only sets the jobs of the node, one for each instance.
// Each job returns whether its instance was planned. A refresh-only plan changes no objects: there, decideAll only
// keeps the refreshed objects and evaluates conditions.
func (p *planner) decideAll(_ context.Context, f *walk.Fan, d *program.Declaration) bool {
	if p.req.Mode == plan.RefreshOnly {
		p.keepAll(d)
		return true
	}
	jobs, ok := p.jobs(d)
	if !ok {
		p.outcomes.fail(d.ID)
	}
	f.Jobs(len(jobs), func(ctx context.Context, i int) bool {
		j := jobs[i]
		if j.frame == nil {
			return (&endedObject{p, j.ended, j.why, d}).decide(ctx)
		}
		defer p.leaseUsers.InstanceDone(d.ID, j.frame.Addr(), j.key)
		return p.instance(d, j.frame, j.key).decide(ctx)
	})
	return ok
}

// jobs lists the instances of a resource to decide about. It returns false if the keys of instances cannot be
// evaluated, or are unknown and no later round (a further plan and apply) decides about them. In this case, the result
// has stored instances that are not declared only if all module instances are known.
func (p *planner) jobs(d *program.Declaration) ([]job, bool) {
	if p.req.Mode == plan.Destroy {
		return p.allStored(d), true
	}
	jobs, kept, whole := p.declaredJobs(d)
	if frames, status := p.run.Frame.Instances(d.Module, frame.After); status == frame.Known || whole {
		jobs = append(jobs, p.orphans(d, frames, kept)...)
	}
	return jobs, whole
}

// keepAll is for refresh-only plans: it makes the refreshed objects of a resource its planned values (after face). It
// plans no changes, but evaluates the conditions of the resource.
func (p *planner) keepAll(d *program.Declaration) {
	frames, status := p.run.Frame.Instances(d.Module, frame.After)
	whole := status == frame.Known
	var all []addr.Instance
	for _, f := range frames {
		var declares frame.Keys
		p.evaluate(func(bag *diag.Bag) { declares = f.Keys(d.ID, frame.After, bag) })
		var wanted []addr.Key // the keys of the instances whose conditions are evaluated
		if declared.HasResourceConditions(d) || p.moved.Leaving[d.ID] != nil {
			wanted, whole = declares.List, whole && declares.Status == frame.Known
			p.moved.CheckLeft(d, f, wanted, p.run.Bag)
		}
		p.keep(d, f, declares)
		p.review(d, f, wanted)
		for _, k := range wanted {
			all = append(all, d.Resource.In(f.Addr()).Instance(k))
		}
	}
	if whole {
		p.expect(d, slices.Values(all))
	}
}

// keep sets the planned keys and values (after face) of a resource in one module instance, for a plan that changes no
// objects. An instance in the state has its refreshed value. It has no value if it could not be refreshed, and is
// missing if its object no longer exists. A declared instance without an object has an unknown value if the resource
// has other objects, or if the plan is for an action (-invoke). Otherwise the resource has no instances.
func (p *planner) keep(d *program.Declaration, f *frame.Frame, declares frame.Keys) {
	resource := d.Resource.In(f.Addr())
	keys := frame.Keys{Status: frame.Known, Repeat: program.RepeatOf(d.Res)}
	for _, k := range p.prior.Resource(resource).Keys() {
		cur, seen := p.state.get(resource.Instance(k).Current())
		switch {
		case cur.Entry != nil:
			f.PutLazy(d.ID, k, frame.After, func() mark.Value { return filling.StoredValue(p.run.Program, d, cur.Entry) })
		case seen:
			continue
		default:
			f.Fail(d.ID, k, frame.After)
		}
		keys.List = append(keys.List, k)
	}
	switch {
	case len(keys.List) > 0:
	case p.req.Origin == targeting.Action:
		keys.Status = declares.Status
	default:
		declares.List = nil
	}
	for _, k := range declares.List {
		o := resource.Instance(k).Current()
		if cur, _ := p.state.get(o); cur.Entry == nil && !p.state.unseen(o) {
			f.Put(d.ID, k, frame.After, p.placeholder(d))
			keys.List = append(keys.List, k)
		}
	}
	f.SetKeys(d.ID, frame.After, keys)
}

// review evaluates the conditions of the declared instances with the given keys. It skips an instance that could not be
// refreshed.
func (p *planner) review(d *program.Declaration, f *frame.Frame, wanted []addr.Key) {
	for _, k := range wanted {
		inst := d.Resource.In(f.Addr()).Instance(k)
		v, ok := f.Got(d.ID, k, frame.After)
		if !ok && p.state.unseen(inst.Current()) {
			continue
		}
		if !ok {
			v = p.placeholder(d)
		}
		p.run.Conditions.Pre(p.run.Bag, d, f, k, inst)
		p.run.Conditions.Post(p.run.Bag, d, f, k, inst, func() mark.Value { return v })
	}
}
