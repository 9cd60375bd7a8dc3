package states

import (
	"context"
	"path/filepath"
	"time"

	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Selected is the selected workspace in the store that the backend settings name.
type Selected struct {
	of    *States // the states of the working directory
	env   *workspace.Env
	store store.Store
	name  string // the name of the selected workspace

	Type string // the type of the backend
}

// Selected opens the store for the selected workspace. It reports an error and returns false if the name of the
// workspace is invalid or the store cannot be opened.
func (s *States) Selected(ctx context.Context) (Selected, bool) {
	env := workdir.Workspaces(s.dir.Call)
	name := env.Selected()
	if !env.CheckName(name) {
		return Selected{}, false
	}
	st, ok := s.OpenStore(ctx)
	if !ok {
		return Selected{}, false
	}
	return Selected{s, env, st.Store, name, st.Type}, true
}

// Examine inspects the state and the files beside it without a lock. It reports an error and returns false if the store
// cannot be read.
func (at Selected) Examine(ctx context.Context) (*workspace.Examination, bool) {
	return workspace.Examine(ctx, at.env, at.store, at.name)
}

// BeginRepair locks the state for a repair, until the end of the command. It reports an error and returns false if the
// state cannot be locked.
func (at Selected) BeginRepair(ctx context.Context) (*workspace.Repairing, bool) {
	req := at.of.Request(operation.Repair)
	req.Store, req.Name = at.store, at.name
	r, ok := workspace.BeginRepair(ctx, at.env, req)
	if ok {
		at.of.locked = append(at.of.locked, r.Unlock)
	}
	return r, ok
}

// ReadNotes reads the notes that interrupted runs left beside the state, such as provider calls without an answer. It
// takes no lock. If the notes cannot be read, it reports an error and returns false.
func (at Selected) ReadNotes(ctx context.Context) (workspace.RunNotes, bool) {
	return workspace.ReadNotes(ctx, at.env, at.store, at.name)
}

// Read reads the state without a lock. It returns nil and true if the workspace has no state. It reports an error and
// returns false if the state cannot be read.
func (at Selected) Read(ctx context.Context) (*state.Snapshot, bool) {
	return workspace.Read(ctx, at.env, at.store, at.name)
}

// Inventory lists all texts that may contain the state or parts of it: the state, backups, former states and journals
// (records of the changes of runs). If a list of such texts cannot be read, the error names the list.
func (at Selected) Inventory(ctx context.Context) ([]workspace.Text, error) {
	return workspace.Inventory(ctx, at.env, at.store, at.name)
}

// Versions lists the earlier versions of the state that the service of the store, such as a bucket with versioning,
// keeps by itself. The error says why they cannot be listed.
func (at Selected) Versions(ctx context.Context) ([]workspace.Text, error) {
	return workspace.Versions(ctx, at.store, at.name)
}

// Capabilities returns the optional interfaces that the store implements; a field for an ability that the store lacks
// is nil.
func (at Selected) Capabilities() store.Capabilities { return at.store.Capabilities() }

// Open returns the decrypted text of a state, or of a copy of the state. It returns a text that is not encrypted
// unchanged, even if the settings require encryption. The error says why the text cannot be decrypted.
func (at Selected) Open(ctx context.Context, data []byte) ([]byte, error) {
	if !crypt.Sealed(data) {
		return data, nil
	}
	return workspace.Open(ctx, at.store, data)
}

// Seal encrypts a text that replaces a stored text, if the stored text is encrypted. Otherwise it returns the text
// unchanged. The error says why the text cannot be encrypted.
func (at Selected) Seal(ctx context.Context, plain, stored []byte) ([]byte, error) {
	if s := at.store.Capabilities().Sealer; s != nil && crypt.Sealed(stored) {
		return s.Seal(ctx, plain)
	}
	return plain, nil
}

// RewriteJournal applies a rewriting to the content of a journal, and returns the new content, or nil if nothing
// changes. A journal that cannot be read is an error.
func (at Selected) RewriteJournal(data []byte, how journal.Rewriting) ([]byte, error) {
	return journal.Rewrite(data, workspace.Sealing(at.store), how)
}

// RewriteFormer calls rewrite with each former state in its stored form, and replaces the state by the result; nil
// keeps the state. It returns the number of changed states. The error says which state could not be read or written.
// The store must have the capability Rewriter.
func (at Selected) RewriteFormer(ctx context.Context, rewrite func(serial uint64, stored []byte) ([]byte, error)) (int, error) {
	return at.store.Capabilities().Rewriter.RewriteFormer(ctx, at.name, rewrite)
}

// Written returns the time of the last change of the state file, or the zero time if the state is not in a file or the
// file does not exist.
func (at Selected) Written() time.Time {
	if f := at.store.Capabilities().Files; f != nil {
		if info, err := at.env.FS.Stat(f.File(at.name)); err == nil {
			return info.ModTime()
		}
	}
	return time.Time{}
}

// LockInfo returns the path of the file that describes the holder of the lock. The file exists only while the state is
// locked. LockInfo returns "" if the state is not in a local file.
func (at Selected) LockInfo() string {
	f := at.store.Capabilities().Files
	if f == nil {
		return ""
	}
	dir, base := filepath.Split(f.File(at.name))
	return filepath.Join(dir, "."+base+".lock.info")
}

// Place returns the place of the state in its backend, such as a bucket and a key. It returns "" if the backend cannot
// name the place.
func (at Selected) Place() string {
	if p := at.store.Capabilities().Place; p != nil {
		return p.Place(at.name)
	}
	return ""
}

// MachinePlace returns a text that identifies the state on this machine: two workspaces with the same text have the
// same state. It returns "" if the place of the state is not known.
func (at Selected) MachinePlace() string { return workspace.PlaceOf(at.env, at.store, at.name) }

// DeleteVersion deletes an earlier version that the service keeps. The error says why the service refused. The store
// must have the capability Service.
func (at Selected) DeleteVersion(ctx context.Context, v store.ServiceVersion) error {
	return at.store.Capabilities().Service.DeleteVersion(ctx, at.name, v)
}

// DeleteCommand returns the shell command that deletes an earlier version that the service keeps. The store must have
// the capability Service.
func (at Selected) DeleteCommand(v store.ServiceVersion) string {
	return at.store.Capabilities().Service.DeleteCommand(at.name, v)
}

// Objects returns the changes of objects in a journal of the state, and whether the journal is encrypted. damaged is
// the number of bytes that cannot be read. err is not nil if the journal as a whole cannot be read.
func (at Selected) Objects(data []byte) (changes []journal.Change, encrypted bool, damaged int, err error) {
	return journal.Objects(data, workspace.Sealing(at.store))
}

// Display returns a path for messages: relative to the working directory if possible, and otherwise unchanged.
func (at Selected) Display(path string) string { return at.of.dir.Display(path) }

// InFile reports whether the state is stored in a local file.
func (at Selected) InFile() bool {
	return at.store.Capabilities().Files != nil
}

// Read reads the state of the selected workspace without a lock. It returns nil and true if the workspace has no state.
// It reports an error and returns false if the state cannot be read.
func (s *States) Read(ctx context.Context) (*state.Snapshot, bool) {
	at, ok := s.Selected(ctx)
	if !ok {
		return nil, false
	}
	return at.Read(ctx)
}
