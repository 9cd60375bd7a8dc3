package pgstore

import (
	"context"
	"errors"

	"github.com/lethe-iac/lethe/internal/store"
)

// participant is a run that works on parts of a state, while other runs may work on other parts.
type participant struct {
	s         *rowStore
	workspace string
	joined    *joined
}

// Join adds a run to the runs that work on parts of one state at the same time. It returns store.ErrNotPartial if the
// database has no table for this and none may be created.
func (s *rowStore) Join(ctx context.Context, workspace string, who store.LockInfo) (store.Participant, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	who.Path = s.o.Schema + "." + s.o.Table + "/" + workspace
	if _, err := s.do(ctx, `SELECT session FROM `+s.claims()+` LIMIT 0`); missing(err) || code(err, "42501") {
		return nil, store.ErrNotPartial // the table of claims is missing, and a setting forbids its creation
	} else if err != nil {
		return nil, s.refused(ctx, err)
	}
	j := &joined{table: s.claims(), parts: store.Parts{}}
	h, err := s.acquire(ctx, workspace, who, j)
	if err == nil {
		if err = h.live(ctx); err != nil {
			h.close()
		}
	}
	if err != nil {
		return nil, s.refused(ctx, err)
	}
	s.keep(workspace, h)
	return &participant{s, workspace, j}, nil
}

// held returns the connection that holds the run's lock and claims. If that connection broke, held opens a new one and
// takes both again. It returns an error if the lock was released.
func (m *participant) held(ctx context.Context) (*held, error) {
	if err := m.s.still(ctx, m.workspace); err != nil {
		return nil, err
	}
	m.s.locks.Lock()
	defer m.s.locks.Unlock()
	h := m.s.locks.held[m.workspace]
	if h == nil || h.joined != m.joined {
		return nil, errors.New("the lock of the state was released")
	}
	return h, nil
}

// Claim reserves parts of the state for the run, all of them or none. If another run has a conflicting part, the error
// is a *store.LockError.
func (m *participant) Claim(ctx context.Context, parts store.Parts) error {
	h, err := m.held(ctx)
	if err != nil {
		return err
	}
	return h.claim(ctx, parts)
}

// Turn waits until no other run writes the state, and returns the function that ends the turn of this run.
func (m *participant) Turn(ctx context.Context) (func(context.Context) error, error) {
	h, err := m.held(ctx)
	if err != nil {
		return nil, err
	}
	// The lock's number has 31 bits, so only the lower 31 bits of the state's id are used. Two states with the same number
	// wait for each other, which does no harm.
	if _, err := h.run(ctx, `SELECT pg_advisory_lock(`+turns+`, ($1::bigint & 2147483647)::int)`, h.key); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := h.run(ctx, `SELECT pg_advisory_unlock(`+turns+`, ($1::bigint & 2147483647)::int)`, h.key)
		return err
	}, nil
}

// Leave releases all parts of the state that the run has claimed. If another process has broken the lock, it does
// nothing and returns nil.
func (m *participant) Leave(ctx context.Context) error {
	m.s.locks.Lock()
	h := m.s.locks.held[m.workspace]
	m.s.locks.Unlock()
	if h == nil || h.joined != m.joined {
		return nil // another process broke the lock
	}
	return m.s.Break(ctx, m.workspace, h.who.ID)
}
