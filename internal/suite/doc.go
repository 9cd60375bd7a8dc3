// Package suite runs test files: plans and applies modules with values of their own, asserts what has to be true then,
// and destroys what was made ([ADR 34](docs/adr/0034-tests.md)).
//
// A Suite runs its files one after the other (suite.go), and the runs of a file in their order, or at the same time where
// the file lets them (schedule.go). Each file has states of its own: one for each module under test, or for each
// state_key; in memory, or where a backend block of the run says. A run
//
//	program.go    compiles the module under test with the providers that the file has for it, once for all runs that agree
//	values.go     gets its values: of the command line, the file and the run, which may use outputs of earlier runs
//	run.go        is planned and applied by the engine; no machinery of that is here
//	noting.go     is applied, with a journal of what it is about to make
//	verdict.go    is judged: assertions, failures that were expected, secrets that leaked
//	leases.go     what became of leases, which assertions can be about; leaks.go looks for canaries
//	cleanup.go    leaves a state behind, which is destroyed when the file is over; what cannot be, and what is to stay,
//	              is written down (later.go destroys that)
//
// What happens is told to a Reporter (package view/testview).
package suite

import (
	"context"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/zclconf/go-cty/cty"
)

// Status says how a run or a file went.
type Status uint8

// The statuses. That of a whole is the highest of its parts.
const (
	Pending Status = iota
	Skip
	Pass
	Fail
	Error
)

// String is the name that programs know a status by.
func (s Status) String() string { return [...]string{"pending", "skip", "pass", "fail", "error"}[s] }

// Progress says how far a run or a file is.
type Progress uint8

// The steps of a run or a file.
const (
	Starting Progress = iota
	Running
	TearingDown
	Complete
)

// String is the name that programs know a step by.
func (p Progress) String() string {
	return [...]string{"starting", "running", "teardown", "complete"}[p]
}

// File is a test file that is run.
type File struct {
	*testfile.File
	Runs   []*Run
	Status Status
}

// Run is a run of a file.
type Run struct {
	*testfile.Run
	File     *File
	Status   Status
	Diags    []diag.Diagnostic
	Began    time.Time // zero: it did not begin
	Took     time.Duration
	Failed   int              // assertions that do not hold
	Messages []string         // of these
	Because  *Run             // the earlier run whose error made this one be skipped; nil: an interrupt did
	Planned  *plan.Plan       // nil where planning failed
	State    *state.Snapshot  // after an apply; nil without one
	Log      string           // what was logged; only where canaries are looked for
	program  *program.Program // nil before it is compiled
	after    []*Run           // those that were over before this one began: it can use their outputs
	beside   []*Run           // more of these, among those that may run at the same time
	outputs  cty.Value        // for later runs; NilVal before there are any
	stopped  bool             // an interrupt came before it was over
}

// output gives what a run that was over before this one gave.
func (r *Run) output(of string) (cty.Value, bool) {
	if earlier := r.earlier(of); earlier != nil {
		return earlier.outputs, true
	}
	return cty.NilVal, false
}

// earlier is the run of that name, if it was over before this one and gave something; else nil.
func (r *Run) earlier(name string) *Run {
	for _, runs := range [][]*Run{r.after, r.beside} {
		for _, earlier := range runs {
			if earlier.Name == name && earlier.outputs != cty.NilVal {
				return earlier
			}
		}
	}
	return nil
}

// Program is what the run planned, nil where it could not be compiled.
func (r *Run) Program() *program.Program { return r.program }

// Needs are the providers that its module needs, some more than once.
func (r *Run) Needs() (out []addr.Provider) {
	if r.program != nil {
		r.program.Tree().Root.Walk(func(n *config.Node) {
			for _, q := range n.Module.Required {
				out = append(out, q.Source)
			}
		})
	}
	return out
}

// Summary counts the runs of all files.
type Summary struct {
	Status                           Status
	Passed, Failed, Errored, Skipped int
}

// Left is what a cleanup could not destroy, or had not to.
type Left struct {
	File    *File
	Run     *Run          // the last one that worked with the state
	Objects []addr.Object // what is still there
	Meant   bool          // skip_cleanup says that it stays
	Failed  bool          // a file of its own says what could not be destroyed: see Kept
	Written string        // the file with the state; "" if it could not be written
	Diags   []diag.Diagnostic
}

