package pgstore

import (
	"context"
	"errors"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// member is a run that works on parts of a state.
type member struct {
	s         *rowStore
	workspace string
	joined    *joined
}

// Join implements store.Divisible.
func (s *rowStore) Join(ctx context.Context, workspace string, who store.LockInfo) (store.Member, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	who.Path = s.o.Schema + "." + s.o.Table + "/" + workspace
	if _, err := s.do(ctx, `SELECT session FROM `+s.claims()+` LIMIT 0`); missing(err) || code(err, "42501") {
		return nil, store.ErrWhole // the table is not there, and is not to be made
	} else if err != nil {
		return nil, s.refused(ctx, err)
	}
	j := &joined{table: s.claims(), parts: store.Parts{}}
	h, err := s.take(ctx, workspace, who, j)
	if err == nil {
		if err = h.live(ctx); err != nil {
			h.close()
		}
	}
	if err != nil {
		return nil, s.refused(ctx, err)
	}
	s.keep(workspace, h)
	return &member{s, workspace, j}, nil
}

// held is the connection that has what the run has: another, if the one that had it broke.
func (m *member) held(ctx context.Context) (*held, error) {
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

// Claim implements store.Member.
func (m *member) Claim(ctx context.Context, parts store.Parts) error {
	h, err := m.held(ctx)
	if err != nil {
		return err
	}
	return h.claim(ctx, parts)
}

// Turn implements store.Member.
func (m *member) Turn(ctx context.Context) (func(context.Context) error, error) {
	h, err := m.held(ctx)
	if err != nil {
		return nil, err
	}
	// The number of a state is cut to what fits: two that are one then wait for each other, and lose nothing.
	if _, err := h.run(ctx, `SELECT pg_advisory_lock(`+turns+`, ($1::bigint & 2147483647)::int)`, h.key); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := h.run(ctx, `SELECT pg_advisory_unlock(`+turns+`, ($1::bigint & 2147483647)::int)`, h.key)
		return err
	}, nil
}

// Leave implements store.Member.
func (m *member) Leave(ctx context.Context) error {
	m.s.locks.Lock()
	h := m.s.locks.held[m.workspace]
	m.s.locks.Unlock()
	if h == nil || h.joined != m.joined {
		return nil // it was taken away
	}
	return m.s.Break(ctx, m.workspace, h.who.ID)
}
