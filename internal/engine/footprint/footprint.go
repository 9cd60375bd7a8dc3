// Package footprint finds out which parts of a state a plan works on: what it changes, and what that is made from.
//
// It goes by the references of the program, each as seen from the module instance that has it: a reference that leaves a
// module instance and comes back into its module means all instances there. What only the state knows goes by the
// dependencies that the state records. Nothing is evaluated. Two runs whose parts do not meet (store.Parts) change
// nothing that the other's changes are made from: carried out in either order, or at once, they leave the same.
package footprint

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Finder finds footprints in one program. It is for one goroutine.
type Finder struct {
	program *program.Program
	known   map[place][]need
}

// place is a declaration as far as its module instance is known: in an instance of its module, or in any below
// one that is around it.
type place struct {
	decl program.Decl
	at   addr.ModuleInstance
}

// need is a resource in and below a module instance.
type need struct {
	at  addr.ModuleInstance
	res addr.Resource
}

// New makes a finder.
func New(p *program.Program) *Finder { return &Finder{p, map[place][]need{}} }

// most is how many parts are listed: more than that are all of the state.
const most = 100_000

// Plan is what a plan works on. It is all of the state where that is not known: of plans that only refresh, and of
// those that leave something for later.
func (f *Finder) Plan(pl *plan.Plan) store.Parts {
	p := store.Parts{}
	if pl.Mode == plan.RefreshOnly || len(pl.Deferred) > 0 {
		parts.Whole(p)
	}
	for _, c := range pl.Changes {
		if c.Action == plan.NoOp && c.Importing == nil && c.Was == c.Object {
			continue
		}
		recorded := c.Recorded
		if c.Entry != nil {
			recorded = slices.Concat(recorded, c.Entry.Recorded)
		}
		f.change(p, c.Object.Instance, recorded)
		if c.Was != c.Object {
			parts.Change(p, c.Was.Instance)
		}
	}
	for _, o := range pl.Outputs {
		if o.Action == plan.NoOp {
			continue
		}
		parts.Output(p, o.Name)
		if d, ok := f.program.Lookup(addr.Module{}, program.Output, o.Name); ok {
			f.need(p, f.needs(place{d.ID, addr.ModuleInstance{}}))
		}
	}
	if len(p) > most {
		p = store.Parts{}
		parts.Whole(p)
	}
	return p
}

// Object is what a run worked on that left an object as a state has it: an entry that is there, or was.
func (f *Finder) Object(o addr.Object, e *state.Entry) store.Parts {
	p := store.Parts{}
	f.change(p, o.Instance, e.Recorded)
	return p
}

func (f *Finder) change(p store.Parts, i addr.Instance, recorded []addr.Resource) {
	parts.Change(p, i)
	covered := map[addr.Resource]bool{i.Resource(): true}
	if d, ok := f.program.Resource(i.Resource()); ok {
		needs := f.needs(place{d.ID, i.Module})
		f.need(p, needs)
		for _, n := range needs {
			covered[n.res] = true
		}
	}
	// Which instances of a module these are in is not recorded.
	for _, r := range recorded {
		if !covered[r] {
			parts.Need(p, addr.ModuleInstance{}, r)
		}
	}
}

func (f *Finder) need(p store.Parts, needs []need) {
	for _, n := range needs {
		parts.Need(p, n.at, n.res)
	}
}

// needs are the resources that a declaration is made from: managed ones, and data sources with what these are made
// from. What a managed resource is made from matters where it changes, and then it is changed, too.
func (f *Finder) needs(from place) []need {
	if known, ok := f.known[from]; ok {
		return known
	}
	var out []need
	decls := f.program.Decls()
	self := decls[from.decl].Resource
	seen := map[place]bool{from: true}
	for queue := []place{from}; len(queue) > 0; queue = queue[1:] {
		d, at := decls[queue[0].decl], queue[0].at
		if d.Kind == program.Variable { // its value is an argument of the call, and stands where that does
			at = at.Around(d.Module.Parent())
		}
		for _, ref := range f.program.Refs(d.ID) {
			to := decls[ref.To]
			next := place{to.ID, at.Around(to.Module)}
			if seen[next] {
				continue
			}
			seen[next] = true
			if to.Kind == program.Resource && to.Resource.Mode != addr.Ephemeral {
				if to.Resource != self || next.at != from.at {
					out = append(out, need{next.at, to.Resource})
				}
				if to.Resource.Mode == addr.Managed {
					continue
				}
			}
			queue = append(queue, next)
		}
	}
	f.known[from] = out
	return out
}
