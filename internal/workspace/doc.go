// Package workspace opens, locks, recovers and saves the state of one workspace.
//
// If an earlier run was killed, Lock first replays its journal: it adds the changes in the journal to the state. A
// command that changes objects takes these steps. A command that only plans omits Record and Save:
//
//	Lock     takes the lock, reads the state, replays the journal of a killed run
//	Record   begins a journal, before the first change
//	Save     writes the state if it has changed; the state then has all changes of the journal
//	Unlock   ends the journal and releases the lock
//
// If the store is a store.ConcurrentStore, the operation may permit that other runs work on the state at the same time
// (operation.Policy). Then Lock joins these runs, and the following steps come between planning and Record:
//
//	Claim    claims the parts that the plan uses, and checks that they have not changed
//	Reload   reads the state for another plan, if they have changed
//
// Save then merges the command's changes into the present state (merge.go). In one working directory, such commands
// still run one after the other, because the directory has room for the journal of one command.
//
// A command that shares the state may read only a part of it (Request.Part): the objects of some resources. Then all
// snapshots have only these objects, and only they are written. If a journal must be replayed, the command reads the
// whole state.
//
// A journal stays if it has something that no state has: changes that could not be written, calls without an answer, or
// open leases (sessions of ephemeral resources). The next Lock replays it. The notes about leases and about creations
// with an unknown outcome are copied into the journals of later commands (journal.Notes) until they are settled. Read
// is for commands that only show a state: it takes no lock and writes nothing. Its result includes the changes in
// journals.
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
// A store.Store keeps the states (see package store for its contract). If two writers replace the same version, Put
// fails for one of them, even without a lock. If the state is a local file (store.Files), the journal is beside it.
// Otherwise the journal is in the data directory.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// Env has the directories and functions that this package needs in addition to a store.
type Env struct {
	FS      disk.FS
	Now     func() time.Time
	Getenv  func(string) string
	Dir     string // the working directory, absolute
	Data    string // the data directory, .terraform
	Version string // the version of this program, which locks, journals and states record
	Bag     *diag.Bag

	// Log receives a sentence about each operation on states, locks and journals. The sentence contains no values of a
	// state. Log may be nil.
	Log func(text string)

	// Other opens the state of another working directory, to finish an interrupted transfer of objects between both
	// directories. It is nil if the command cannot open another directory.
	Other Other
}

// log passes a sentence about an operation to e.Log, with the duration of the operation since started, and its error.
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

// Other opens the state of another working directory. The returned environment has its own bag of diagnostics.
type Other func(ctx context.Context, dir string) (*Env, store.Store, bool)

// arrived is the state that an unfinished transfer has moved objects into. A command in the target directory passes it
// to the recovery of the source directory, which could not find a target directory that was moved.
type arrived struct {
	id     string
	target *state.Snapshot
}

// Request names the state and the operation of a command.
type Request struct {
	Store     store.Store
	Name      string // the name of the workspace
	Operation operation.Operation
	Lock      bool          // if false, no lock is taken, as with -lock=false
	Shared    bool          // the operation only reads, so other readers may hold the lock, too
	Timeout   time.Duration // how long to wait for a lock that another command holds
	Waiting   func()        // called, from any goroutine, if the lock is not available after lockNotice; may be nil
	Releasing func()        // called, from any goroutine, if releasing the lock takes longer than lockNotice; may be nil
	Resolves  addr.Instance // the command settles calls of crashed runs about this instance, so they are not reported
	Keeper    Keeper        // the second process, which continues the journal if this process is killed; may be nil
	Part      Selecting     // selects the resources of a shared state that the command needs; nil means the whole state
	Interim   *Interim      // when to write interim states (states before the end of an apply); nil means never
	Written   func()        // called after the first write of the state; may be nil
	File      string        // the state file that the user named; "" means the state of the workspace

	// Replaced returns an error if the directory does not use the store any more. Lock calls it when it holds the lock, and
	// Record before the first change. It may be nil.
	Replaced func() (diag.Diagnostic, bool)

	arrived *arrived // set if a command in the target directory of an unfinished transfer locks the source
}

// Interim sets how often an apply writes interim states (the state before the end of the apply) to the store.
type Interim struct {
	Every time.Duration   // the time from the beginning to the first interim state, and from the end of a write to the next
	At    <-chan struct{} // closed by an interrupt: then write at once and after each change; nil means that no interrupt is possible
}

