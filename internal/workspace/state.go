package workspace

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
)

// State is the state of a workspace, locked for a command. It is a journal.Leases.
type State struct {
	env      *Env
	req      Request
	snapshot *state.Snapshot // never nil
	version  store.Version
	release  func(context.Context) error
	record   recorder
}

// Lock locks a workspace and reads its state. What is wrong is reported; then nothing is locked.
func Lock(ctx context.Context, env *Env, req Request) (*State, bool) {
	s := &State{env: env, req: req}
	if req.Lock && !s.take(ctx) {
		return nil, false
	}
	var ok bool
	if s.snapshot, s.version, ok = read(ctx, env, req); ok {
		s.record = recorder{env: env, seal: sealing(req.Store), path: journalFile(env, req.Store, req.Name), name: req.Name, silent: req.Looks && !req.Lock}
		ok = s.recover(ctx)
	}
	if !ok {
		s.Unlock()
		return nil, false
	}
	return s, true
}

// Read reads a state without a lock; nil where there is none. What a run has recorded beside it, one
// that was killed or one that goes on, belongs to it.
func Read(ctx context.Context, env *Env, st store.Store, name string) (*state.Snapshot, bool) {
	s, v, ok := read(ctx, env, Request{Store: st, Name: name})
	if !ok {
		return nil, false
	}
	if r, err := journal.Recover(env.FS, journalFile(env, st, name), s, sealing(st)); err == nil && r != nil {
		return r.Snapshot, true
	}
	if v == "" {
		return nil, true
	}
	return s, true
}

// Begun reports whether a workspace has a state, or the journal of one. One that cannot be read
// counts: the command that reads it reports why.
func Begun(ctx context.Context, env *Env, st store.Store, name string) bool {
	data, _, err := st.Get(ctx, name)
	if err != nil || len(data) > 0 {
		return true
	}
	r, err := journal.Recover(env.FS, journalFile(env, st, name), &state.Snapshot{}, sealing(st))
	return err != nil || r != nil
}

func read(ctx context.Context, env *Env, req Request) (*state.Snapshot, store.Version, bool) {
	data, version, err := req.Store.Get(ctx, req.Name)
	if err != nil {
		env.Bag.Add(Problem(err, diag.Errorf("Failed to load state", "Error refreshing state: %s", err)))
		return nil, "", false
	}
	if version == "" || req.Replaces && len(data) == 0 {
		return &state.Snapshot{}, version, true
	}
	s, ok := state.Read(data, env.Bag)
	return s, version, ok
}

// Problem is what users read of an error of a store: what it says of itself, or else otherwise.
func Problem(err error, otherwise diag.Diagnostic) diag.Diagnostic {
	if d, ok := crypt.Diagnostic(err); ok {
		return d
	}
	return otherwise
}

// sealing is what a store encrypts journals with; nil if it encrypts nothing.
func sealing(st store.Store) journal.Sealing {
	if s, ok := store.As[store.Sealer](st); ok {
		return s
	}
	return nil
}

// Snapshot is the state as it was read, journals included, or as it was written last. It is never nil.
func (s *State) Snapshot() *state.Snapshot { return s.snapshot }

// Missing reports whether there is no state, and no journal of one.
func (s *State) Missing() bool { return s.version == "" && s.snapshot.Len() == 0 }

// Stored reports whether the store has a state, if only an empty one.
func (s *State) Stored() bool { return s.version != "" }

// take locks the state, waiting as long as it may.
func (s *State) take(ctx context.Context) bool {
	waiting := func(*store.LockError) {
		if s.req.Waiting != nil {
			s.req.Waiting()
		}
	}
	var err error
	s.release, err = store.Acquire(ctx, s.req.Store, s.req.Name, store.NewLockInfo(s.req.Operation, s.env.Version), s.req.Timeout, waiting)
	if err != nil {
		s.release = nil
		s.env.Bag.Add(store.LockDiagnostic(err, "Lethe"))
	}
	return err == nil
}

