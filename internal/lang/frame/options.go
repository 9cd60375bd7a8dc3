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

// Face is one of the two versions of every value: before and after the run's changes.
type Face uint8

// The faces.
const (
	Before Face = iota // the prior state
	After              // the planned state
)

// Other returns the other face.
func (f Face) Other() Face {
	if f == Before {
		return After
	}
	return Before
}

// Status states how far keys are known, or how an evaluation ended.
type Status uint8

// The statuses. OK is the status of an evaluation without errors. Its value may be unknown.
const (
	Known   Status = iota // keys are decided
	Unknown               // keys depend on unknown values
	Failed                // a needed value failed; its evaluation has reported the error
	Broken                // an error is in the bag
	OK      = Known
)

// Options configure a walk: one evaluation of a program by validation, a plan or an apply. A command may plan and apply
// several times, in rounds, because some instance keys are known only after objects were created.
type Options struct {
	Variables map[string]Given        // values that the user gave to root variables
	Workspace string                  // terraform.workspace
	Applying  bool                    // terraform.applying
	PlanTime  time.Time               // plantimestamp(); zero: unknown
	Now       time.Time               // timestamp() in all rounds of a command; zero: the time of the call
	UUIDs     *UUIDs                  // the results of uuid() in all rounds of a command; nil: each call has another one
	Pure      bool                    // during plan: the results of uuid() and similar functions are unknown
	RootDir   string                  // directory of the root module: path.root and path.module are relative to it; "": Module.Dir of the root
	Cwd       string                  // path.cwd
	BaseDir   string                  // base of relative paths in file functions; "": RootDir
	Named     string                  // the name of BaseDir in results of abspath; "": BaseDir
	Validate  bool                    // every value that is not literal is unknown
	Defers    bool                    // an unknown repetition is no error: a later round decides about the instances
	Run       Run                     // nil: NoRun
	Steady    func(program.Decl) bool // reports declarations whose two faces are equal; nil: none
	Limits    limits.Limits           // limits of the walk; zero fields mean the defaults
	Console   bool                    // enables the function type
	Closed    shortcut.Set            // disabled shortcuts
	// Replaced returns the outputs that replace a module instance. It returns false if the module instance is not
	// replaced. A replaced instance has no resources. An output without a value is null. If Replaced is nil, no module
	// is replaced.
	Replaced func(addr.ModuleInstance) (outputs map[string]cty.Value, is bool)
}

// Given is the value of a root variable from the user: Value, or Text if IsText is true.
type Given struct {
	Value  cty.Value
	Text   string
	IsText bool       // Text must be parsed by the variable's type
	From   string     // "-var", "TF_VAR_x", a file name
	Range  diag.Range // the place in a file; zero for other sources
}

// in returns o with defaults for RootDir, Run and BaseDir. dir is the directory of the root module.
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

// shown returns a module's directory for path.module: relative to the root module, so that it does not depend on the
// location of the configuration.
func (o *Options) shown(dir string) string {
	if filepath.IsAbs(dir) {
		if rel, err := filepath.Rel(o.RootDir, dir); err == nil {
			dir = rel
		}
	}
	return filepath.ToSlash(dir)
}

// Run is the interface from frames to their run. Its methods may be called from many goroutines. NoRun is for frames
// without a run, and may be embedded in partial implementations.
type Run interface {
	Functions
	// Handed is called with the arguments of a provider function, including marks, before the function is called.
	Handed(name string, args []cty.Value)
	// Observe is called with the results of file functions and provider functions. Its error becomes the error of the
	// call.
	Observe(name string, args []cty.Value, result cty.Value) error
	// Guard is called with the value of an ephemeral variable, including its previous marks, before any other code gets
	// the value.
	Guard(at addr.ModuleInstance, variable string, v cty.Value)
	// Ask is called for a root variable without a value that a static evaluation needs. If Ask sets the value in
	// Options.Variables, it returns true.
	Ask(v *config.Variable) bool
}

// Functions calls and describes provider functions.
type Functions interface {
	// Call calls a function. config is the provider configuration that the name of the function selects, or otherwise
	// the default configuration of the module. It is NoDecl if neither exists. The error is a diag.Diagnostic if the
	// provider did not answer, and an *Unavailable if no provider process is available.
	Call(config program.Decl, p addr.Provider, fn string, args []cty.Value) (cty.Value, error)
	// Function returns a function's signature, or nil if the provider's schema has no such function.
	Function(p addr.Provider, fn string) *provider.Function
	// Configured returns the functions of a configured provider, which may have more functions than its schema. known
	// is false if the provider's settings are unknown. The error is an *Unavailable.
	Configured(config program.Decl, p addr.Provider) (fs map[string]*provider.Function, known bool, err error)
}

// Unavailable is the error of Functions if a provider could not be started, configured or called.
type Unavailable struct {
	Diagnostics diag.Shared // the reasons, for every evaluation that needs the provider
}

func (*Unavailable) Error() string { return "the provider cannot be asked" }

// NoRun is a Run without functions. It ignores all notifications.
type NoRun struct{}

// Call returns an error. It is never called, because no functions exist.
func (NoRun) Call(program.Decl, addr.Provider, string, []cty.Value) (cty.Value, error) {
	return cty.DynamicVal, &Unavailable{}
}

// Function returns nil.
func (NoRun) Function(addr.Provider, string) *provider.Function { return nil }

// Configured returns no functions, false (the functions are not known) and no error.
func (NoRun) Configured(program.Decl, addr.Provider) (map[string]*provider.Function, bool, error) {
	return nil, false, nil
}

// Handed does nothing.
func (NoRun) Handed(string, []cty.Value) {}

// Observe does nothing.
func (NoRun) Observe(string, []cty.Value, cty.Value) error { return nil }

// Guard does nothing.
func (NoRun) Guard(addr.ModuleInstance, string, cty.Value) {}

// Ask returns false.
func (NoRun) Ask(*config.Variable) bool { return false }
