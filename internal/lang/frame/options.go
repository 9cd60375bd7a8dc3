package frame

import (
	"path/filepath"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/zclconf/go-cty/cty"
)

// Face is one of the two times that every value has.
type Face uint8

// The faces.
const (
	Before Face = iota // what is there
	After              // what will be
)

// Other is the other face.
func (f Face) Other() Face {
	if f == Before {
		return After
	}
	return Before
}

// Status says what is known of a value or of keys; Outcome how an evaluation went.
type Status uint8

// Outcome is a Status: Failed means the same in both.
type Outcome = Status

// The outcomes.
const (
	Known   Status = iota // of keys: decided
	Unknown               // of keys: depends on what is not known yet
	Failed                // something it needs failed; nothing was reported here
	Broken                // a diagnostic is in the bag
	OK      = Known
)

// Options say what a walk is for.
type Options struct {
	Variables map[string]Given // root variables as set
	Workspace string
	Applying  bool                    // terraform.applying
	PlanTime  time.Time               // plantimestamp(); zero: unknown
	Pure      bool                    // planning: uuid() and the like are unknown
	RootDir   string                  // the root module: path.root and path.module are relative to it; "": as that module says
	Cwd       string                  // path.cwd
	BaseDir   string                  // where relative paths of file functions begin; "": RootDir
	Named     string                  // BaseDir as abspath calls it; "": by the same name
	Validate  bool                    // everything that is not literal is unknown
	Run       Run                     // nil: NoRun
	Steady    func(program.Decl) bool // declarations whose two faces are one; nil: none
	Limits    limits.Limits
	Console   bool         // there is a function type
	Closed    shortcut.Set // what is not to be taken
	// Replaced gives the outputs of a module instance in whose place these stand: nothing else in it is there, and an
	// output that has no value is null. nil: no module is replaced.
	Replaced func(addr.ModuleInstance) (outputs map[string]cty.Value, is bool)
}

// Given is the value of a root variable as the user set it.
type Given struct {
	Value  cty.Value
	Text   string
	IsText bool   // Text is to be read by the variable's type
	From   string // "-var", "TF_VAR_x", a file name
	Range  diag.Range
}

// in fills in what follows from the root module's directory, and what was left out.
func (o Options) in(dir string) Options {
	if o.RootDir == "" {
		o.RootDir = dir
	}
	if o.Run == nil {
		o.Run = NoRun{}
	}
	if o.BaseDir == "" {
		o.BaseDir = o.RootDir
	}
	return o
}

// shown is a module's directory as path.module has it: relative to the root module's, so that it
// is the same wherever the configuration lies.
func (o *Options) shown(dir string) string {
	if filepath.IsAbs(dir) {
		if rel, err := filepath.Rel(o.RootDir, dir); err == nil {
			dir = rel
		}
	}
	return filepath.ToSlash(dir)
}

// Run is all that frames ask of the run that they are a part of, and report to it. Its methods may be called from
// many goroutines. NoRun answers for frames without one, and may be embedded where only some of it matters.
type Run interface {
	Functions
	// Handed is called with the arguments of a provider's function, marks included, before it is called.
	Handed(name string, args []cty.Value)
	// Observe is called with what files and functions of providers gave. Its error becomes that of the call.
	Observe(name string, args []cty.Value, result cty.Value) error
	// Guard is called with the value of an ephemeral variable, with the marks that it came with, before
	// anything else gets it.
	Guard(at addr.ModuleInstance, variable string, v cty.Value)
	// Ask sets a root variable that a static evaluation needs and that has no value, in Options.Variables, and
	// reports whether it did.
	Ask(v *config.Variable) bool
}

// Functions are the functions of providers.
type Functions interface {
	// Call runs a function. config is the provider configuration that is meant, if the name says
	// one or the module has a default one. The error is a diag.Diagnostic if no answer came, and an
	// *Unavailable if there is no process to ask.
	Call(config program.Decl, p addr.Provider, fn string, args []cty.Value) (cty.Value, error)
	// Function gives a function's signature, nil if the provider's schema has no such function.
	Function(p addr.Provider, fn string) *provider.Function
	// Configured gives the functions of a configured provider, which may be more than its schema
	// has. They are not known while its settings are not. The error is an *Unavailable.
	Configured(config program.Decl, p addr.Provider) (fs map[string]*provider.Function, known bool, err error)
}

// Unavailable is the error of Functions if a provider could not be started, configured or asked.
type Unavailable struct {
	Said diag.Shared // why, for every evaluation that needs the provider
}

func (*Unavailable) Error() string { return "the provider cannot be asked" }

// NoRun is a run that knows no functions and takes no notice.
type NoRun struct{}

// Call is never called, since there is no function.
func (NoRun) Call(program.Decl, addr.Provider, string, []cty.Value) (cty.Value, error) {
	return cty.DynamicVal, &Unavailable{}
}

// Function finds none.
func (NoRun) Function(addr.Provider, string) *provider.Function { return nil }

// Configured knows none.
func (NoRun) Configured(program.Decl, addr.Provider) (map[string]*provider.Function, bool, error) {
	return nil, false, nil
}

// Handed does nothing.
func (NoRun) Handed(string, []cty.Value) {}

// Observe does nothing.
func (NoRun) Observe(string, []cty.Value, cty.Value) error { return nil }

// Guard does nothing.
func (NoRun) Guard(addr.ModuleInstance, string, cty.Value) {}

// Ask sets nothing.
func (NoRun) Ask(*config.Variable) bool { return false }
