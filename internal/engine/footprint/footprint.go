// Package footprint determines the parts of a state that a plan reads or changes: the changed objects and root outputs,
// and their dependencies. A part is a resource or a root output in the state. Runs that use different parts may run at
// the same time.
//
// It follows the references of the program from a declaration in one module instance. If references leave the module
// and return to it, they mean all instances of that module below the common ancestor. A changed object also needs the
// dependencies that the state records for it: an object without a declaration has no other dependencies. The package
// evaluates nothing.
//
// Parts of two runs conflict if one run changes a part that the other run reads or changes (store.Parts). Runs without
// a conflict have the same result one after the other, in either order, and at the same time.
package footprint

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/store"
)

// Finder finds the parts of the state that plans of one program use. Its methods must not be called concurrently.
type Finder struct {
	program *program.Program
	known   map[place][]need
}

// place is a declaration in a module instance. If at is an instance of an ancestor of the declaration's module, the
// place is the declaration in all module instances below this instance.
type place struct {
	decl program.Decl
	at   addr.ModuleInstance
}

// need is a dependency on a resource in a module instance and in all module instances below it.
type need struct {
	at  addr.ModuleInstance
	res addr.Resource
}

// New returns a Finder for a program.
func New(p *program.Program) *Finder { return &Finder{p, map[place][]need{}} }

// most is the maximum number of parts of one plan. If a plan uses more parts, Plan returns the whole state.
const most = 100_000

// Plan returns the parts of the state that a plan reads or changes. It returns the whole state in three cases: the plan
// is refresh-only, it has deferred changes, whose parts are not known, or it has more parts than the constant most.
func (f *Finder) Plan(pl *plan.Plan) store.Parts {
	p := store.Parts{}
	if pl.Mode == plan.RefreshOnly || len(pl.Deferred) > 0 {
		parts.WholeState(p)
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
		parts.WholeState(p)
	}
	return p
}

// Object returns the parts of the state that a change of the object o reads or changes. e is the state entry that the
// change wrote or removed.
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
	// The state does not record the module instances of dependencies, so the change needs the dependency in all module
	// instances.
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

// needs returns the resources on which a declaration depends: managed resources, and data sources with their
// dependencies. needs does not follow the references of managed resources: a changed managed resource is in the
// footprint itself, with its dependencies, and the value of an unchanged managed resource comes from the state.
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
		if d.Kind == program.Variable { // the value of a variable is an argument of the module call, which is in the parent module
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
