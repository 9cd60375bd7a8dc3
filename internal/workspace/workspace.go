package workspace

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
)

// Lock locks a workspace and reads its state. After an error, it reports the error, locks nothing and returns false.
func Lock(ctx context.Context, env *Env, req Request) (*State, bool) {
	s := newState(env, req)
	if req.Lock && !s.lock.acquire(ctx) {
		return nil, false
	}
	if s.lock.replaced() || !s.load(ctx) {
		s.Unlock()
		return nil, false
	}
	return s, true
}

// take locks and unlocks a workspace, so that Lock finishes the work of crashed commands. If the workspace cannot be
// locked, take reports an error and returns false.
func take(ctx context.Context, env *Env, req Request) bool {
	s, ok := Lock(ctx, env, req)
	if ok {
		s.Unlock()
	}
	return ok
}

// newState returns a State that is neither locked nor read yet.
func newState(env *Env, req Request) *State {
	s := &State{env: env, req: req}
	s.doc, s.lock = document{env: env, req: &s.req}, lock{env: env, req: &s.req}
	s.recovery = recovery{env: env, req: &s.req, doc: &s.doc, lock: &s.lock, record: &s.record, put: s.Put, take: take}
	return s
}

// load reads a locked state, and replays the journals of interrupted runs. It also finishes an unfinished transfer of
// objects. If that fails, it reports an error and returns false.
func (s *State) load(ctx context.Context) bool {
	ok := s.choose(ctx)
	if ok {
		ok = s.doc.load(ctx)
	}
	if !ok {
		return false
	}
	s.record = newRecorder(s.env, s.req)
	s.record.copied = s.copying()
	return s.recovery.local(ctx) && s.recovery.stored(ctx) && s.recovery.transfer(ctx)
}

// copying returns a new value of type copied, which sends a copy of this command's journal to the store. It returns nil
// if the journal is not copied.
func (s *State) copying() *copied {
	j := s.req.Store.Capabilities().Journals
	if j == nil || !s.lock.held() || s.req.Operation.Policy().ReadOnly {
		return nil
	}
	c := newCopied(j, s.req.Name)
	c.shared = s.lock.shared()
	c.presigner = s.req.Store.Capabilities().Presigner
	return c
}

// choose determines with s.req.Part which resources of the state the command needs. If another command writes the state
// meanwhile, choose repeats this, up to five times. The command reads the whole state if a journal or an unfinished
// transfer exists, if the store cannot divide the state, or if the fifth attempt fails. If the store fails, choose
// reports an error and returns false.
func (s *State) choose(ctx context.Context) bool {
	p := s.req.Store.Capabilities().Parts
	if s.req.Part == nil || p == nil || !s.lock.shared() {
		return true
	}
	if left, err := disk.Read(s.env.FS, journalFile(s.env, s.req.Store, s.req.Name)); err != nil || left != nil {
		return true
	}
	if orphaned, err := s.recovery.orphans(ctx); err != nil || len(orphaned) > 0 || exists(s.env, recordFile(s.env, s.req.Store, s.req.Name)) {
		return true
	}
	for range 5 {
		part, of, err := s.req.Part(ctx, p)
		switch {
		case errors.Is(err, store.ErrNotPartial):
			return true
		case err != nil:
			s.env.Bag.Add(Problem(err, diag.Errorf("Failed to load state", "Error refreshing state: %s", err)))
			return false
		case part == nil:
			return true
		}
		s.doc.part = part
		if v := s.req.Store.Capabilities().Versioner; v != nil {
			if now, err := v.Version(ctx, s.req.Name); err == nil && now == of {
				return true
			}
		}
	}
	s.doc.part = nil
	return true
}

// Unlock ends the journal, if the command has one, and releases the lock. Further calls do nothing.
func (s *State) Unlock() {
	s.End()
	s.lock.unlock()
}

