// Package workspace opens, locks, recovers and saves the state of one workspace.
//
// If an earlier run was killed, Lock replays its journal first. A command that changes objects takes these steps; a
// command that only plans omits Record and Save:
//
//	Lock     takes the lock, reads the state, replays the journal of a killed run
//	Record   begins a journal, before the first change
//	Save     writes the state if it differs; the state then has everything that the journal has
//	Unlock   ends the journal and releases the lock
//
// If the store is a store.ConcurrentStore, the operation may share the state (operation.Policy): then Lock joins
// other runs on the state, and between planning and Record come
//
//	Claim    claims the parts that the plan uses, and checks that they have not changed
//	Reload    reads the state for another plan, if they have
//
// Save then writes the command's changes into the state of that moment (merge.go). In one working directory such
// commands still run one after the other, because the journal there belongs to one command.
//
// A command that shares the state may ask for a part of it (Request.Part): then all states are such parts, and only the
// part is written. If a journal must be replayed, the command has the whole state.
//
// A journal stays if it has something that no state has: changes that could not be written, calls without an answer, or
// open leases. The next Lock replays it. Its notes about leases and about creations without an
// outcome are carried in the journals of later commands (journal.Notes) until they are settled. Read is for commands
// that only show something: it takes no lock and writes nothing, and its result includes the content of journals.
//
// State has the methods that commands call. Its parts:
//
//	lock      the lock of the workspace, and the parts that the command has claimed
//	document  the state as last read or written
//	recorder  the journal of the command
//	recovery  replays the journals of interrupted runs
//	interims  writes the state while an apply is in progress
//	merge     combines the changes of the command with the changes of others
//
// If a transfer of objects between two directories was interrupted, Lock finishes it, too (transferrecord.go).
//
// A store.Store keeps the states (package store has its contract). The versions of its Put keep two writers apart even
// without a lock. The journal is beside the state if the state is a file of this machine (store.Files), and otherwise
// in the data directory.
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
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
)

// Env has the directories and the functions that states of a working directory need besides their store.
type Env struct {
	FS      disk.FS
	Now     func() time.Time
	Getenv  func(string) string
	Dir     string // the working directory, absolute
	Data    string // the files of the working directory that belong to no configuration: .terraform
	Version string // of the program; in locks, journals and states
	Bag     *diag.Bag

	// Log receives a sentence about each operation on states, locks and journals, without values of a state; may be
	// nil.
	Log func(text string)

	// Other opens another working directory, to finish a transfer between both; nil if the command cannot.
	Other Other
}

// log logs an operation with its duration since started, and its error.
func (e *Env) log(started time.Time, err error, format string, a ...any) {
	if e.Log == nil {
		return
	}
	outcome := ""
	if err != nil {
		outcome = "failed "
	}
	e.Log(fmt.Sprintf(format, a...) + ": " + outcome + "after " + e.Now().Sub(started).Round(time.Microsecond).String())
}

// Other opens the state of another working directory. The environment has its own bag.
type Other func(ctx context.Context, dir string) (*Env, store.Store, bool)

// arrived is the state of the target of a transfer, if a command in the target makes the source finish it. The target may
// have moved to another directory.
type arrived struct {
	id     string
	target *state.Snapshot
}

// Request names the state and the operation of a command.
type Request struct {
	Store     store.Store
	Name      string // of the workspace
	Operation operation.Operation
	Lock      bool              // false: no lock is taken, as with -lock=false
	Shared    bool              // the operation only reads and records nothing: others may read at the same time
	Timeout   time.Duration     // how long to wait for a lock that another has
	Waiting   func()            // called when taking the lock takes long, or another has it, from any goroutine; may be nil
	Releasing func()            // called when releasing the lock takes long, from any goroutine; may be nil
	Resolves  addr.Instance     // the command knows the outcome of calls about it: they are not reported
	Keeper    Keeper            // continues the journal if this process is lost; nil: no process does
	Unkept    func(addr.Object) // called before each lease is opened, if no keeper can close it; may be nil
	Part      Selecting         // the part of a shared state that the command needs; nil: all of it
	Interim   *Interim          // when the state is written while an apply is in progress; nil: never
	Written   func()            // called after the state was written for the first time; may be nil

	arrived *arrived // set by the target of an unfinished transfer that locks the source
}

// Interim sets how often the state is written to its store while an apply is in progress.
type Interim struct {
	Every time.Duration   // from the beginning to the first write, and from the end of one write to the next
	At    <-chan struct{} // closed when a user ends the run: the state is written at once then, and after each change; may be nil
}

// DefaultInterim is the pause between two interim states.
const DefaultInterim = 20 * time.Second

// Selecting returns the resources of a state that a command needs, by their addresses without keys, and the version of
// the state; nil for all resources.
type Selecting func(context.Context, store.PartStore) ([]string, store.Version, error)

// Keeper is another process that continues the journal of a run if the run is lost.
type Keeper interface {
	// JournalOpened tells the keeper where the run's journal is, and which key encrypts its records; an empty path
	// means that the run has closed it. hand describes how the keeper can copy the journal to the store of the state;
	// nil means that it does not. earlier is true if the journal also has calls of an earlier run.
	JournalOpened(path string, key []byte, hand *store.PresignedRequest, earlier bool)
	// Recorded tells the keeper that the journal has the result of a call.
	Recorded(journal.Op)
	// ID returns the keeper's process ID, 0 if no keeper runs.
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

// selected returns the selected workspace and the source of the selection, "" for the default.
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

// Select selects the workspace for later commands.
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

// journalFile is where the progress of a run on a workspace is written: beside the state if the state is a file, or in
// the data directory. The name of a file there contains a digest of the place of the state, because init may set up
// another place, and the state there must not get the changes of the run. Before Lethe 0.1, names had no digest.
func journalFile(env *Env, st store.Store, name string) string {
	c := st.Capabilities()
	if c.Files != nil {
		return journal.Path(c.Files.File(name))
	}
	without := journal.Path(filepath.Join(env.Data, name))
	if c.Place == nil {
		return without
	}
	path := journal.Path(filepath.Join(env.Data, name+"."+string(store.Digest([]byte(c.Place.Place(name))))[:16]))
	if !exists(env, path) && exists(env, without) {
		return without
	}
	return path
}

func exists(env *Env, path string) bool {
	_, err := env.FS.Lstat(path)
	return err == nil
}

// relative is a path as messages show it.
func relative(env *Env, path string) string {
	if rel, err := filepath.Rel(env.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
