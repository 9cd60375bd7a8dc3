package planning

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
)

// job is an instance or an object to decide about.
type job struct {
	frame *frame.Frame
	key   addr.Key
	ended addr.Object // an object that is no longer declared; set instead of frame and key
	why   plan.Reason
}

// declaredJobs lists the declared instances of a resource that targeting selects. The others keep their stored values.
// kept contains all declared instances; if the keys in a module instance are not known, it contains the stored
// instances there. whole is false if some keys are not known.
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

// keepPrior sets the after value of an instance that targeting leaves out to its stored value, or to an unknown value
// if it has none.
func (p *planner) keepPrior(f *frame.Frame, d *program.Declaration, k addr.Key) {
	o := d.Resource.In(f.Addr()).Instance(k).Current()
	entry := p.prior.Get(o)
	if entry == nil {
		f.Put(d.ID, k, frame.After, p.placeholder(d))
		return
	}
	f.PutLazy(d.ID, k, frame.After, func() mark.Value { return filling.StoredValue(p.run.Program, d, entry) })
}

// faceOf returns the face for the evaluation of settings about the end of objects: the before face, or the after face
// if the module instance does not exist on the before face.
func (p *planner) faceOf(f *frame.Frame) frame.Face {
	if p.run.Frame.At(f.Addr(), frame.Before) == nil {
		return frame.After
	}
	return frame.Before
}

// allowed reports whether lifecycle.prevent_destroy permits a change. It reports an error if not.
func (p *planner) allowed(d *program.Declaration, f *frame.Frame, c *plan.Change) bool {
	if p.req.Operation.Policy().DestroysProtected || !c.Action.Downs() || c.Action == plan.Forget || c.Action == plan.ForgetCreate || c.Object.IsDeposed() || d.Res.Lifecycle.PreventDestroy == nil {
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
		"Resource %s has lifecycle.prevent_destroy set, but the plan calls for this resource to be destroyed. Remove prevent_destroy, or leave the resource out of the plan with -exclude or -target.",
		c.Object.Instance).At(d.Res.Range).About(c.Object.Instance))
	return false
}

// instance is one declared instance of a managed resource or a data source, in a plan walk.
type instance struct {
	p    *planner
	run  *run.Run // its bag receives the diagnostics
	d    *program.Declaration
	f    *frame.Frame
	key  addr.Key
	inst addr.Instance

	planned bool // the plan has a change for reading it
}

// instance returns the instance with the key of a declaration in a frame.
func (p *planner) instance(d *program.Declaration, f *frame.Frame, key addr.Key) *instance {
	return &instance{p: p, run: p.run, d: d, f: f, key: key, inst: d.Resource.In(f.Addr()).Instance(key)}
}
