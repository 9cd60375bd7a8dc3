package backend

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// migration copies the states of one store into another, for init.
type migration struct {
	env       *workspace.Env
	opener    *opener
	req       InitRequest
	was, next settings
	// copied are the state files in the working directory whose states were copied to a backend. The files stay locked and
	// keep their names until all states are copied and the new backend is recorded.
	copied []copiedFile
	// selects is the workspace to select when the new backend is recorded: the selected workspace got another name. It
	// is "" if the selection stays.
	selects string
}

// copiedFile is a state file whose state was copied to a backend.
type copiedFile struct {
	store.Files
	locked    *workspace.State
	workspace string
}

// end releases the locks of the copied files.
func (m *migration) end() {
	for _, l := range m.copied {
		l.locked.Unlock()
	}
}

// selectMoved selects the workspace that has the state of the selected workspace in the new backend. It must be called
// when the new backend is recorded: until then, commands and the next init use the former backend, and would find
// another state there under the new name. If the selection cannot be saved, selectMoved reports an error and returns
// false.
func (m *migration) selectMoved() bool { return m.selects == "" || choose(m.env, m.selects) }

// putAside renames the copied files to backups. Otherwise a later command without a backend block would take such a
// file for the state in use. If a file cannot be renamed, putAside reports an error and returns false.
func (m *migration) putAside() bool {
	for _, l := range m.copied {
		if err := l.SetAside(l.workspace); err != nil {
			m.env.Bag.Add(diag.Errorf("Failed to move the state", "The state was copied to the new backend, but its old file cannot be renamed: %s. Remove that file, because Lethe would read it as the current state.", disk.Reason(err)))
			return false
		}
		l.locked.Note(journal.Notes{}) // the new backend has the notes
	}
	return true
}

// migrate copies the states to the new store, if the former store has states and the user agrees. configured is true if
// init had set up the former backend; otherwise the former states are files of the directory. After an error, migrate
// reports it and returns false.
func (m *migration) migrate(ctx context.Context, configured bool) bool {
	req, was, next := m.req, m.was, m.next
	if configured && !req.Migrate && !req.ForceCopy {
		m.env.Bag.Add(diag.Errorf("Backend configuration changed", "A change in the backend configuration has been detected, which may require migrating existing state.\n\nIf you wish to attempt automatic migration of the state, use \"lethe init -migrate-state\".\nIf you wish to store the current configuration with no changes to the state, use \"lethe init -reconfigure\"."))
		return false
	}
	from, ok1 := m.opener.former(ctx, was)
	to, ok2 := m.opener.open(ctx, next)
	if !ok1 || !ok2 {
		return false
	}
	if sameFiles(from, to) {
		return true
	}
	if migrator := to.Capabilities().Migrator; migrator != nil {
		if a, b, shared := migrator.MigrateFrom(from); shared {
			if from = a; a == nil {
				return true
			}
			if to, ok2 = m.opener.encrypted(b); !ok2 {
				return false
			}
		}
	}
	if !m.allRead(ctx, from) {
		return false
	}
	names, err := filled(ctx, m.env, from)
	if err != nil {
		m.env.Bag.Add(formerly(was, err))
	}
	if len(names) == 0 {
		return err == nil
	}
	all := names
	if !store.Single(ctx, to) || slices.Equal(names, []string{store.Default}) {
		var ok bool
		if names, ok = m.missing(ctx, from, to, names, !configured); !ok || len(names) == 0 {
			return ok
		}
	}
	if !req.ForceCopy {
		if copies, answered := req.Copies(was.driver.Name, next.driver.Name); !copies {
			return answered
		}
	}
	if store.Single(ctx, to) && !slices.Equal(names, []string{store.Default}) {
		return m.copySelected(ctx, from, to, names, !configured)
	}
	for _, name := range names {
		if sameFile(from, to, name) {
			continue // the new store already has this state
		}
		target, ok := m.renamed(ctx, name, all, to)
		if !ok || !m.copyState(ctx, transfer{from, to, name, target}, !configured) {
			return false
		}
		if name != target && m.env.Selected() == name {
			m.selects = target
		}
	}
	return true
}

