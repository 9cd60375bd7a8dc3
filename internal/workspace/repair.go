package workspace

import (
	"context"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state"
)

// Repair describes how the damage in an Examination can be repaired.
type Repair struct {
	PutBack *Copy  // the copy of a state that replaces the unreadable state; nil if no copy does
	Aside   string // the file for the unreadable state; "" if the state can be read
	Replay  bool   // replay the journal into the state, without the damaged records
}

// Nothing reports whether no repair is needed or possible.
func (r Repair) Nothing() bool { return r.PutBack == nil && !r.Replay }

// Repairing is a state that is locked for a repair.
type Repairing struct {
	*Examination
	Repair

	locked *State
}

// BeginRepair locks a workspace and finds the possible repairs. After an error, it reports the error, releases the lock
// and returns false.
func BeginRepair(ctx context.Context, env *Env, req Request) (*Repairing, bool) {
	r := &Repairing{locked: newState(env, req)}
	r.locked.record = recorder{env: env, path: journalFile(env, req.Store, req.Name), silent: true}
	if req.Lock && !r.locked.lock.acquire(ctx) {
		return nil, false
	}
	r.locked.recovery.await(ctx)
	var ok bool
	if r.Examination, ok = Examine(ctx, env, req.Store, req.Name); !ok {
		r.locked.Unlock()
		return nil, false
	}
	j := r.Journal
	if j != nil && j.Running {
		env.Bag.Add(diag.Errorf("Another run is in progress", "Another process uses the journal %s: a run, or the keeper of a killed run. Wait until it has ended.", j.Path))
		r.locked.Unlock()
		return nil, false
	}
	if r.State.Locked {
		return r, true
	}
	if r.PutBack = r.Fitting(); r.PutBack != nil && len(r.State.data) > 0 {
		r.Aside = unreadable(env, req)
	}
	r.Replay = j != nil && (j.Recovery != nil && (j.Recovery.Changes > 0 || j.Recovery.Damaged+j.Recovery.Missing > 0) || r.PutBack != nil && j.continues(r.PutBack.Snapshot))
	return r, true
}

// Unlock releases the lock. It may be called more than once.
func (r *Repairing) Unlock() { r.locked.Unlock() }

// Do performs the repairs in r. After an error, it reports the error and returns false.
func (r *Repairing) Do(ctx context.Context) bool {
	s := r.locked
	bag := s.env.Bag
	if r.Aside != "" {
		if err := keep(ctx, s.env, s.req, r.Aside, r.State.data); err != nil {
			bag.Add(diag.Errorf("Failed to repair the state", "The current files could not be saved first: %s. Nothing was changed.", err))
			return false
		}
	}
	if r.PutBack != nil {
		if _, err := s.req.Store.Put(ctx, s.req.Name, r.PutBack.data, r.State.version); err != nil {
			bag.Add(diag.Errorf("Failed to save state", "Error saving state: %s", err))
			return false
		}
	}
	if !r.Replay {
		return true
	}
	if !s.doc.load(ctx) {
		return false
	}
	s.record = recorder{env: s.env, seal: sealing(s.req.Store), path: journalFile(s.env, s.req.Store, s.req.Name), name: s.req.Name, lineage: state.NewLineage()}
	return s.recovery.local(ctx)
}
