package variables

import (
	"cmp"

	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/operation"
)

// FrameOptions returns the options of a frame (an evaluator of expressions) for an operation: values of variables,
// paths and limits.
func (v *Values) FrameOptions(of operation.Operation) frame.Options {
	d := v.dir
	return frame.Options{
		Variables: v.Given, Workspace: workdir.Workspaces(d.Call).Selected(), Applying: of.Policy().Applying,
		RootDir: d.Root, Cwd: cmp.Or(d.Call.Called, d.Path), BaseDir: d.Path, Named: d.Call.Named,
		Limits: d.Settings.Limits, Closed: d.Settings.Disabled,
	}
}

// StaticOptions returns the options of static evaluations, which happen before the configuration is compiled. Such
// evaluations ask the user for missing variables, if the user may be asked.
func (v *Values) StaticOptions() frame.Options {
	o := v.FrameOptions(operation.None)
	if v.dir.MayAsk() {
		o.Run = asker{v: v}
	}
	return o
}

// asker asks for variables during static evaluations, which happen before the configuration is compiled. Functions of
// providers are not available.
type asker struct {
	frame.NoRun
	v *Values
}

// Ask asks the user for the value of a root variable. It returns false if the user does not answer. It implements
// frame.Run.
func (a asker) Ask(of *config.Variable) bool { return a.v.Ask(of) }
