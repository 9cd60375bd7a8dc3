// Package workspace is the state of one workspace as a command works with it: locked, with what an
// earlier run left in its journal taken in, written back once, and never lost between.
//
// A command that changes things goes through these steps; one that plans leaves out the middle two:
//
//	Lock     takes the lock, reads the state, takes in the journal of a run that was killed
//	Record   begins a journal of its own, before the first change
//	Save     writes the state if it differs; what the journal has is then in the state
//	Unlock   ends the journal and gives the lock back
//
// Where the store is divisible (store.Divisible), a request may say that the command Shares the state: then Lock joins
// others that work on it, and between planning and Record comes
//
//	Claim    takes the parts that the plan works on, and sees that they are as it was made from
//
// Save then puts what the command changed into the state as it is by then (merge.go). In one working directory such
// commands go one after the other all the same: the journal there is of one.
//
// A command that shares the state may ask for a part of it (Request.Part): then all states are such parts, and what is
// written is the part. Where a journal is to be taken in, the command has all of the state.
//
// A journal that has what no state has (changes that could not be written, calls without an answer,
// leases that are open) stays, and the next Lock takes it in. What it then has of leases and of creations without an
// outcome goes on in the journals of later commands (journal.Notes) until it is settled. Read is for commands that only show
// something: it takes no lock and writes nothing, and what journals have belongs to what it gives.
//
// What keeps states is a store.Store (package state/store has its contract): five methods, of
// which the versions of Put keep two writers apart even without a lock. The journal stands beside the
// state where that is a file of this machine (store.Filer), and otherwise in the data directory.
package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Env is what the states of a working directory touch besides their store, and where they report.
type Env struct {
	FS      disk.FS
	Now     func() time.Time
	Getenv  func(string) string
	Dir     string // the working directory, absolute
	Data    string // what belongs to the working directory and to no configuration: .terraform
	Version string // of the program; stands in locks, journals and states
	Bag     *diag.Bag

	// Log takes what is done with states, their locks and their journals, as a sentence without a value of a state; nil:
	// it is not wanted.
	Log func(text string)
}

// log notes what was done, from when on, and whether it failed.
func (e *Env) log(begun time.Time, err error, format string, a ...any) {
	if e.Log == nil {
		return
	}
	outcome := ""
	if err != nil {
		outcome = "failed "
	}
	e.Log(fmt.Sprintf(format, a...) + ": " + outcome + "after " + e.Now().Sub(begun).Round(time.Microsecond).String())
}

// Request names the state that a command needs, and what for.
type Request struct {
	Store     store.Store
	Name      string        // of the workspace
	Operation string        // as the lock says it
	Lock      bool          // false: no lock is taken, as with -lock=false
	Timeout   time.Duration // how long to wait for a lock that another has
	Waiting   func()        // called when taking the lock takes long, or another has it, from any goroutine; may be nil
	Releasing func()        // called when releasing the lock takes long, from any goroutine; may be nil
	Shares    bool          // others may work on other parts of the state meanwhile: see State.Claim
	Looks     bool          // nothing is changed: what journals have is taken in, and not written down
	Refreshes bool          // what became of updates and destructions without an outcome, the command finds out itself
	Replaces  bool          // the state will be overwritten: where a file is empty, there is none
	Unread    bool          // it will be even if it cannot be read; what there is of it is put aside
	Settles   addr.Instance // what became of calls about it, the command says: they are not reported
	Keeper    Keeper        // goes on with the journal should this process be lost; nil: none does
	Part      Selecting     // of a state that the command shares, what it needs; nil: all of it
	Interim   *Interim      // when the state is written while an apply is in progress; nil: never
	Written   func()        // called after the state was written for the first time; may be nil
}

// Interim says how often the state is written to its store while an apply is in progress.
type Interim struct {
	Every time.Duration   // from the beginning to the first write, and from the end of one write to the next
	At    <-chan struct{} // closed when a user ends the run: the state is written at once then, and after each change; may be nil
}

// DefaultInterim is the pause between two interim states.
const DefaultInterim = 20 * time.Second

// Selecting says which resources of a state a command needs, by their addresses without keys, and of which version the
// state was; nil for all of it.
type Selecting func(context.Context, store.Parted) ([]string, store.Version, error)

// Keeper is another process that goes on with the journal of a run should that be lost.
type Keeper interface {
	// Begun says that the run has a journal from now on, the key that its records are encrypted under, and how all of it
	// gets into the store of the state, nil if it does not; a path of "" that it has ended it. earlier says that calls of an
	// earlier run are in it, too.
	Begun(path string, key []byte, hand *store.Handed, earlier bool)
	// Recorded says that the journal has the result of a call.
	Recorded(journal.Op)
	// ID is its process, 0 if there is none.
	ID() int
}

// Variable is the environment variable that selects a workspace.
const Variable = "TF_WORKSPACE"

// Selected is the name of the workspace that commands work with: of the environment, or of the file
// that Select wrote.
func (e *Env) Selected() string {
	name, _ := e.selected()
	return name
}

// selected also says by what the workspace is selected, "" for the one that is selected by nothing.
func (e *Env) selected() (name, by string) {
	if w := e.Getenv(Variable); w != "" {
		return w, "the environment variable " + Variable
	}
	text, err := os.ReadFile(e.selection())
	if w := strings.TrimSpace(string(text)); err == nil && w != "" {
		return w, "the file " + e.selection() + ", which \"lethe workspace select\" writes"
	}
	return store.Default, ""
}

// Select makes a workspace the one that later commands work with.
func (e *Env) Select(name string) error {
	if err := e.MakeData(); err != nil {
		return err
	}
	return disk.Replace(e.FS, e.selection(), []byte(name))
}

// MakeData makes the data directory.
func (e *Env) MakeData() error { return os.MkdirAll(e.Data, 0o755) }

func (e *Env) selection() string { return filepath.Join(e.Data, "environment") }

// CheckName refuses a name that no workspace can have.
func (e *Env) CheckName(name string) bool {
	if store.CheckName(name) == nil {
		return true
	}
	origin := ""
	if selected, by := e.selected(); name == selected && by != "" {
		origin = " It comes from " + by + "."
	}
	e.Bag.Add(diag.Errorf("Invalid workspace name", "The workspace name %q is not allowed. The name must contain only URL safe characters, and no path separators.%s", name, origin))
	return false
}

// journalFile is where the progress of a run on a workspace is written.
func journalFile(env *Env, st store.Store, name string) string {
	if f, ok := store.As[store.Filer](st); ok {
		return journal.Path(f.File(name))
	}
	return journal.Path(filepath.Join(env.Data, name))
}

// relative is a path as messages show it.
func relative(env *Env, path string) string {
	if rel, err := filepath.Rel(env.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