// SaveApplied writes the result of an apply, if it differs from the state that was read. If no state existed,
// SaveApplied always writes the result, so that a state exists afterwards. A nil next changes nothing in an existing
// state. After an error, SaveApplied reports the error and returns false.
func (s *State) SaveApplied(next *state.Snapshot) bool {
	s.stopInterims()
	if s.doc.version == "" && (next == nil || next.Lineage == "") {
		e := (&state.Snapshot{}).Edit()
		if next != nil {
			e = next.Edit()
		}
		e.Head().Lineage = s.record.lineage
		next = e.Done()
	}
	return s.Save(next)
}

// Save writes a snapshot with the next serial if one of these is true: the snapshot differs from the state that was
// read, the encryption settings have changed, or the run has invoked an action (a saved plan with the invocation is
// then out of date). If the state is written to another file than it was read from, and does not differ, Save writes a
// copy. If other commands share the state, Save writes only the changes of the command. After an error, Save reports
// the error and returns false.
func (s *State) Save(next *state.Snapshot) bool {
	s.stopInterims()
	if next != nil && next.Lineage == "" && s.doc.snapshot.Lineage == "" && !state.Equal(s.doc.snapshot, next) { // the journal has the same new lineage
		e := next.Edit()
		e.Head().Lineage = s.record.lineage
		next = e.Done()
	}
	if !s.lock.shared() {
		return s.save(next)
	}
	done, ok := s.merged(&next)
	defer done()
	return ok && s.save(next)
}

func (s *State) save(next *state.Snapshot) bool {
	next, changed := state.Next(s.doc.snapshot, next, s.env.Version)
	if sealer := s.req.Store.Capabilities().Sealer; !changed && sealer != nil && sealer.Outdated(s.req.Name) && s.doc.version != "" {
		next, changed = state.Rewritten(s.doc.snapshot, s.env.Version), true
	}
	if !changed && s.record.invoked() && s.doc.version != "" {
		next, changed = state.Rewritten(s.doc.snapshot, s.env.Version), true
	}
	if f := s.req.Store.Capabilities().Files; !changed && f != nil && f.Apart(s.req.Name) && s.doc.version != "" {
		next, changed = s.doc.snapshot, true // write a copy, because the next command may read the other file
	}
	if !changed {
		s.record.keep = false
		s.doc.stamp()
	}
	return !changed || s.Put(next.WithOverridden(s.overridden))
}

// HasState reports whether a workspace has a state, or a journal of a state. holds is false if the state has neither
// objects nor outputs, and no journal exists. If the state cannot be read, HasState returns an error.
func HasState(ctx context.Context, env *Env, st store.Store, name string) (has, holds bool, err error) {
	data, _, err := st.Get(ctx, name)
	if err != nil {
		return false, false, err
	}
	if holds = recorded(env, st, name); len(data) == 0 {
		return holds, holds, nil
	}
	var bag diag.Bag
	s, ok := state.Read(data, &bag)
	if !ok {
		return false, false, errors.New(bag.List()[0].Detail)
	}
	return true, holds || s.Len()+len(s.Outputs) > 0, nil
}

// recorded reports whether a local file contains a journal of the workspace.
func recorded(env *Env, st store.Store, name string) bool {
	r, err := journal.Recover(env.FS, journalFile(env, st, name), &state.Snapshot{}, sealing(st))
	return err != nil || r != nil
}

// OtherJournals returns the paths of journals in the data directory that belong to states in other places than the
// store st.
func OtherJournals(env *Env, st store.Store) []string {
	entries, err := env.FS.ReadDir(env.Data)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".journal")
		at := strings.LastIndexByte(base, '.')
		path := filepath.Join(env.Data, e.Name())
		if !ok || at < 0 || path == journalFile(env, st, base[:at]) {
			continue
		}
		if r, err := journal.Recover(env.FS, path, &state.Snapshot{}, nil); r != nil || err != nil {
			out = append(out, relative(env, path))
		}
	}
	return out
}

// Unfinished reports whether an interrupted run or transfer has changes, in the directory or in the store, that the
// state of a workspace lacks.
func Unfinished(ctx context.Context, env *Env, st store.Store, name string) (bool, error) {
	if recorded(env, st, name) || exists(env, recordFile(env, st, name)) {
		return true, nil
	}
	left, err := store.OrphanedJournals(ctx, st, name)
	return len(left) > 0, err
}
