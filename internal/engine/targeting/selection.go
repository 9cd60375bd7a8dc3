package targeting

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Selection is the set of instances that -target and -exclude select. The zero Selection includes all instances.
type Selection struct {
	Active  bool
	targets []addr.Target
	exclude []addr.Target
	whole   map[addr.Resource]bool              // all instances, because a selected declaration refers to the resource
	some    map[addr.Resource]map[addr.Key]bool // the instances, in every module instance, that selected declarations refer to by key
	within  map[addr.Resource][]addr.Target     // the instances that are needed only inside the module instance of a target
	Named   map[addr.Resource]bool              // resources that a target covers: their instances in the target are selected
	left    map[addr.Resource][]addr.Target     // instances that are left out because they depend on excluded instances
	decls   map[program.Decl]bool               // all selected declarations
	stay    map[addr.Instance]bool              // excluded objects and their dependencies in the state: they are not destroyed if they are no longer declared
	objects map[addr.Instance]bool              // in a partial destroy plan: the selected instances. Includes then uses only these
}

// Includes reports whether the selection includes an instance.
func (s *Selection) Includes(i addr.Instance) bool {
	if !s.Active {
		return true
	}
	if s.objects != nil {
		return s.objects[i]
	}
	res := i.Resource()
	if len(s.exclude) > 0 {
		return s.whole[res] && !contains(s.exclude, i) && !contains(s.left[res], i)
	}
	return s.whole[res] || s.some[res][i.Key] || contains(s.within[res], i) || s.Named[res] && contains(s.targets, i)
}

// Stays reports whether an object that is no longer declared must not be destroyed, because it is excluded or an
// excluded object depends on it.
func (s *Selection) Stays(i addr.Instance) bool { return s.stay[i] }

// Skips reports whether the selection excludes a declaration completely.
func (s *Selection) Skips(d program.Decl) bool { return s.Active && !s.decls[d] }

func contains(targets []addr.Target, i addr.Instance) bool {
	return slices.ContainsFunc(targets, func(t addr.Target) bool { return t.Contains(i) })
}

// Request has the addresses to select, and the program and the state.
type Request struct {
	Program   *program.Program
	Receivers *receivers.Analysis
	Prior     *state.Snapshot                     // after moves
	Stored    map[addr.Resource][]*state.Resource // the resources of Prior, by declaration
	Targets   []addr.Target
	Excludes  []addr.Target
	Replace   []addr.Instance // the instances in -replace options: a missing one causes a warning, and they select nothing
	Mode      plan.Mode
	Origin    Origin // the reason for Targets
}

// Origin is the reason for the targets of a plan.
type Origin uint8

// The origins.
const (
	Options Origin = iota // -target: the user chose them, and gets warnings about them
	Imports               // the import command: the arguments of a target are not evaluated, so only the dependencies of the import are selected
	Action                // -invoke: the first target is an action, the others are the objects that may be its caller
	Changes               // changes since the last apply: there may be none, and then only values are selected
)

// selector computes a selection.
type selector struct {
	request Request
	bag     *diag.Bag
}
