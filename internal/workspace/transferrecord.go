package workspace

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/transfer"
)

// A transfer moves objects from the state of one directory (the source) to the state of another (the target), see ADR
// 57. Beside the journal of each state, the transfer has a record in a file. Both records are durable before the first
// state is written. The target is written first, then the source. Both states then list the ID of the transfer.
//
// A command that finds the record decides by the target state alone. If the target was written, the source loses the
// objects. Otherwise the transfer had no effect. A command that only reads shows the result of this decision. A command
// that writes also writes the result and removes both records, in whichever directory it runs.

// recordFile returns the path of the transfer record of a workspace. It is beside the journal.
func recordFile(env *Env, st store.Store, name string) string {
	return strings.TrimSuffix(journalFile(env, st, name), ".journal") + ".transfer"
}

// PlaceOf returns a text that identifies the state of a workspace on this machine: two workspaces with the same text
// have the same state. It returns "" if the store cannot identify the state.
func PlaceOf(env *Env, st store.Store, name string) string {
	c := st.Capabilities()
	switch {
	case c.Files != nil:
		return FilePlace(env, c.Files.File(name))
	case c.Place != nil:
		return c.Place.Place(name)
	}
	return ""
}

// BackupPlaceOf returns the result of PlaceOf for a state in the file to which the store writes the backup of the
// workspace. It returns "" if the store writes no backup.
func BackupPlaceOf(env *Env, st store.Store, name string) string {
	f := st.Capabilities().Files
	if f == nil || f.BackupFile(name) == "" {
		return ""
	}
	return FilePlace(env, f.BackupFile(name))
}

// FilePlace returns the result of PlaceOf for a state in the file at path.
func FilePlace(env *Env, path string) string { return "file " + disk.Real(env.FS, path) }

// transferRecord reads the record of the unfinished transfer of a workspace. It returns nil if no record exists.
func transferRecord(ctx context.Context, env *Env, st store.Store, name string) (*transfer.Record, error) {
	data, err := disk.Read(env.FS, recordFile(env, st, name))
	if err != nil || data == nil {
		return nil, err
	}
	if seal := sealing(st); seal != nil && crypt.Sealed(data) {
		if data, err = seal.Open(ctx, data); err != nil {
			return nil, err
		}
	}
	return transfer.Parse(data)
}

// unreadableRecord returns the error for a record of a transfer that cannot be read.
func unreadableRecord(env *Env, file string, err error) diag.Diagnostic {
	return Problem(err, diag.Errorf("Transfer not finished", "The record %s of an unfinished transfer of objects cannot be read: %s. Until it is read, it is not known which of two states has these objects.", relative(env, file), disk.Reason(err)))
}

// unreachable returns the error for an unfinished transfer whose other directory cannot be used. The parameter why is
// the reason, as sentences.
func unreachable(env *Env, r *transfer.Record, file, why string) diag.Diagnostic {
	_, other := r.This()
	var list []string
	for _, o := range r.Objects {
		address := o.From
		if r.Role == transfer.Target {
			address = o.To
		}
		list = append(list, "  "+address.String())
	}
	if most := 10; len(list) > most {
		list = append(list[:most:most], fmt.Sprintf("  and %d more", len(list)-most))
	}
	return diag.Errorf("Transfer not finished", "A transfer of objects between this directory and %s was interrupted, and the state there is needed to finish it:\n%s\n\n%s\n\nIf that directory was moved, run \"lethe apply\" in its new place, which finishes the transfer. If it no longer exists, delete the record %s. The state of the target has the objects if its list \"lethe_transfers\" contains %s. If it has them, remove them from the state of the source with \"lethe state rm\".", other.Dir, strings.Join(list, "\n"), why, relative(env, file), r.ID)
}

// sentences returns the diagnostics in a bag as sentences.
func sentences(bag *diag.Bag) string {
	var list []string
	for _, d := range bag.List() {
		list = append(list, strings.TrimSuffix(d.Summary, ".")+": "+d.Detail)
	}
	return strings.Join(list, "\n")
}

// target reads the target state of a transfer without a lock, for a command in the source directory. It returns nil if
// the target directory has no state. After an error, it reports the error and returns false.
func target(ctx context.Context, env *Env, r *transfer.Record, file string) (*state.Snapshot, bool) {
	_, st, ok := other(ctx, env, r, file)
	if !ok {
		return nil, false
	}
	data, version, err := st.Get(ctx, r.Target.Workspace)
	if err != nil {
		env.Bag.Add(unreachable(env, r, file, "The state there cannot be read: "+sentence(err)))
		return nil, false
	}
	if version == "" || len(data) == 0 {
		return nil, true
	}
	var bag diag.Bag
	s, ok := state.Read(data, &bag)
	if !ok {
		env.Bag.Add(unreachable(env, r, file, "The state there cannot be read: "+sentences(&bag)))
	}
	return s, ok
}

// other opens the state of the other directory of a transfer. It returns the environment and the store of that state.
// After an error, it reports the error and returns false.
func other(ctx context.Context, env *Env, r *transfer.Record, file string) (*Env, store.Store, bool) {
	_, side := r.This()
	if info, err := os.Stat(string(side.Dir)); err != nil || !info.IsDir() {
		env.Bag.Add(unreachable(env, r, file, "The directory does not exist."))
		return nil, nil, false
	}
	if env.Other == nil {
		env.Bag.Add(unreachable(env, r, file, "This command opens no other directory."))
		return nil, nil, false
	}
	there, st, ok := env.Other(ctx, string(side.Dir))
	if !ok {
		env.Bag.Add(unreachable(env, r, file, "The state there cannot be opened. "+sentences(there.Bag)))
		there.Bag.Clear()
	}
	return there, st, ok
}

// withoutTransferred returns the state s as it will be when the unfinished transfer has been finished or undone.
// Commands that only read use it. If the record or the other state cannot be read, it reports an error and returns
// false.
func withoutTransferred(ctx context.Context, env *Env, st store.Store, name string, s *state.Snapshot) (*state.Snapshot, bool) {
	file := recordFile(env, st, name)
	r, err := transferRecord(ctx, env, st, name)
	switch {
	case err != nil:
		env.Bag.Add(unreadableRecord(env, file, err))
		return nil, false
	case r == nil || r.Role == transfer.Target || !r.Concerns(s):
		return s, true
	}
	there, ok := target(ctx, env, r, file)
	if !ok || !r.Arrived(there, s) {
		return s, ok
	}
	left, _ := r.Left(s)
	next, _ := state.Next(s, left, env.Version)
	return next, true
}
