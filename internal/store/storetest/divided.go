package storetest

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/lethe-iac/lethe/internal/store"
)

// Divided is a store.Memory in which several runs can work on different parts of one state at the same time.
type Divided struct {
	store.Memory

	mu      sync.Mutex
	members map[string]map[*participant]bool // the runs that share a state, by workspace
	turns   map[string]*sync.Mutex
}

// participant is a run that shares a state of a Divided store with other runs.
type participant struct {
	of        *Divided
	workspace string
	who       store.LockInfo
	parts     store.Parts
}

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError.
func (d *Divided) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for m := range d.members[workspace] {
		return nil, &store.LockError{Held: &m.who, Err: errors.New("the state is locked")}
	}
	return d.Memory.Lock(ctx, workspace, who)
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (d *Divided) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: d, Versioner: d, Concurrent: d}
}

// Version returns the version of a state without reading the state, or "" if no state exists.
func (d *Divided) Version(ctx context.Context, workspace string) (store.Version, error) {
	_, v, err := d.Get(ctx, workspace)
	return v, err
}

// Join adds a run to the runs that work on parts of one state at the same time. It returns store.ErrNotPartial if the
// state does not exist, and an error if another process holds the exclusive lock.
func (d *Divided) Join(ctx context.Context, workspace string, who store.LockInfo) (store.Participant, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, v, err := d.Get(ctx, workspace); err != nil || v == "" {
		return nil, errors.Join(err, store.ErrNotPartial)
	}
	unlock, err := d.Memory.Lock(ctx, workspace, who) // an error if another process holds the exclusive lock
	if err != nil {
		return nil, err
	}
	if err := unlock(ctx); err != nil {
		return nil, err
	}
	if d.members == nil {
		d.members, d.turns = map[string]map[*participant]bool{}, map[string]*sync.Mutex{}
	}
	if d.members[workspace] == nil {
		d.members[workspace], d.turns[workspace] = map[*participant]bool{}, &sync.Mutex{}
	}
	m := &participant{d, workspace, who, store.Parts{}}
	d.members[workspace][m] = true
	return m, nil
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *store.LockError.
func (d *Divided) Break(ctx context.Context, workspace, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for m := range d.members[workspace] {
		if m.who.ID == id {
			delete(d.members[workspace], m)
			return nil
		}
	}
	return d.Memory.Break(ctx, workspace, id)
}

// Claim reserves parts of the state for the run, all of them or none. If another run has a conflicting part, the error
// is a *store.LockError.
func (m *participant) Claim(_ context.Context, parts store.Parts) error {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	if !m.of.members[m.workspace][m] {
		return errors.New("the lock was taken away")
	}
	for other := range m.of.members[m.workspace] {
		if name, meet := parts.Intersects(other.parts); meet && other != m {
			return &store.LockError{Held: &other.who, Err: &store.PartError{Part: name}}
		}
	}
	all := maps.Clone(m.parts)
	for name, use := range parts {
		all[name] |= use
	}
	m.parts = all
	return nil
}

// Turn waits until no other run writes the state, and returns the function that ends the turn of this run.
func (m *participant) Turn(context.Context) (func(context.Context) error, error) {
	m.of.mu.Lock()
	turn := m.of.turns[m.workspace]
	m.of.mu.Unlock()
	turn.Lock()
	return func(context.Context) error {
		turn.Unlock()
		return nil
	}, nil
}

// Leave releases all parts of the state that the run has claimed.
func (m *participant) Leave(context.Context) error {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	delete(m.of.members[m.workspace], m)
	return nil
}
