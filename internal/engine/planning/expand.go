package planning

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// expand determines the planned instances of a module call (the after face). In a destroy plan, expand does nothing if
// the keys refer to resources, because resources have no planned values there. It returns false if the keys of an
// instance of the call are unknown or failed, unless a later round (a further plan and apply) decides about them.
func (p *planner) expand(d *program.Declaration) bool {
	if p.req.Mode == plan.Destroy && p.run.Receivers.FromResources(d.ID) {
		return true
	}
	frames, status := p.run.Frame.Instances(d.Module, frame.After)
	ok := status == frame.Known || status == frame.Unknown && p.deferred.any.Load()
	for _, f := range frames {
		ok = p.expandIn(d, f) && ok
	}
	if !ok {
		p.outcomes.fail(d.ID)
	}
	return ok
}

func (p *planner) expandIn(d *program.Declaration, f *frame.Frame) bool {
	if p.req.Mode != plan.RefreshOnly {
		keys := f.Keys(d.ID, frame.After, p.run.Bag)
		return keys.Status == frame.Known || p.deferred.keys(d, f, keys)
	}
	// In a refresh-only plan, the declared instances need not exist yet, so an unknown count or for_each is not an
	// error.
	var bag diag.Bag
	keys := f.Keys(d.ID, frame.After, &bag)
	if keys.Status == frame.Unknown {
		f.SetKeys(d.ID, frame.After, p.stay(d, f))
		return true
	}
	p.run.Bag.Add(bag.List()...)
	return keys.Status == frame.Known
}

// stay returns the prior keys of a module call (before face), as its planned keys (after face).
func (p *planner) stay(d *program.Declaration, f *frame.Frame) frame.Keys {
	return frame.Keys{Repeat: d.Repeat(), List: slices.Clone(f.Expanded(d.ID, frame.Before).List)}
}

// leave handles a resource or module call that -target or -exclude leaves out of the plan: its stored values and keys
// become its planned values (after face). In a destroy plan it does nothing.
func (p *planner) leave(d *program.Declaration) {
	if p.req.Mode == plan.Destroy {
		return
	}
	frames, _ := p.run.Frame.Instances(d.Module, frame.After)
	for _, f := range frames {
		if d.Kind == program.Call {
			if d.Repeat() != program.Once {
				f.SetKeys(d.ID, frame.After, p.stay(d, f))
			}
			continue
		}
		stored := p.prior.Resource(d.Resource.In(f.Addr()))
		if d.Repeat() != program.Once {
			f.SetKeys(d.ID, frame.After, keysLeft(d, stored))
		} else if stored.Get(addr.NoKey) == nil {
			f.Put(d.ID, addr.NoKey, frame.After, p.placeholder(d))
		}
		for _, k := range stored.Keys() {
			p.keepPrior(f, d, k)
		}
	}
}

// keysLeft returns the keys in the state of a resource with count or for_each that -target or -exclude leaves out. If
// the state has no instances, the keys are unknown.
func keysLeft(d *program.Declaration, stored *state.Resource) frame.Keys {
	keys := frame.Keys{Repeat: d.Repeat()}
	if keys.List = stored.Keys(); len(keys.List) == 0 {
		keys.Status = frame.Unknown
	}
	return keys
}

// leaveBefore sets the prior values (before face) of objects that -target or -exclude leaves out: their stored values,
// because the plan does not refresh these objects.
func (p *planner) leaveBefore() {
	if !p.sel.Active {
		return
	}
	for _, res := range p.prior.Resources() {
		d, ok := p.run.Program.Resource(res.Addr.Resource())
		if !ok || d.Resource.Mode != addr.Managed {
			continue
		}
		f := p.run.Frame.At(res.Addr.Module, frame.Before)
		if f == nil {
			continue
		}
		for o, e := range res.Objects() {
			if !o.IsDeposed() && !p.sel.Includes(o.Instance) {
				f.PutLazy(d.ID, o.Key, frame.Before, func() mark.Value { return filling.StoredValue(p.run.Program, d, e) })
			}
		}
	}
}
