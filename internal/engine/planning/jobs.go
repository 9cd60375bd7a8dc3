package planning

import (
	"context"
	"maps"
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
)

// job is a declared instance to plan, or a stored object to destroy or forget.
type job struct {
	frame *frame.Frame // nil for a stored object
	key   addr.Key
	ended addr.Object // a stored object that is not declared; set instead of frame and key
	why   plan.Reason // the reason for the end of the stored object
}

// declaredJobs lists the declared instances of a resource that the targets select. The other declared instances keep
// their stored values. kept has all declared instances. If the keys in a module instance are unknown, kept has the
// stored instances in this module instance. whole is false if keys could not be evaluated, or are unknown and no later
// round (a further plan and apply of the command) decides about them.
func (p *planner) declaredJobs(d *program.Declaration) (jobs []job, kept map[addr.Instance]bool, whole bool) {
	frames, status := p.run.Frame.Instances(d.Module, frame.After)
	kept, whole = map[addr.Instance]bool{}, status == frame.Known
	if status == frame.Unknown && p.deferred.any.Load() {
		p.deferred.modules(d)
		whole = true
	}
	if !whole {
		return nil, kept, false
	}
	known := status == frame.Known
	for _, f := range frames {
		abs := d.Resource.In(f.Addr())
		keys := f.Keys(d.ID, frame.After, p.run.Bag)
		if keys.Status != frame.Known {
			whole = p.deferred.keys(d, f, keys) && whole
			for _, k := range p.prior.Resource(abs).Keys() {
				kept[abs.Instance(k)] = true
			}
			known = false
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
	if whole && known {
		p.expect(d, maps.Keys(kept))
	}
	return jobs, kept, whole
}

// keepPrior sets the planned value (after face) of an instance that -target or -exclude leaves out: its stored value,
// or an unknown value if the state has no object.
func (p *planner) keepPrior(f *frame.Frame, d *program.Declaration, k addr.Key) {
	o := d.Resource.In(f.Addr()).Instance(k).Current()
	entry := p.prior.Get(o)
	if entry == nil {
		f.Put(d.ID, k, frame.After, p.placeholder(d))
		return
	}
	f.PutLazy(d.ID, k, frame.After, func() mark.Value { return filling.StoredValue(p.run.Program, d, entry) })
}

// instance is one declared instance of a managed resource or a data source, in the graph of a plan.
type instance struct {
	p    *planner
	run  *run.Run // the parts that all nodes of the plan share; diagnostics are added to run.Bag
	d    *program.Declaration
	f    *frame.Frame
	key  addr.Key
	inst addr.Instance

	planned     bool         // the plan has a change that reads the data source
	importLater plan.Outcome // Deferred if the id of its import or the settings of its provider are unknown
}

func (p *planner) instance(d *program.Declaration, f *frame.Frame, key addr.Key) *instance {
	return &instance{p: p, run: p.run, d: d, f: f, key: key, inst: d.Resource.In(f.Addr()).Instance(key)}
}

// tools returns the tools for provider calls about the instance, and its provider instance. If the provider cannot be
// configured because settings are unknown, and the command may have a later round (plan and apply), the outcome is
// Deferred. If the provider cannot be configured for another reason, tools reports the errors, and the outcome is
// Failed. The tools are nil unless the outcome is Known.
func (x *instance) tools(ctx context.Context) (*object.Tools, declared.Use, plan.Outcome) {
	if !x.p.req.Options.Defers {
		t, u, ok := x.run.ToolsAfter(ctx, x.d, x.f, x.key, x.inst)
		return t, u, plan.Done(ok)
	}
	var bag diag.Bag
	t, u, ok := x.run.With(&bag).ToolsAfter(ctx, x.d, x.f, x.key, x.inst)
	if !ok && u.Declared && x.run.Sessions.Unknown(u) {
		x.p.deferred.blame(bag.List()...)
		return nil, u, plan.Defer(plan.ProviderConfigUnknown)
	}
	x.run.Bag.Add(bag.List()...)
	if ok {
		t.Bag = x.run.Bag
	}
	return t, u, plan.Done(ok)
}