// allRead adds an error and returns false if the former store has journals that its settings do not read. Its states
// would be moved without the changes in these journals.
func (m *migration) allRead(ctx context.Context, from store.Store) bool {
	left, variable, err := store.DisabledJournalsOf(ctx, from)
	switch {
	case err != nil:
		m.env.Bag.Add(formerly(m.was, err))
	case len(left) > 0:
		m.env.Bag.Add(diag.Errorf("Existing state would be left behind", "The previous backend %q has journals of unfinished runs of these workspaces: %s. To recover their changes, wait for running commands, set the environment variable %s to true, and run init again. To leave the states and journals there, use -reconfigure.", m.was.driver.Name, strings.Join(left, ", "), variable))
	}
	return err == nil && len(left) == 0
}

// renamed returns the name that a workspace gets in the new store. Only the default workspace gets another name, if the
// new store cannot have a default workspace: then the environment or the user gives the name. The names in all, the
// workspaces of the former store, are taken, because that state would replace the state of the default workspace.
// Without a name, renamed reports an error and returns false.
func (m *migration) renamed(ctx context.Context, name string, all []string, to store.Store) (string, bool) {
	if name != store.Default || store.Single(ctx, to) {
		return name, true
	}
	existing, err := to.List(ctx)
	if err != nil {
		m.env.Bag.Add(m.opener.unusable(m.next, err))
		return "", false
	}
	if slices.Contains(existing, name) {
		return name, true
	}
	if name = m.env.Getenv(workspace.Variable); name == "" || slices.Contains(all, name) {
		name = m.req.Rename()
	}
	if name != "" && !slices.Contains(all, name) {
		return name, true
	}
	m.env.Bag.Add(diag.Errorf("The default workspace needs a name", "The workspace %q of the previous backend has a state, but the new backend cannot have a workspace of that name. Set %s to its name in the new backend, which no other workspace of the previous backend has, or use -reconfigure to leave the state there.", store.Default, workspace.Variable))
	return "", false
}

// copySelected copies the state of the selected workspace into a store that keeps only one state. The other workspaces
// stay in the former store. moves is true if the file of the original will be renamed at the end. If the selected
// workspace has no state, or copying fails, copySelected reports an error and returns false.
func (m *migration) copySelected(ctx context.Context, from, to store.Store, names []string, moves bool) bool {
	next := m.next
	selected := m.env.Selected()
	if !slices.Contains(names, selected) {
		m.env.Bag.Add(diag.Errorf("Workspaces not supported", "The backend %q stores only one state, but the selected workspace %q has no state to copy. Select one of these first: %s.", next.driver.Name, selected, strings.Join(names, ", ")))
		return false
	}
	if !m.copyState(ctx, transfer{from, to, selected, store.Default}, moves) {
		return false
	}
	if others := slices.DeleteFunc(names, func(n string) bool { return n == selected }); len(others) > 0 {
		m.env.Bag.Add(diag.Warningf("Workspaces left behind", "The backend %q stores only one state, so only the state of the workspace %q was copied. The states of these workspaces stay in the previous backend: %s.", next.driver.Name, selected, strings.Join(others, ", ")))
	}
	m.selects = store.Default
	return true
}

// transfer is the source and the target of the copy of a state.
type transfer struct {
	from, to       store.Store
	source, target string // the names of the workspace in the two stores
}

// missing returns the workspaces whose states the target does not have. moves is true if the files of the originals
// will be renamed at the end. ok is false if an error was reported.
func (m *migration) missing(ctx context.Context, from, to store.Store, names []string, moves bool) (left []string, ok bool) {
	for _, name := range names {
		exists, ok := false, true
		if from.Capabilities().Files == nil || !moves {
			exists, ok = m.exists(ctx, transfer{from, to, name, name})
		}
		if !ok {
			return nil, false
		}
		if !exists {
			left = append(left, name)
		}
	}
	return left, true
}

// exists reports whether the target already has the state of the source. It locks only the source, because source and
// target may be one state with one lock: two backends may differ only in settings other than the place. ok is false if
// an error was reported.
func (m *migration) exists(ctx context.Context, w transfer) (exists, ok bool) {
	if !sameStored(ctx, w) {
		return false, true
	}
	lock := m.req.Lock
	lock.Store, lock.Name, lock.Operation = w.from, w.source, operation.MigrateFrom
	source, ok := workspace.Lock(ctx, m.env, lock) // workspace.Lock also replays the journals of killed runs
	if !ok {
		return false, false
	}
	defer source.Unlock()
	if exists = sameStored(ctx, w); exists {
		if err := workspace.CopyNotes(m.env, w.to, w.target, source.Snapshot(), source.Notes()); err != nil {
			m.env.Bag.Add(workspace.Problem(err, diag.Errorf("Failed to begin the journal", "The journal of this run could not be created: %s.", err)))
			return false, false
		}
	}
	return exists, true
}

