// Package suite runs test files. It plans and applies modules with values of the test, evaluates assertions, and
// destroys the objects that the runs made (ADR 34).
//
// A Suite runs its files one after another (suite.go). The runs of a file run in their order, or at the same time if
// the file allows it (schedule.go). Each file has its own states: one for each module under test, or for each
// state_key. They are in memory, or in the store of a run's backend block. The files of the package are the steps of a
// run:
//
//	program.go    compiles the module under test with the providers of the file; programs.go shares programs
//	values.go     collects its values: of the command line, of the file, of the run, and outputs of earlier runs
//	run.go        plans and applies it with the engine
//	noting.go     keeps a journal of the calls of the apply
//	doubles.go    replaces providers by mocks and overrides (provider.Substitutes)
//	verdict.go    judges it: assertions, expected failures, leaked secrets
//	leases.go     records its leases, for assertions; leaks.go searches for canaries
//	cleanup.go    destroys the objects at the end of the file, and writes the states that stay; later.go destroys
//	              their objects in a later call
//
// A Reporter (package view/testview) shows the progress.
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
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/zclconf/go-cty/cty"
)

// Status is the result of a run or a file.
type Status uint8

// The statuses. A file has the highest status of its runs.
const (
	Pending Status = iota
	Skip
	Pass
	Fail
	Error
)

// String returns the name of a status in machine-readable output.
func (s Status) String() string { return [...]string{"pending", "skip", "pass", "fail", "error"}[s] }

// Progress is the step that a run or a file has reached.
type Progress uint8

// The steps of a run or a file.
const (
	Starting Progress = iota
	Running
	TearingDown
	Complete
)

// String returns the name of a step in machine-readable output.
func (p Progress) String() string {
	return [...]string{"starting", "running", "teardown", "complete"}[p]
}

// File is a test file in a suite.
type File struct {
	*testfile.File
	Runs   []*Run
	Status Status
}

// Run is a run block of a file.
type Run struct {
	*testfile.Run
	File     *File
	Status   Status
	Diags    []diag.Diagnostic
	Began    time.Time // zero if the run did not begin
	Took     time.Duration
	Failed   int                // number of failed assertions
	Messages []string           // the messages of the failed assertions
	Because  *Run               // the run whose error is the reason for skipping this run; nil after an interrupt
	Planned  *plan.Plan         // the plan of the last round (plan and apply); nil if planning failed
	Earlier  []*plan.Plan       // the plans of the earlier rounds
	State    *state.Snapshot    // the state after an apply; nil without an apply
	Invoked  []event.ActionDone // the invocations of actions, in the order of their ends
	Log      string             // the log of the run; only if the file has canaries
	program  *program.Program   // the compiled program; nil before the compilation, and if it fails
	after    []*Run             // the runs at the beginning of the file that end before this run begins; it can use their outputs
	beside   []*Run             // the other runs for which this run waits; it can use their outputs, too
	outputs  cty.Value          // the outputs of the run for later runs; NilVal before the run has outputs
	stopped  bool               // an interrupt came before the run ended
}

// output returns the outputs of an earlier run by the name of that run. It returns false if that run did not end before
// r began, or has no outputs.
func (r *Run) output(of string) (cty.Value, bool) {
	if earlier := r.earlier(of); earlier != nil {
		return earlier.outputs, true
	}
	return cty.NilVal, false
}

// earlier returns the run of that name. It returns nil if that run did not end before this one began, or has no
// outputs.
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

// Program returns the program of the run, or nil if it could not be compiled.
func (r *Run) Program() *program.Program { return r.program }

// Needs returns the providers that the module of the run requires. It may return a provider more than once. It returns
// nil if the module could not be compiled.
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

// Left lists the objects that remain after a cleanup, because they could not be destroyed or skip_cleanup keeps them.
type Left struct {
	File    *File
	Run     *Run          // the last run that used the state; if Meant, the last one with skip_cleanup
	Objects []addr.Object // the objects that still exist
	Meant   bool          // skip_cleanup keeps the objects
	Failed  bool          // the objects could not be destroyed, in this call or in an earlier one
	Written string        // the file with the state; "" if it could not be written
	Diags   []diag.Diagnostic
}