// Unlock ends the journal, if there is one, and gives the lock back. It may be called more than once.
func (s *State) Unlock() {
	s.End()
	if s.release == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.release(ctx); err != nil {
		s.env.Bag.Add(diag.Errorf("Error releasing the state lock", "Error message: %s\n\nLethe acquires a lock when accessing your state to prevent others\nrunning Lethe to potentially modify the state at the same time. An\nerror occurred while releasing this lock. This could mean that the lock\ndid or did not release properly; you may have to release it with the\n\"force-unlock\" command.", err))
	}
	s.release = nil
}

// SaveApplied writes what an apply made: if it differs from what was read, and if there was no state
// at all, so that there is one from then on. nil is as much as nothing.
func (s *State) SaveApplied(next *state.Snapshot) bool {
	if s.version == "" && (next == nil || next.Lineage == "") {
		e := (&state.Snapshot{}).Edit()
		if next != nil {
			e = next.Edit()
		}
		e.Head().Lineage = state.NewLineage()
		next = e.Done()
	}
	return s.Save(next)
}

// Save writes a snapshot, with the next serial, if it differs from what was read, or would be encrypted otherwise.
func (s *State) Save(next *state.Snapshot) bool {
	next, changed := state.Next(s.snapshot, next, s.env.Version)
	if sealer, ok := store.As[store.Sealer](s.req.Store); !changed && ok && sealer.Outdated(s.req.Name) && s.version != "" {
		next, changed = state.Again(s.snapshot, s.env.Version), true
	}
	if !changed {
		s.record.keep = false
	}
	return !changed || s.Put(next)
}

// Put writes a snapshot as it is. If the store refuses, the state goes to a file that only the
// user can read, never to the screen.
func (s *State) Put(next *state.Snapshot) bool {
	data, err := next.Bytes()
	recorded := s.record.complete()
	if err == nil {
		s.record.about(state.DigestOf(data))
		s.version, err = s.req.Store.Put(context.Background(), s.req.Name, data, s.version)
	}
	if err == nil {
		s.snapshot, s.record.keep = next, false
		if written := s.req.Written; written != nil {
			s.req.Written = nil
			written()
		}
		return true
	}
	s.env.Bag.Add(diag.Errorf("Failed to save state", "Error saving state: %s\n\n%s", err, s.elsewhere(next, data, recorded)))
	return false
}

// Delete removes the workspace with its state.
func (s *State) Delete(ctx context.Context) error { return s.req.Store.Delete(ctx, s.req.Name) }

// elsewhere says where a state is that could not be written: in another file, or in the journal of a
// run that recorded everything, or nowhere but on the screen.
func (s *State) elsewhere(next *state.Snapshot, data []byte, recorded bool) string {
	var err error
	if seal := sealing(s.req.Store); seal != nil {
		data, err = seal.Seal(context.Background(), data)
	}
	path := ""
	if err == nil {
		path, err = store.EmergencyDump(s.env.FS, data, store.EmergencyDirs(s.env.Dir, s.env.Getenv)...)
	}
	switch {
	case err == nil:
		return fmt.Sprintf("The updated state was written to %s. Put it in place with: lethe state push %s", path, path)
	case recorded:
		return "The journal beside the state still has everything that was done: the next command takes it in."
	case !s.record.keep:
		return "The state is as it was."
	}
	var b strings.Builder
	b.WriteString("No other file took it, and the journal has not all of it. These objects differ from the state that is stored; write them down, and import those that are missing:")
	for o, e := range next.Objects() {
		if s.snapshot.Get(o) != e {
			fmt.Fprintf(&b, "\n  %s [id=%s]", o, e.ID())
		}
	}
	for o := range s.snapshot.Objects() {
		if next.Get(o) == nil {
			fmt.Fprintf(&b, "\n  %s (is gone)", o)
		}
	}
	return b.String()
}