// Kept is a state that a file left behind, for a later call to clean up.
type Kept struct {
	File, Run string          // the name of the test file, and that of the run that worked with the state last
	State     *state.Snapshot // with outputs of earlier runs that this run uses
	Written   string          // the file with the state, as messages have it; "": there is none yet
	Failed    bool            // it could not be destroyed; otherwise it stays on purpose
}

// Place is where a backend block keeps a state: locked, and read.
type Place interface {
	Snapshot() *state.Snapshot
	// Record begins the journal of an apply.
	Record() (journal.Journal, bool)
	// SaveApplied writes what an apply made; End is the end of its journal.
	SaveApplied(*state.Snapshot) bool
	End()
	// Unlock gives the lock back.
	Unlock()
}

// Noted is the journal of a state that is in memory.
type Noted interface {
	journal.Journal
	journal.Leases
	Urge()
	// End ends it, and removes it unless it has what is nowhere else.
	End(remove bool)
}

// Reporter is told what happens, from one goroutine at a time.
type Reporter interface {
	// Found says once what there is to run.
	Found(files []*File)
	// File says that a file has come to a step.
	File(f *File, p Progress)
	// Run says that a run has come to a step.
	Run(r *Run, p Progress)
	// Still says that a run is at a step yet, and for how long.
	Still(r *Run, p Progress, since time.Duration)
	// Left says what a cleanup left behind, or had to say.
	Left(l *Left)
	// Summary ends the suite.
	Summary(s Summary)
}

// Document is a text in which canaries are looked for.
type Document struct {
	Name string // as in "the state"
	Text string
}

// Suite is what to run, and what to run it with.
type Suite struct {
	Files []*testfile.File
	Root  *config.Tree // the configuration that is tested where a run says nothing else
	// Given are values of the command line, of files of values and of the environment, by the directory of test files
	// that they are for.
	Given    map[string]map[string]frame.Given
	Engine   *engine.Engine
	Reporter Reporter
	Now      func() time.Time
	Sources  *diag.Sources
	// Cleanup is the context of what destroys: it goes on after a first interrupt.
	Cleanup context.Context
	// Load loads the module of a run; key is what it was installed as.
	Load func(key string, call *config.Call, bag *diag.Bag) (*config.Tree, bool)
	// Compile makes a program of a configuration, with the engine that will run it.
	Compile func(ctx context.Context, e *engine.Engine, tree *config.Tree, bag *diag.Bag) (*program.Program, bool)
	// Options are those of walks through a configuration, without variables.
	Options func() frame.Options
	// Logged gives what was logged since it was last asked.
	Logged func() string
	// Documents are what a run leaves at rest and shows, for canaries to be looked for, with what it says.
	Documents func(r *Run, said []diag.Diagnostic) []Document
	// Keep keeps a state that is to stay, or could not be destroyed, and says where: in the file where it is already, if
	// there is one. Forget removes it.
	Keep   func(k Kept) (file string, err error)
	Forget func(k Kept) error
	// Begin begins the journal of a state in memory, with the run that works with it first; nil if there can be none.
	Begin func(k Kept) Noted
	// Open opens the state that the backend block of a run says.
	Open func(ctx context.Context, r *Run, bag *diag.Bag) (Place, bool)
	// AtOnce is how many runs may run at the same time, where their file lets them.
	AtOnce int
	// Beat is how often it is said that a run goes on; 0: never.
	Beat time.Duration

	mu       sync.Mutex // guards what follows, and the states of a file
	abandon  func()     // of the file that is run; nil before the first
	building sync.Mutex // while a module is loaded or compiled; guards trees and programs
	trees    map[string]*config.Tree
	programs map[programKey]*compiled
}

// programKey says which runs agree: on the module, and on what the file changes about it, which is empty if that is
// nothing.
type programKey struct{ module, file, providers string }

// compiled is a program, or what is wrong with it.
type compiled struct {
	program *program.Program
	tree    *config.Tree
	mocks   map[addr.ProviderConfig]*testfile.Mock
	diags   []diag.Diagnostic
	ok      bool
}
