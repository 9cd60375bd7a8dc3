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

// Selection is the set of instances that a plan covers, for example because of -target or -exclude. Without Active, it
// includes all instances.
type Selection struct {
	Active  bool
	targets []addr.Target
	exclude []addr.Target
	// whole has the resources of which every instance is selected. With -exclude, it has the resources that are not
	// excluded as a whole, and the selection omits their instances in exclude and left.
	whole   map[addr.Resource]bool
	some    map[addr.Resource]map[addr.Key]bool // by resource: the keys of instances to which selected declarations refer, in every module instance
	within  map[addr.Resource][]addr.Target     // by resource: instances that are selected only inside the module instance of a target
	Named   map[addr.Resource]bool              // resources with instances that a target names
	left    map[addr.Resource][]addr.Target     // by resource: instances that are not selected because they depend on excluded instances
	decls   map[program.Decl]bool               // all selected declarations
	stay    map[addr.Instance]bool              // excluded objects and the objects on which they depend in the state; they are not destroyed if they are no longer declared
	objects map[addr.Instance]bool              // in a destroy plan with -target or -exclude: the selected instances; if it is not nil, Includes uses only this field
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

// Skips reports whether the selection includes no instance of the declaration d.
func (s *Selection) Skips(d program.Decl) bool { return s.Active && !s.decls[d] }

func contains(targets []addr.Target, i addr.Instance) bool {
	return slices.ContainsFunc(targets, func(t addr.Target) bool { return t.Contains(i) })
}

// Request holds the inputs of Select.
type Request struct {
	Program   *program.Program
	Receivers *receivers.Analysis
	Prior     *state.Snapshot                     // the state after the moves of moved blocks
	Stored    map[addr.Resource][]*state.Resource // the resources of Prior, by declaration
	Targets   []addr.Target
	Excludes  []addr.Target
	Replace   []addr.Instance // the instances in -replace options: they select nothing, and Select warns about a missing instance
	Mode      plan.Mode
	Origin    Origin // the option or command from which Targets come
}

// Origin tells which option or command has chosen the targets of a plan.
type Origin uint8

// The origins.
const (
	Options Origin = iota // -target and -exclude: the user gets warnings about an incomplete plan and about addresses without objects
	Imports               // the import command: the arguments of a target are not evaluated, so only declarations that the import itself needs are selected
	Action                // -invoke: the first target is an action, the others are the objects that may be its caller
	Changes               // plan -changed: Lethe chose the resources that changed since the last apply. Without such resources, only outputs and conditions are selected
)

// selector computes a selection.
type selector struct {
	request Request
	bag     *diag.Bag
}
