package suite

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/zclconf/go-cty/cty"
)

// execution is the state of a file in progress.
type execution struct {
	suite  *Suite
	file   *File
	states map[string]*kept
	given  map[string]frame.Given // the result of givenTo
	fixed  fixed
	// asserted holds the variables to which assertions and canaries (values that must not leak) of the runs refer. All
	// runs use the same set, so that they can share compiled programs.
	asserted map[string]bool
}

// fixed holds the values of the file's variables block. Each value is evaluated only once, so that all runs get the
// same result of uuid() or timestamp().
type fixed struct {
	mu     sync.Mutex
	values map[string]frame.Given
}

// givenTo returns the values from outside the file, for the directory of the file. Variables without a value have the
// default of the file's variable block.
func (s *Suite) givenTo(f *File) map[string]frame.Given {
	given := map[string]frame.Given{}
	maps.Copy(given, s.Given[f.Dir])
	for name, v := range f.Declared {
		if _, set := given[name]; !set && v.Default != cty.NilVal {
			given[name] = frame.Given{Value: v.Default, From: f.Name, Range: v.Range}
		}
	}
	return given
}

// used returns the states that runs changed, in the order of their last use.
func (x *execution) used() []*kept {
	x.suite.mu.Lock()
	defer x.suite.mu.Unlock()
	var out []*kept
	for _, k := range x.states {
		if k.by != nil {
			out = append(out, k)
		}
	}
	slices.SortFunc(out, func(a, b *kept) int {
		return slices.Index(x.file.Runs, a.by) - slices.Index(x.file.Runs, b.by)
	})
	return out
}

// state returns the state that a run uses. If the run has a backend block, and the state is not open yet, state opens
// it. If that fails, state reports an error and returns false.
func (x *execution) state(ctx context.Context, key string, r *Run, bag *diag.Bag) (*kept, bool) {
	x.suite.mu.Lock()
	k := x.states[key]
	if k == nil {
		k = &kept{snapshot: &state.Snapshot{}}
		k.begin = func() Noted { return x.suite.States.Begin(x.kept(k, r, &state.Snapshot{}, true)) }
		x.states[key] = k
	}
	x.suite.mu.Unlock()
	if r.Backend == nil || k.place != nil {
		return k, true
	}
	place, ok := x.suite.States.Open(ctx, r, bag)
	if ok {
		k.place = place
		k.set(place.Snapshot())
	}
	return k, ok
}

// kept is a state with the settings of the last run that changed it.
type kept struct {
	mu       sync.Mutex
	snapshot *state.Snapshot
	changed  []journal.Change // the changes since snapshot that an apply in progress has made
	by       *Run             // the last run that changed the state; nil before the first change
	how      how              // the settings of by
	stays    *Run             // the last run with skip_cleanup, whose objects stay; nil without such a run
	asItWas  how              // the settings of stays
	of       *Kept            // the state from an earlier call whose objects this call destroys; nil in a test
	place    Place            // the state in a store, if a run has a backend block; nil if the state is only in memory
	begin    func() Noted     // opens the journal; nil if the state needs no journal, or if it was opened
	journal  Noted            // the journal of the state; nil if no journal is open
}

// stay reports whether the objects of the state must not be destroyed.
func (k *kept) stay() bool { return k.place != nil || k.stays != nil }

// set stores the state after an apply.
func (k *kept) set(s *state.Snapshot) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.snapshot, k.changed = s, nil
}

// now returns the state with the changes of an apply in progress.
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

// how holds the settings with which a run is planned and applied.
type how struct {
	program *program.Program
	engine  *engine.Engine
	options frame.Options
}

// look is a frame (the values of the declarations) and the face that assertions read. The face selects the planned
// objects or the applied objects.
type look struct {
	frame *frame.Frame
	face  frame.Face
}

// outputs returns the outputs of the root module, in the form in which later runs read them. Outputs without a value
// are unknown.
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

// kept returns a state for writing to a file. failed is true if the objects could not be destroyed, or if this is not
// known yet, and false if skip_cleanup keeps them. The result also contains the outputs of earlier runs that run r
// uses: a later call needs them, and the earlier runs may have left no other record of them.
func (x *execution) kept(k *kept, r *Run, s *state.Snapshot, failed bool) Kept {
	out := Kept{File: x.file.Name, Run: r.Name, State: x.withOutputs(s, r), Failed: failed}
	if k.of != nil {
		out.Written = k.of.Written
	}
	return out
}

// withOutputs returns a state with the outputs of earlier runs that run r uses. The names of these outputs have the
// prefix of testfile.RunVariable, which no output of a module has.
func (x *execution) withOutputs(s *state.Snapshot, r *Run) *state.Snapshot {
	uses := x.file.Uses(r.Run)
	e := s.Edit()
	for _, earlier := range slices.Concat(r.after, r.beside) {
		if earlier.outputs == cty.NilVal || !uses.Use(earlier.Name) {
			continue
		}
		for name, v := range earlier.outputs.AsValueMap() {
			value := mark.Split(v)
			if value.Has(mark.Ephemeral) || !value.Raw.IsWhollyKnown() {
				continue
			}
			o := state.Output{Value: value, Type: value.Raw.Type(), Sensitive: value.Has(mark.Sensitive)}
			e.Output(testfile.RunVariable(earlier.Name)+"."+name, o)
		}
	}
	return e.Done()
}
