// Package testfile parses test files into declarations: the runs, their plan options and assertions, and the mocks and
// overrides of providers. It does not evaluate expressions.
//
// The files form layers: read.go (files and their top-level blocks), run.go (runs), mocks.go (mocks and overrides),
// reader.go (the type reader, which the other files use), refs.go (references of expressions), testfile.go
// (declarations).
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
	Name      string                                   // the name in messages
	Dir       string                                   // directory, as passed to Read
	Variables map[string]*Value                        // values from the variables blocks of the file, by variable name
	Declared  map[string]*config.Variable              // the variable blocks of the file, which declare the types of values from outside the file
	Providers map[config.ProviderName]*config.Provider // the provider blocks of the file, for all runs
	Mocks     map[config.ProviderName]*Mock            // the mock_provider blocks of the file, for all runs
	Overrides []*Override                              // the overrides for all runs
	Runs      []*Run                                   // the run blocks, in the order of the file
}

// Expression is an expression of a test file, such as the condition of an assertion.
type Expression = hcl.Expression

// Value is a value in a test file, as an expression.
type Value struct {
	Name  string
	Expr  hcl.Expression
	Plain cty.Value  // the value of a literal; otherwise NilVal
	Range diag.Range // the name and the expression
}

// Run is a run block of a test file: one plan or apply with its assertions.
type Run struct {
	Name  string
	Range diag.Range

	Plan        bool            // create a plan without applying it
	RefreshOnly bool            // mode = refresh-only in plan_options
	NoRefresh   bool            // refresh = false in plan_options
	Targets     []addr.Target   // the addresses in target of plan_options, with the meaning of the option -target
	Replace     []addr.Instance // the addresses in replace of plan_options, with the meaning of the option -replace

	Variables map[string]*Value
	Module    *config.Call    // the module to test; nil: the root module
	Providers []config.Passed // nil: the run gets all configurations of the file, with their names
	Asserts   []*config.Condition
	Expected  []config.Reference // objects whose conditions must fail
	Overrides []*Override
	StateKey  string    // the key of the state that the run uses; "": the state of the module under test
	NoLeak    []*Canary // the values that must not occur in stored data or in output

	Parallel    bool            // the run may run at the same time as other runs
	SkipCleanup bool            // the objects of the run are not destroyed at the end of the file
	Backend     *config.Backend // where the state of the run is kept between executions of the file; nil: not kept
}

// Canary is a value that must not occur in stored data or in output.
type Canary struct {
	Expr  hcl.Expression
	Range diag.Range
}

// During is the phase, plan or apply, from which on the made-up values of a mock or an override are known.
type During uint8

// The phases.
const (
	Inherited   During = iota // the phase of the enclosing block or file; at the top level DuringApply
	DuringApply               // computed values are unknown during plan
	DuringPlan                // computed values are known during plan
)

// Mock replaces a provider configuration by made-up answers (a mock_provider block).
type Mock struct {
	config.ProviderName
	Defaults  []*Default
	Overrides []*Override
	During    During
	ForEach   hcl.Expression // the for_each of the replaced provider block; nil if absent
	Range     diag.Range
}

// Default holds the made-up values of a mock for one type.
type Default struct {
	Mode   addr.Mode
	Type   string
	Values hcl.Expression // an object with values of computed attributes; nil if absent
	During During
	Range  diag.Range
}

// Override holds the made-up values for one resource, or the outputs of a module.
type Override struct {
	Mode   addr.Mode // 0: a module
	Target addr.Target
	Values hcl.Expression // an object with values of attributes or outputs; nil if absent
	During During
	Range  diag.Range
	At     diag.Range // range of the target
}

// Key returns the name under which the module of a run is installed, in Terraform's form: test.FILE.RUN, where FILE is
// the name of the test file without its suffix.
func Key(f *File, r *Run) string { return f.Key() + "." + r.Name }

// testSuffixes are the suffixes of test files.
var testSuffixes = []string{".tftest.hcl", ".tofutest.hcl", ".tftest.json", ".tofutest.json"}

// Key returns the common prefix of the keys of the runs: test.FILE, without the suffix of test files.
func (f *File) Key() string {
	name := f.Name
	for _, s := range testSuffixes {
		name = strings.TrimSuffix(name, s)
	}
	return "test." + strings.ReplaceAll(filepath.ToSlash(name), "/", ".")
}
