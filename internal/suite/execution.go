package suite

import (
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// execution is a file while it runs.
type execution struct {
	suite   *Suite
	file    *File
	outputs map[string]cty.Value // of the runs so far
	states  map[string]*kept
	used    []*kept // the last used last
}

// kept is a state, and how to work with it: as the last run did that changed it.
type kept struct {
	snapshot *state.Snapshot
	by       *Run
	how      how
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
