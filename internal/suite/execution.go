package suite

import (
	"sync"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/zclconf/go-cty/cty"
)

// execution is a file while it runs.
type execution struct {
	suite   *Suite
	file    *File
	outputs map[string]cty.Value // of the runs so far
	states  map[string]*kept
	// asserted are the variables that what runs assert refers to: those of all runs, so that these agree about programs.
	asserted map[string]bool
	used     []*kept // the last used last
}

// kept is a state, and how to work with it: as the last run did that changed it.
type kept struct {
	mu       sync.Mutex
	snapshot *state.Snapshot
	changed  []journal.Change // since, by an apply that goes on
	by       *Run
	how      how
}

// Intent implements journal.Journal: what an apply changes is known at each moment, should the program have to end at once.
func (k *kept) Intent(journal.Intent) (journal.Op, error) { return 0, nil }

// Later implements journal.Journal.
func (k *kept) Later(over func(error), _ journal.Op, changed ...journal.Change) {
	k.mu.Lock()
	k.changed = append(k.changed, changed...)
	k.mu.Unlock()
	over(nil)
}

// set takes the state that an apply left.
func (k *kept) set(s *state.Snapshot) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.snapshot, k.changed = s, nil
}

// now is the state as it is at this moment.
func (k *kept) now() *state.Snapshot {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.changed) == 0 {
		return k.snapshot
	}
	e := k.snapshot.Edit()
	for _, c := range k.changed {
		e.Put(c.Object, c.Entry)
	}
	return e.Done()
}

// how is how a run is planned and applied.
type how struct {
	program *program.Program
	engine  *engine.Engine
	options frame.Options
}

// look is where to look at what a run planned or made.
type look struct {
	frame *frame.Frame
	face  frame.Face
}

// outputs are those of a root module, as later runs see them.
func (l look) outputs() cty.Value {
	out := map[string]cty.Value{}
	for name := range l.frame.Program().Tree().Root.Module.Outputs {
		v, outcome := l.frame.Named(program.Output, name, l.face, &diag.Bag{})
		if outcome == frame.OK {
			out[name] = v.Join()
		} else {
			out[name] = cty.DynamicVal
		}
	}
	return cty.ObjectVal(out)
}