// Kept is a state that a file left behind. A later call destroys its objects.
type Kept struct {
	File, Run string          // the names of the test file and of the last run that used the state
	State     *state.Snapshot // the state, with the outputs of earlier runs that the run uses
	Written   string          // the name of the state's file in messages; "" if it has no file yet
	Failed    bool            // the objects could not be destroyed; otherwise skip_cleanup keeps them
}

// Place is a locked state in the store of a backend block.
type Place interface {
	// Snapshot returns the state as last read or written.
	Snapshot() *state.Snapshot
	// Record opens the journal of an apply. It returns false if that fails.
	Record() (journal.Journal, bool)
	// SaveApplied writes the state after an apply. After an error, it reports the error and returns false.
	SaveApplied(*state.Snapshot) bool
	// End closes the journal.
	End()
	// Unlock releases the lock.
	Unlock()
}

// Noted is the journal of a state in memory.
type Noted interface {
	journal.Journal
	journal.Leases
	// Urge makes the journal write its records without delay, because a caller waits for them.
	Urge()
	// End closes the journal. If remove is true, it deletes the file.
	End(remove bool)
}

// Reporter shows the progress of a suite. Its methods are called from one goroutine at a time.
type Reporter interface {
	// Found is called once, with all files.
	Found(files []*File)
	// File reports that a file has reached a step.
	File(f *File, p Progress)
	// Run reports that a run has reached a step.
	Run(r *Run, p Progress)
	// Still reports for how long a run has been at a step. It is called at intervals.
	Still(r *Run, p Progress, since time.Duration)
	// Left reports the objects that remain after a cleanup, and the diagnostics of the cleanup.
	Left(l *Left)
	// Summary ends the suite.
	Summary(s Summary)
}

// Document is a text that is searched for canaries.
type Document struct {
	Name string // the name, such as "the state"
	Text string
}

// Modules loads and compiles the modules that runs test. LoadModule and Compile are called from one goroutine at a
// time.
type Modules interface {
	// LoadModule loads the module of a run with the modules that it calls. After an error, it adds the error to bag and
	// returns false. key is the name under which it was installed.
	LoadModule(key string, call *config.Call, bag *diag.Bag) (*config.Tree, bool)
	// Compile compiles a configuration with the engine that will run it. After an error, it adds the error to bag and
	// returns false.
	Compile(ctx context.Context, e *engine.Engine, tree *config.Tree, bag *diag.Bag) (*program.Program, bool)
	// FrameOptions returns the options of walks through a tested configuration, without variables.
	FrameOptions() frame.Options
}

// States stores the states that a suite leaves behind or works with. Its methods may be called from many goroutines.
type States interface {
	// Keep writes a state whose objects remain, and returns the name of its file. If the state has a file already, Keep
	// overwrites it.
	Keep(k Kept) (file string, err error)
	// Forget removes the file of a state.
	Forget(k Kept) error
	// Begin opens the journal of a state in memory. k names the first run that uses the state. If the journal cannot be
	// opened, Begin returns nil.
	Begin(k Kept) Noted
	// Open locks and reads the state of a run's backend block. After an error, it adds the error to bag and returns
	// false.
	Open(ctx context.Context, r *Run, bag *diag.Bag) (Place, bool)
}

// Traces returns the texts in which a suite searches for canaries.
type Traces struct {
	// Logged returns the lines that were logged since its last call.
	Logged func() string
	// Documents returns the files and the output of a run with its diagnostics.
	Documents func(r *Run, reported []diag.Diagnostic) []Document
}

// Clock is the time of a suite.
type Clock struct {
	Now  func() time.Time
	Beat time.Duration // the time between reports that a run is still in progress; 0 means no reports
}

// Suite runs test files.
type Suite struct {
	Files []*testfile.File
	Root  *config.Tree // the configuration that runs without a module block test
	// Given holds the values of the command line, of variable files and of the environment. The outer key is the
	// directory of the test files that use the values.
	Given    map[string]map[string]frame.Given
	Engine   *engine.Engine
	Modules  Modules
	States   States
	Traces   Traces
	Clock    Clock
	Reporter Reporter
	Sources  *diag.Sources
	// AtOnce is the number of runs that may run at the same time if their file allows it.
	AtOnce int
	// Cleanup is the context of cleanups. The first interrupt does not end it.
	Cleanup context.Context

	programs programs
	mu       sync.Mutex // guards abandon, and the states of a file
	abandon  func()     // the method abandon of the file in progress; nil before the first file
}