// sameStored reports whether both stores have the same state. It returns false if a state cannot be read; the copy will
// report that error.
func sameStored(ctx context.Context, w transfer) bool {
	source, ok1 := peek(ctx, w.from, w.source)
	target, ok2 := peek(ctx, w.to, w.target)
	return ok1 && ok2 && source.Serial == target.Serial && state.Equal(source, target)
}

// copyState copies the state of one workspace, with source and target locked, and reads the copy back. The original
// stays. moves is true if the file of the original will be renamed at the end. If the state cannot be copied, copyState
// reports an error and returns false.
func (m *migration) copyState(ctx context.Context, w transfer, moves bool) (ok bool) {
	lock := m.req.Lock
	lock.Store, lock.Name, lock.Operation = w.from, w.source, operation.MigrateFrom
	source, ok := workspace.Lock(ctx, m.env, lock)
	if !ok {
		return false
	}
	if files := w.from.Capabilities().Files; files != nil && moves {
		m.copied = append(m.copied, copiedFile{files, source, w.source})
	} else {
		defer source.Unlock()
	}
	if !source.Stored() && source.Notes().Empty() {
		return true // the state of the source is empty: the killed run had recorded changes without effect
	}
	lock.Store, lock.Name, lock.Operation = w.to, w.target, operation.MigrateTo
	target, ok := workspace.Lock(ctx, m.env, lock)
	if !ok {
		return false
	}
	defer func() {
		if ok { // the notes about interrupted runs are in no state, so a later apply in the new backend needs them, too
			target.Note(target.Notes().Join(source.Notes()))
		}
		target.Unlock()
	}()
	if !source.Stored() {
		return true
	}
	next := source.Snapshot()
	if have := target.Snapshot(); target.Stored() {
		same := state.Equal(have, next) && have.Serial == next.Serial // a copy of an earlier migration that did not finish
		if sealer := w.to.Capabilities().Sealer; same && (sealer == nil || !sealer.Outdated(w.target)) {
			return true
		}
		if why := ahead(have, next); why != "" && !same && have.Len()+len(have.Outputs) > 0 && !m.req.ForceCopy {
			m.env.Bag.Add(diag.Errorf("The new backend has a state already", "The workspace %q has a state in both backends, and %s. To overwrite the state in the new backend, use -force-copy. To use it unchanged, use -reconfigure.", w.source, why))
			return false
		}
		if have.Serial >= next.Serial {
			e := next.Edit()
			e.Head().Serial = have.Serial + 1 // services and programs take a state with a lower serial for an older state
			next = e.Done()
		}
	}
	if !target.Put(next) {
		return false
	}
	copied, ok := workspace.Read(ctx, m.env, w.to, w.target)
	if ok && !sameState(copied, next) {
		m.env.Bag.Add(diag.Errorf("Copied state differs", "The new backend returned a different state for the workspace %q than was written to it. The previous backend still has the state and stays in use.", w.target))
		return false
	}
	return ok
}

// sameState reports whether a copy is the state that was written, although a server may store the parsed document
// instead of the text. copied is nil if the server has no state.
func sameState(copied, written *state.Snapshot) bool {
	if copied == nil {
		return false
	}
	if copied.Serial == written.Serial && state.Equal(copied, written) {
		return true
	}
	a, err1 := copied.Bytes()
	b, err2 := written.Bytes()
	return err1 == nil && err2 == nil && jsontext.Equivalent(a, b)
}

// ahead returns the reason why a new state must not replace an existing state. It returns "" if the existing state is
// an earlier state of the same lineage.
func ahead(have, next *state.Snapshot) string {
	switch {
	case have.Lineage != next.Lineage:
		return "their lineages differ"
	case have.Serial > next.Serial:
		return fmt.Sprintf("the state in the new backend is newer: its serial is %d, the previous backend has %d", have.Serial, next.Serial)
	case have.Serial == next.Serial:
		return "they were changed independently of one another"
	}
	return ""
}

// choose selects a workspace for later commands, unless the environment variable TF_WORKSPACE selects one. If the
// selection cannot be saved, it reports an error and returns false.
func choose(env *workspace.Env, name string) bool {
	if env.Getenv(workspace.Variable) != "" {
		return true
	}
	if err := env.Select(name); err != nil {
		env.Bag.Add(diag.Errorf("Failed to select the workspace", "%s.", err))
		return false
	}
	return true
}
