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

// execution is a file while it runs.
type execution struct {
	suite  *Suite
	file   *File
	states map[string]*kept
	given  map[string]frame.Given // by givenTo
	fixed  fixed
	// asserted are the variables that what runs assert refers to: those of all runs, so that these agree about programs.
	asserted map[string]bool
}

// fixed are the values of the file's variables block. Each is evaluated once, so that runs agree about uuid() or timestamp().
type fixed struct {
	mu     sync.Mutex
	values map[string]frame.Given
}

// givenTo are the values from outside, for the directory that a file is in, and the defaults of its variable blocks where
// there are none.
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

// used are the states that runs changed, the last used last.
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

// state gives the state that a run works with, and opens it where it has a backend.
func (x *execution) state(ctx context.Context, key string, r *Run, bag *diag.Bag) (*kept, bool) {
	x.suite.mu.Lock()
	k := x.states[key]
	if k == nil {
		k = &kept{snapshot: &state.Snapshot{}}
		if begin := x.suite.Begin; begin != nil {
			k.begin = func() Noted { return begin(x.kept(k, r, &state.Snapshot{}, true)) }
		}
		x.states[key] = k
	}
	x.suite.mu.Unlock()
	if r.Backend == nil || k.place != nil {
		return k, true
	}
	place, ok := x.suite.Open(ctx, r, bag)
	if ok {
		k.place = place
		k.set(place.Snapshot())
	}
	return k, ok
}

// kept is a state, and how to work with it: as the last run did that changed it.
type kept struct {
	mu       sync.Mutex
	snapshot *state.Snapshot
	changed  []journal.Change // since, by an apply that goes on
	by       *Run             // the last run that changed it; nil before the first
	how      how              // as that run
	stays    *Run             // the last run that says that it stays
	asItWas  how              // as that run
	of       *Kept            // what an earlier call left, and this one destroys; nil in a test
	place    Place            // of a backend; nil: it is in memory
	begin    func() Noted     // begins its journal; nil: it has none, or has begun
	journal  Noted            // nil: there is none
}

// stay reports whether the state is not to be destroyed.
func (k *kept) stay() bool { return k.place != nil || k.stays != nil }

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

// kept is a state as it is written: with the outputs of earlier runs that its run uses, which may be all that is left of
// these.
func (x *execution) kept(k *kept, r *Run, s *state.Snapshot, failed bool) Kept {
	out := Kept{File: x.file.Name, Run: r.Name, State: x.withOutputs(s, r), Failed: failed}
	if k.of != nil {
		out.Written = k.of.Written
	}
	return out
}

// withOutputs adds outputs of earlier runs that a run uses to a state, under the names that refer to them. No output of a
// module is called so.
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
