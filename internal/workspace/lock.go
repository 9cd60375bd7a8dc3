package workspace

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Lock locks a workspace and reads its state. What is wrong is reported; then nothing is locked.
func Lock(ctx context.Context, env *Env, req Request) (*State, bool) {
	s := &State{env: env, req: req}
	if req.Lock && !s.take(ctx) {
		return nil, false
	}
	ok := s.choose(ctx)
	if ok {
		s.snapshot, s.version, ok = s.read(ctx)
	}
	if ok {
		s.record = recorder{env: env, seal: sealing(req.Store), path: journalFile(env, req.Store, req.Name), name: req.Name, lineage: state.NewLineage(), keeper: req.Keeper, silent: req.Looks && !req.Lock, refreshes: req.Refreshes}
		s.record.copied, s.record.shared = s.copying(), s.shared != nil
		ok = s.recover(ctx) && s.recoverLost(ctx)
	}
	if !ok {
		s.Unlock()
		return nil, false
	}
	return s, true
}

// choose finds out which part of the state the command needs. Where others write between that and the reading it is
// found out again.
func (s *State) choose(ctx context.Context) bool {
	p, ok := s.parted()
	if s.req.Part == nil || !ok || s.shared == nil {
		return true
	}
	if left, err := disk.Read(s.env.FS, journalFile(s.env, s.req.Store, s.req.Name)); err != nil || left != nil {
		return true
	}
	if lost, err := s.lost(ctx); err != nil || len(lost) > 0 {
		return true
	}
	for range 5 {
		part, of, err := s.req.Part(ctx, p)
		switch {
		case errors.Is(err, store.ErrWhole):
			return true
		case err != nil:
			s.env.Bag.Add(Problem(err, diag.Errorf("Failed to load state", "Error refreshing state: %s", err)))
			return false
		case part == nil:
			return true
		}
		s.part = part
		if v, ok := store.As[store.Versioner](s.req.Store); ok {
			if now, err := v.Version(ctx, s.req.Name); err == nil && now == of {
				return true
			}
		}
	}
	s.part = nil
	return true
}

// lockNotice is how long taking or releasing a lock may last before users are told, as by Terraform and OpenTofu.
const lockNotice = 400 * time.Millisecond

// take locks the state, waiting as long as it may.
func (s *State) take(ctx context.Context) bool {
	waiting := func(*store.LockError) {}
	if s.req.Waiting != nil {
		once := sync.OnceFunc(s.req.Waiting)
		waiting = func(*store.LockError) { once() }
		defer time.AfterFunc(lockNotice, once).Stop()
	}
	who, begun := store.NewLockInfo(s.req.Operation, s.env.Version), s.env.Now()
	err := store.ErrWhole
	if d, ok := store.As[store.Divisible](s.req.Store); ok && s.req.Shares {
		err = s.join(ctx, d, who, waiting)
	}
	if errors.Is(err, store.ErrWhole) {
		s.release, err = store.Acquire(ctx, s.req.Store, s.req.Name, who, s.req.Timeout, waiting)
	}
	s.env.log(begun, err, "lock of workspace %q", s.req.Name)
	if err != nil {
		s.release = nil
		s.env.Bag.Add(s.lockProblem(err))
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
	if s.req.Releasing != nil {
		defer time.AfterFunc(lockNotice, s.req.Releasing).Stop()
	}
	begun := s.env.Now()
	err := s.release(ctx)
	s.env.log(begun, err, "unlock of workspace %q", s.req.Name)
	if err != nil {
		s.env.Bag.Add(diag.Errorf("Error releasing the state lock", "Error message: %s\n\nLethe acquires a lock when accessing your state to prevent others\nrunning Lethe to potentially modify the state at the same time. An\nerror occurred while releasing this lock. This could mean that the lock\ndid or did not release properly; you may have to release it with the\n\"force-unlock\" command.", err))
	}
	s.release = nil
}

// SaveApplied writes what an apply made: if it differs from what was read, and if there was no state
// at all, so that there is one from then on. nil is as much as nothing.
func (s *State) SaveApplied(next *state.Snapshot) bool {
	s.stopInterims()
	if s.version == "" && (next == nil || next.Lineage == "") {
		e := (&state.Snapshot{}).Edit()
		if next != nil {
			e = next.Edit()
		}
		e.Head().Lineage = s.record.lineage
		next = e.Done()
	}
	return s.Save(next)
}

// Save writes a snapshot, with the next serial, if it differs from what was read, or would be encrypted otherwise. Of a
// state that others work on, too, it writes what the command changed.
func (s *State) Save(next *state.Snapshot) bool {
	s.stopInterims()
	if next != nil && next.Lineage == "" && s.snapshot.Lineage == "" && !state.Equal(s.snapshot, next) { // the journal has the same
		e := next.Edit()
		e.Head().Lineage = s.record.lineage
		next = e.Done()
	}
	if s.shared == nil {
		return s.save(next)
	}
	done, ok := s.merged(&next)
	defer done()
	return ok && s.save(next)
}

func (s *State) save(next *state.Snapshot) bool {
	next, changed := state.Next(s.snapshot, next, s.env.Version)
	if sealer, ok := store.As[store.Sealer](s.req.Store); !changed && ok && sealer.Outdated(s.req.Name) && s.version != "" {
		next, changed = state.Again(s.snapshot, s.env.Version), true
	}
	if !changed {
		s.record.keep = false
		s.stamp()
	}
	return !changed || s.Put(next)
}

// Begun reports whether a workspace has a state, or the journal of one. One that cannot be read
// counts: the command that reads it reports why.
func Begun(ctx context.Context, env *Env, st store.Store, name string) bool {
	data, _, err := st.Get(ctx, name)
	if err != nil || len(data) > 0 {
		return true
	}
	return recorded(env, st, name)
}

// recorded reports whether there is a file here with the journal of a workspace.
func recorded(env *Env, st store.Store, name string) bool {
	r, err := journal.Recover(env.FS, journalFile(env, st, name), &state.Snapshot{}, sealing(st))
	return err != nil || r != nil
}

// Unfinished reports whether a run left something that the state of a workspace does not have yet, here or in the store.
func Unfinished(ctx context.Context, env *Env, st store.Store, name string) (bool, error) {
	if recorded(env, st, name) {
		return true, nil
	}
	left, err := store.LostJournals(ctx, st, name)
	return len(left) > 0, err
}
