package planning

import (
	"context"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// job is one instance to decide about.
type job struct {
	frame *frame.Frame
	key   addr.Key
	gone  addr.Object // set instead: an object that nothing declares any more
	why   plan.Reason
}

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

// declaredJobs lists the declared instances of a resource that are to be dealt with; those that targeting leaves out
// keep what they have. It also gives all that are declared or, where that is not known, may be, and whether it is
// known.
func (p *planner) declaredJobs(d *program.Declaration) (jobs []job, kept map[addr.Instance]bool, whole bool) {
	frames, status := p.run.Frame.Instances(d.Module, frame.After)
	kept, whole = map[addr.Instance]bool{}, status == frame.Known
	if !whole {
		return nil, kept, false
	}
	for _, f := range frames {
		abs := d.Resource.In(f.Addr())
		keys := f.Keys(d.ID, frame.After, p.run.Bag)
		if keys.Status != frame.Known {
			whole = false
			for _, k := range p.prior.Resource(abs).Keys() {
				kept[abs.Instance(k)] = true
			}
			continue
		}
		p.moved.CheckLeft(d, f, keys.List, p.run.Bag)
		jobs = slices.Grow(jobs, len(keys.List))
		for _, k := range keys.List {
			kept[abs.Instance(k)] = true
			if !p.sel.Includes(abs.Instance(k)) {
				p.keepPrior(f, d, k)
				continue
			}
			jobs = append(jobs, job{frame: f, key: k})
		}
	}
	if whole {
		p.expect(d, maps.Keys(kept))
	}
	return jobs, kept, whole
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

// refreshed gives what refreshing found of an object, and whether it did: an object that is gone has no entry.
func (p *planner) refreshed(o addr.Object) (object.Current, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cur, seen := p.found[o]
	return cur, seen
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

// keepPrior fills the slot of an instance that targeting leaves out with what is stored.
func (p *planner) keepPrior(f *frame.Frame, d *program.Declaration, k addr.Key) {
	o := d.Resource.In(f.Addr()).Instance(k).Current()
	entry := p.prior.Get(o)
	if entry == nil {
		f.Put(d.ID, k, frame.After, p.placeholder(d))
		return
	}
	f.PutLazy(d.ID, k, frame.After, func() mark.Value { return filling.StoredValue(p.run.Program, d, entry) })
}

// placeholder is the value of an instance that nothing is known about.
func (p *planner) placeholder(d *program.Declaration) mark.Value {
	return mark.Plain(p.run.Program.Schema(d.ID).Unknown())
}

// faceOf is the one on which what decides about the end of objects is evaluated: as everything that
// goes down it is served by what is there, where the module instance is.
func (p *planner) faceOf(f *frame.Frame) frame.Face {
	if p.run.Frame.At(f.Addr(), frame.Before) == nil {
		return frame.After
	}
	return frame.Before
}

// allowed refuses a change that lifecycle.prevent_destroy forbids.
func (p *planner) allowed(d *program.Declaration, f *frame.Frame, c *plan.Change) bool {
	if !c.Action.Downs() || c.Action == plan.Forget || c.Object.IsDeposed() || d.Res.Lifecycle.PreventDestroy == nil {
		return true
	}
	prevent, out := f.PreventDestroy(d.ID, p.faceOf(f), p.run.Bag)
	if out != frame.OK {
		return false
	}
	if !prevent {
		return true
	}
	p.run.Bag.Add(diag.Errorf("Instance cannot be destroyed",
		"Resource %s has lifecycle.prevent_destroy set, but the plan calls for this resource to be destroyed. To avoid this error and continue with the plan, either disable lifecycle.prevent_destroy or reduce the scope of the plan using the -target option.",
		c.Object.Instance).At(d.Res.Range).About(c.Object.Instance))
	return false
}
