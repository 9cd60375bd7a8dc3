package planning

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// decideAll decides about all instances of a managed resource: the declared ones, and those in
// the state that are declared no longer.
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
			return (&goneObject{p, j.gone, j.why, d}).decide(ctx)
		}
		defer p.leaseUsers.InstanceOver(d.ID, j.frame.Addr(), j.key)
		return p.instance(d, j.frame, j.key).decide(ctx)
	})
	return ok
}

// jobs lists what a resource's node has to decide. Unknown or failed keys decide nothing about
// existing instances: none is an orphan.
func (p *planner) jobs(d *program.Declaration) ([]job, bool) {
	if p.req.Mode == plan.Destroy {
		return p.allGone(d), true
	}
	jobs, kept, whole := p.declaredJobs(d)
	if frames, status := p.run.Frame.Instances(d.Module, frame.After); status == frame.Known {
		jobs = append(jobs, p.orphans(d, frames, kept)...)
	}
	return jobs, whole
}

// keepAll fills the after face with what was found: nothing is decided.
func (p *planner) keepAll(d *program.Declaration) {
	frames, status := p.run.Frame.Instances(d.Module, frame.After)
	whole := status == frame.Known
	var all []addr.Instance
	for _, f := range frames {
		var declares frame.Keys
		p.evaluate(func(bag *diag.Bag) { declares = f.Keys(d.ID, frame.After, bag) })
		var wanted []addr.Key // of which conditions are looked at
		if declared.HasResourceConditions(d) || p.moved.Leaving[d.ID] != nil {
			wanted, whole = declares.List, whole && declares.Status == frame.Known
			p.moved.CheckLeft(d, f, wanted, p.run.Bag)
		}
		p.keep(d, f, declares.List)
		p.review(d, f, wanted)
		for _, k := range wanted {
			all = append(all, d.Resource.In(f.Addr()).Instance(k))
		}
	}
	if whole {
		p.expect(d, slices.Values(all))
	}
}

// keep fills the after face of one module instance. Nothing is known of instances that are declared and not there,
// where others are; a resource of which nothing is there has none.
func (p *planner) keep(d *program.Declaration, f *frame.Frame, declares []addr.Key) {
	resource := d.Resource.In(f.Addr())
	keys := frame.Keys{Status: frame.Known, Repeat: program.RepeatOf(d.Res)}
	for _, k := range p.prior.Resource(resource).Keys() {
		cur, seen := p.refreshed(resource.Instance(k).Current())
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
	if len(keys.List) == 0 {
		declares = nil
	}
	for _, k := range declares {
		o := resource.Instance(k).Current()
		if cur, _ := p.refreshed(o); cur.Entry == nil && !p.unseen(o) {
			f.Put(d.ID, k, frame.After, p.placeholder(d))
			keys.List = append(keys.List, k)
		}
	}
	f.SetKeys(d.ID, frame.After, keys)
}

// review evaluates the conditions of declared instances that were found, or are not there yet.
func (p *planner) review(d *program.Declaration, f *frame.Frame, wanted []addr.Key) {
	for _, k := range wanted {
		inst := d.Resource.In(f.Addr()).Instance(k)
		v, ok := f.Got(d.ID, k, frame.After)
		if !ok && p.unseen(inst.Current()) {
			continue
		}
		if !ok {
			v = p.placeholder(d)
		}
		p.run.Pre(d, f, k, inst)
		p.run.Post(d, f, k, inst, func() mark.Value { return v })
	}
}
