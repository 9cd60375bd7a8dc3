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
	Before Face = iota // the values of the prior state
	After              // the values of the planned state
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
	Known   Status = iota // the instance keys are decided
	Unknown               // the instance keys depend on unknown values
	Failed                // a value that the evaluation needs has failed, and its error was already reported
	Broken                // the evaluation itself failed, and its error is in the bag
	OK      = Known
)

// Options configure a walk: one pass through a program by validation, a plan or an apply. A command may plan and apply
// several times, in rounds, because some instance keys are known only after objects were created.
type Options struct {
	Variables map[string]Given        // the values that the user gave to root variables, by name
	Workspace string                  // the value of terraform.workspace
	Applying  bool                    // the value of terraform.applying
	PlanTime  time.Time               // the result of plantimestamp(); zero means unknown
	Now       time.Time               // the result of timestamp() in all rounds of a command; zero means the time of each call
	UUIDs     *UUIDs                  // the results of uuid() in all rounds of a command; nil means that each call has a new result
	Pure      bool                    // during a plan: the results of uuid(), timestamp() and similar functions are unknown
	RootDir   string                  // the directory of the root module, to which path.root and path.module are relative; "" means Module.Dir of the root
	Cwd       string                  // the value of path.cwd
	BaseDir   string                  // the base of relative paths in file functions; "" means RootDir
	Named     string                  // the name of BaseDir in results of abspath; "" means BaseDir
	Validate  bool                    // validate the configuration: every value that is not literal is unknown
	Defers    bool                    // an unknown count or for_each is no error, because a later round decides about the instances
	Run       Run                     // the run to which the frames belong; nil means NoRun
	Steady    func(program.Decl) bool // reports the declarations whose values before and after the run are equal; nil means none
	Limits    limits.Limits           // the limits of the walk; zero fields mean the defaults
	Console   bool                    // the function type is available, as in a console
	Closed    shortcut.Set            // the shortcuts (optimizations) that are disabled
	// Replaced returns the outputs that replace a module instance, as a test's override does. It returns false if the
	// module instance is not replaced. A replaced instance has no resources. An output without a value is null. If
	// Replaced is nil, no module instance is replaced.
	Replaced func(addr.ModuleInstance) (outputs map[string]cty.Value, is bool)
}

// Given is the value of a root variable from the user: Text if IsText is true, and otherwise Value.
type Given struct {
	Value  cty.Value
	Text   string
	IsText bool       // Text must be parsed according to the type of the variable
	From   string     // the source of the value: "-var", "TF_VAR_x" or a file name
	Range  diag.Range // the position in a file; zero for other sources
}

// in returns o with the defaults for RootDir, Run and BaseDir. dir is the directory of the root module.
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

// shown returns the value of path.module for a module's directory: relative to the root module, so that it does not
// depend on where the configuration is.
func (o *Options) shown(dir string) string {
	if filepath.IsAbs(dir) {
		if rel, err := filepath.Rel(o.RootDir, dir); err == nil {
			dir = rel
		}
	}
	return filepath.ToSlash(dir)
}

// Run has the functions that frames call in their run. Its methods may be called from many goroutines. NoRun is for
// frames without a run, and incomplete implementations may embed it.
type Run interface {
	Functions
	// Handed is called with the arguments of a provider function, with their marks, before the function is called.
	Handed(name string, args []cty.Value)
	// Observe is called with the result of each call of a file function or a provider function. If it returns an error,
	// the call fails with that error.
	Observe(name string, args []cty.Value, result cty.Value) error
	// Guard is called with the value of an ephemeral variable, with the marks that it had before, so that the run can
	// register the secret before any other code gets the value.
	Guard(at addr.ModuleInstance, variable string, v cty.Value)
	// Ask is called for a root variable without a value that a static evaluation needs. It returns true if it has set the
	// value in Options.Variables, for example after asking the user.
	Ask(v *config.Variable) bool
}

// Functions calls and describes provider functions.
type Functions interface {
	// Call calls a provider function. config is the provider configuration that the name of the function selects, or
	// otherwise the default configuration of the module. It is NoDecl if neither exists. The error is a diag.Diagnostic if
	// the provider did not answer, and an *Unavailable if no provider process is available.
	Call(config program.Decl, p addr.Provider, fn string, args []cty.Value) (cty.Value, error)
	// Function returns a function's signature, or nil if the provider's schema has no such function.
	Function(p addr.Provider, fn string) *provider.Function
	// Configured returns the functions of a configured provider, which may have more functions than its schema. known is
	// false if the settings of the provider are unknown. If the provider cannot be used, the error is an *Unavailable.
	Configured(config program.Decl, p addr.Provider) (fs map[string]*provider.Function, known bool, err error)
}

// Unavailable reports that a provider could not be started, configured or called.
type Unavailable struct {
	Diagnostics diag.Shared // the reasons, which each evaluation that needs the provider reports
}

func (*Unavailable) Error() string { return "the provider cannot be asked" }

// NoRun is a Run without provider functions. Its other methods do nothing.
type NoRun struct{}

// Call returns an *Unavailable. It is never called, because no functions exist.
func (NoRun) Call(program.Decl, addr.Provider, string, []cty.Value) (cty.Value, error) {
	return cty.DynamicVal, &Unavailable{}
}

// Function returns nil: no provider has functions.
func (NoRun) Function(addr.Provider, string) *provider.Function { return nil }

// Configured returns no functions, false (the functions are not known) and no error.
func (NoRun) Configured(program.Decl, addr.Provider) (map[string]*provider.Function, bool, error) {
	return nil, false, nil
}

// Handed does nothing.
func (NoRun) Handed(string, []cty.Value) {}

// Observe does nothing and returns nil.
func (NoRun) Observe(string, []cty.Value, cty.Value) error { return nil }

// Guard does nothing.
func (NoRun) Guard(addr.ModuleInstance, string, cty.Value) {}

// Ask returns false.
func (NoRun) Ask(*config.Variable) bool { return false }