// DefaultInterim is the default of Interim.Every.
const DefaultInterim = 20 * time.Second

// Selecting returns the resources of a state that a command needs, as addresses without instance keys, and the version
// of the state. A nil list means all resources.
type Selecting func(context.Context, store.PartStore) ([]string, store.Version, error)

// Keeper is another process that continues the journal of a run if the process of the run ends.
type Keeper interface {
	// JournalOpened tells the keeper the path of the run's journal, and the key that encrypts its records. An empty path
	// means that the run has closed the journal. hand is a request with which the keeper can copy the journal to the store
	// of the state; nil means that it cannot. earlier is true if the journal also has calls of an earlier run.
	JournalOpened(path string, key []byte, hand *store.PresignedRequest, earlier bool)
	// Recorded tells the keeper that the journal has the result of a call.
	Recorded(journal.Op)
	// ID returns the process ID of the keeper, or 0 if no keeper runs.
	ID() int
}

// Variable is the environment variable that selects a workspace.
const Variable = "TF_WORKSPACE"

// Selected returns the name of the workspace that commands use: the value of the environment variable Variable, or else
// the name that Select wrote, or else "default". It returns "", which CheckName refuses, if the file that Select wrote
// cannot be read.
func (e *Env) Selected() string {
	name, _, _ := e.selected()
	return name
}

// selected returns the selected workspace. The result by describes the source of the selection for messages; it is ""
// if the default workspace is selected because nothing selects another.
func (e *Env) selected() (name, by string, err error) {
	if w := e.Getenv(Variable); w != "" {
		return w, "the environment variable " + Variable, nil
	}
	text, err := disk.Read(e.FS, e.selection())
	if err != nil {
		return "", "", err
	}
	if w := strings.TrimSpace(string(text)); w != "" {
		return w, "the file " + e.selection() + ", which \"lethe workspace select\" writes", nil
	}
	return store.Default, "", nil
}

// Select selects the workspace for later commands: it writes the name to a file in the data directory, and creates the
// directory. It does not check the name. Other users may read the file, which has no secret. If the directory cannot be
// written but the file can, as Terraform permits, Select overwrites the file.
func (e *Env) Select(name string) error {
	if err := e.MakeData(); err != nil {
		return err
	}
	err := disk.ReplaceReadable(e.FS, e.selection(), []byte(name))
	if errors.Is(err, fs.ErrPermission) && e.overwrite(e.selection(), name) == nil {
		return nil
	}
	return err
}

// overwrite overwrites a file with a name. One write replaces the whole text, with newlines up to its former length, so
// that a kill leaves neither a part of the name nor an empty file, which would select the default workspace.
func (e *Env) overwrite(file, name string) error {
	was, err := e.FS.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := e.FS.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(name + strings.Repeat("\n", max(0, len(was)-len(name)))))
	if err == nil {
		err = f.Truncate(int64(len(name)))
	}
	return errors.Join(err, f.Close())
}

// MakeData creates the data directory.
func (e *Env) MakeData() error { return os.MkdirAll(e.Data, 0o755) }

func (e *Env) selection() string { return filepath.Join(e.Data, "environment") }

// CheckName adds an error and returns false if name is not a valid workspace name.
func (e *Env) CheckName(name string) bool {
	if store.CheckName(name) == nil {
		return true
	}
	selected, by, err := e.selected()
	if name == "" && err != nil {
		e.Bag.Add(diag.Errorf("Failed to read the selected workspace", "The file %s, which \"lethe workspace select\" writes, cannot be read: %s. Nothing was done, because another workspace may be selected there. Correct or remove the file, or set the environment variable %s.", e.selection(), disk.Reason(err), Variable))
		return false
	}
	origin := ""
	if name == selected && by != "" {
		origin = " It comes from " + by + "."
	}
	e.Bag.Add(diag.Errorf("Invalid workspace name", "The workspace name %q is not allowed. The name must contain only URL safe characters, and no path separators.%s", name, origin))
	return false
}

// journalFile returns the path of the journal of a workspace. If the state is a local file, the journal is beside it,
// otherwise in the data directory. A name in the data directory contains a digest of the place of the state: if init
// sets up another place, the state there must not get the changes of this journal. Before Lethe 0.1, names had no
// digest.
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

// relative returns a path in the form for messages: relative to the working directory if the file is in it, otherwise
// unchanged.
func relative(env *Env, path string) string {
	if rel, err := filepath.Rel(env.Dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
