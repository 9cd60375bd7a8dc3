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
		var wanted []addr.Key // of which conditions are looked at
		if declared.HasResourceConditions(d) || p.moved.Leaving[d.ID] != nil {
			declares := f.Keys(d.ID, frame.After, &diag.Bag{})
			wanted, whole = declares.List, whole && declares.Status == frame.Known
			p.moved.CheckLeft(d, f, wanted, p.run.Bag)
		}
		stored := p.prior.Resource(d.Resource.In(f.Addr()))
		keys := frame.Keys{Status: frame.Known, Repeat: program.RepeatOf(d.Res)}
		for _, k := range stored.Keys() {
			o := stored.Addr.Instance(k).Current()
			cur, seen := p.refreshed(o)
			if seen && cur.Entry == nil {
				continue
			}
			keys.List = append(keys.List, k)
			if cur.Entry != nil {
				f.PutLazy(d.ID, k, frame.After, func() mark.Value { return filling.StoredValue(p.run.Program, d, cur.Entry) })
			} else {
				f.Fail(d.ID, k, frame.After)
			}
		}
		f.SetKeys(d.ID, frame.After, keys)
		p.review(d, f, wanted)
		for _, k := range wanted {
			all = append(all, d.Resource.In(f.Addr()).Instance(k))
		}
	}
	if whole {
		p.expect(d, slices.Values(all))
	}
}

// review evaluates the conditions of declared instances that were found, or are not there yet.
func (p *planner) review(d *program.Declaration, f *frame.Frame, wanted []addr.Key) {
	for _, k := range wanted {
		inst := d.Resource.In(f.Addr()).Instance(k)
		v, ok := f.Got(d.ID, k, frame.After)
		if _, seen := p.refreshed(inst.Current()); !ok && !seen && p.prior.Get(inst.Current()) != nil {
			continue // it could not be looked at
		}
		if !ok {
			v = p.placeholder(d)
		}
		p.run.Pre(d, f, k, inst)
		p.run.Post(d, f, k, inst, func() mark.Value { return v })
	}
}
