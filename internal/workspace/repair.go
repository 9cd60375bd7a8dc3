package workspace

import (
	"context"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// Repair is what can be done about what an Examination found.
type Repair struct {
	PutBack *Copy  // takes the place of a state that cannot be read; nil: none does
	Aside   string // the file that then has what could not be read; "": there is nothing
	TakeIn  bool   // what the journal has goes into the state, and what cannot be read of it is given up
}

// Nothing reports whether there is nothing to do.
func (r Repair) Nothing() bool { return r.PutBack == nil && !r.TakeIn }

// Repairing is a state that was locked to be repaired.
type Repairing struct {
	*Examination
	Repair

	lock *State
}

// BeginRepair locks a workspace and finds out what can be done. What is wrong with locking is reported; then nothing is
// locked.
func BeginRepair(ctx context.Context, env *Env, req Request) (*Repairing, bool) {
	r := &Repairing{lock: &State{env: env, req: req}}
	r.lock.record = recorder{env: env, path: journalFile(env, req.Store, req.Name), silent: true}
	if req.Lock && !r.lock.take(ctx) {
		return nil, false
	}
	r.lock.await(ctx)
	var ok bool
	if r.Examination, ok = Examine(ctx, env, req.Store, req.Name); !ok {
		r.lock.Unlock()
		return nil, false
	}
	j := r.Journal
	if j != nil && j.Running {
		env.Bag.Add(diag.Errorf("Another run is in progress", "Another process is using the journal %s: a run, or the process that finishes the work of one that was killed. Wait until it has ended.", j.Path))
		r.lock.Unlock()
		return nil, false
	}
	if r.State.Locked {
		return r, true
	}
	if r.PutBack = r.Fitting(); r.PutBack != nil && len(r.State.data) > 0 {
		r.Aside = unreadable(env, req)
	}
	r.TakeIn = j != nil && (j.Has != nil && (j.Has.Changes > 0 || j.Has.Damaged+j.Has.Missing > 0) || r.PutBack != nil && r.PutBack.Snapshot.Digest() == j.base)
	return r, true
}

// Unlock gives the lock back. It may be called more than once.
func (r *Repairing) Unlock() { r.lock.Unlock() }

// Do does what there is to do. What cannot be done is reported.
func (r *Repairing) Do(ctx context.Context) bool {
	s := r.lock
	bag := s.env.Bag
	if r.Aside != "" {
		if err := keep(ctx, s.env, s.req, r.Aside, r.State.data); err != nil {
			bag.Add(diag.Errorf("Failed to repair the state", "The present files could not be put aside first: %s. Nothing was changed.", err))
			return false
		}
	}
	if r.PutBack != nil {
		if _, err := s.req.Store.Put(ctx, s.req.Name, r.PutBack.data, r.State.version); err != nil {
			bag.Add(diag.Errorf("Failed to save state", "Error saving state: %s", err))
			return false
		}
	}
	if !r.TakeIn {
		return true
	}
	var ok bool
	if s.snapshot, s.version, ok = read(ctx, s.env, s.req, nil); !ok {
		return false
	}
	s.record = recorder{env: s.env, seal: sealing(s.req.Store), path: journalFile(s.env, s.req.Store, s.req.Name), name: s.req.Name, lineage: state.NewLineage()}
	return s.recover(ctx)
}

var _ backer = (*store.Local)(nil)
