package targeting

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/state"
)

// Selection is what -target and -exclude leave to do. The zero selection leaves everything.
type Selection struct {
	Active  bool
	targets []addr.Target
	exclude []addr.Target
	whole   map[addr.Resource]bool              // selected because something selected needs it: all instances
	some    map[addr.Resource]map[addr.Key]bool // and where that is certain, the instances that it needs, in every module instance
	within  map[addr.Resource][]addr.Target     // and what is needed in the module instance only that a target is about
	Named   map[addr.Resource]bool              // selected by name: the instances that a target contains
	left    map[addr.Resource][]addr.Target     // left out because they need what is excluded
	decls   map[program.Decl]bool               // everything selected
	objects map[addr.Instance]bool              // in a destroy of targets: the instances that go, and nothing else of the above
}

// Includes reports whether an instance is to be dealt with.
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

// Skips reports whether nothing of a declaration is to be dealt with.
func (s *Selection) Skips(d program.Decl) bool { return s.Active && !s.decls[d] }

func contains(targets []addr.Target, i addr.Instance) bool {
	return slices.ContainsFunc(targets, func(t addr.Target) bool { return t.Contains(i) })
}

// Request says what to select from.
type Request struct {
	Program   *program.Program
	Receivers *receivers.Analysis
	Prior     *state.Snapshot                     // where everything has moved
	Stored    map[addr.Resource][]*state.Resource // the same, by what declares it
	Targets   []addr.Target
	Excludes  []addr.Target
	Replace   []addr.Instance // what is to be replaced, in no way a selection
	Destroy   bool            // everything that is selected is to be destroyed
	Changed   bool            // the targets are what changed, and may be none; as with Quiet, nothing is said of them
	Quiet     bool            // the targets are those of the import command: nothing is said of them, and their arguments need nothing
}

// selector works out a selection.
type selector struct {
	request Request
	bag     *diag.Bag
}
