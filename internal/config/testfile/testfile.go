// Package testfile turns test files into declarations, without evaluating anything: which runs there are, what each
// plans or applies, what has to be true then, and what stands in for providers meanwhile.
//
// Files stand in layers: read.go (files, and what stands at their top), run.go (runs), mocks.go (what stands in for
// providers), reader.go (what all of these read with), refs.go (what expressions refer to), and here what is declared.
package testfile

import (
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// File is one test file.
type File struct {
	Name      string                                   // as messages show it
	Dir       string                                   // where it lies; as given to Read
	Variables map[string]*Value                        // of its variables blocks
	Declared  map[string]*config.Variable              // of its variable blocks: what values from outside have to be
	Providers map[config.ProviderName]*config.Provider // settings of providers for all runs
	Mocks     map[config.ProviderName]*Mock            // what stands in for providers in all runs
	Overrides []*Override                              // for all runs
	Runs      []*Run                                   // in their order
	NoLeak    []*Canary                                // of expect_no_leak in the test block
}

// Expression is an expression of a test file.
type Expression = hcl.Expression

// Value is a value that a test file gives, as an expression.
type Value struct {
	Name  string
	Expr  hcl.Expression
	Plain cty.Value  // what it is, where that is written out; otherwise NilVal
	Range diag.Range // the name and the expression
}

// Run is one run block.
type Run struct {
	Name  string
	Range diag.Range

	Plan        bool // plan only; otherwise the plan is applied
	RefreshOnly bool
	NoRefresh   bool
	Targets     []addr.Target
	Replace     []addr.Instance

	Variables map[string]*Value
	Module    *config.Call    // what is tested instead of the root module; nil: the root module
	Providers []config.Passed // nil: those of the file under their names
	Asserts   []*config.Condition
	Expected  []config.Reference // what has conditions that are to fail
	Overrides []*Override
	StateKey  string // "" is that of the module under test
	NoLeak    []*Canary

	Parallel    bool            // it may run at the same time as others
	SkipCleanup bool            // what it made is not destroyed when the file is over
	Backend     *config.Backend // where its state is kept from one execution of the file to the next; nil: nowhere
}

// Canary is a named value that must be nowhere at rest and in nothing that is shown.
type Canary struct {
	Expr  hcl.Expression
	Range diag.Range
}

// During says from when on a made-up value is known.
type During uint8

// The phases.
const (
	Inherited   During = iota // as what is around says; at the top, from the apply on
	DuringApply               // what a provider computes is unknown in a plan
	DuringPlan                // and here it is known
)

// Mock stands in for a provider configuration.
type Mock struct {
	config.ProviderName
	Defaults  []*Default
	Overrides []*Override
	During    During
	ForEach   hcl.Expression // as in the provider block that it stands for; nil without one
	Range     diag.Range
}

// Default is what a mock answers for a type.
type Default struct {
	Mode   addr.Mode
	Type   string
	Values hcl.Expression // nil: nothing is said
	During During
	Range  diag.Range
}

// Override is what is answered instead for one resource, or what a module gives.
type Override struct {
	Mode   addr.Mode // 0: a module
	Target addr.Target
	Values hcl.Expression // nil: nothing is said
	During During
	Range  diag.Range
	At     diag.Range // of the target
}

// Key is what the module of a run is installed as, as Terraform has it: test.FILE.RUN.
func Key(f *File, r *Run) string { return f.Key() + "." + r.Name }

// Key stands before those of the runs: test.FILE, without the ending that says what the file is.
func (f *File) Key() string {
	name := f.Name
	for _, s := range config.TestSuffixes {
		name = strings.TrimSuffix(name, s)
	}
	return "test." + strings.ReplaceAll(filepath.ToSlash(name), "/", ".")
}
