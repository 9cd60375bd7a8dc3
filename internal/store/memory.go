package store

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// MemoryDriver is the driver "inmem": it keeps states in memory, for test programs. The states end with the process.
var MemoryDriver = Driver{
	Name: "inmem",
	Schema: &schema.Block{Attrs: []*schema.Attr{
		{Name: "lock_id", Type: cty.String, Optional: true, Description: "Locks the default workspace from the start, in the name of this."},
	}},
	Open: func(ctx context.Context, s Settings) (Store, error) {
		m := &Memory{}
		if id, _ := s.Text("lock_id"); id != "" {
			if _, err := m.Lock(ctx, Default, LockInfo{ID: id, Operation: "test", Info: "test config"}); err != nil {
				return nil, err
			}
		}
		return m, nil
	},
}

// Memory is a store that keeps states in memory. Its zero value is ready for use.
type Memory struct {
	mu     sync.Mutex
	states map[string]stored
	locks  map[string]LockInfo
	writes int
}

type stored struct {
	data    []byte
	version Version
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (m *Memory) Capabilities() Capabilities { return Capabilities{Breaker: m} }

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
func (m *Memory) Get(_ context.Context, workspace string) ([]byte, Version, error) {
	if err := CheckName(workspace); err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.states[workspace]
	return bytes.Clone(s.data), s.version, nil
}

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *StaleError.
func (m *Memory) Put(_ context.Context, workspace string, data []byte, prev Version) (Version, error) {
	if err := CheckName(workspace); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.states[workspace].version; now != prev {
		return "", &StaleError{Workspace: workspace, Missing: now == ""}
	}
	if m.states == nil {
		m.states = map[string]stored{}
	}
	m.writes++
	v := Version(strconv.Itoa(m.writes))
	m.states[workspace] = stored{bytes.Clone(data), v}
	return v, nil
}

// Delete deletes a workspace and its state. For the default workspace it returns ErrDefault.
func (m *Memory) Delete(_ context.Context, workspace string) error {
	if err := Deletable(workspace); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.states, workspace)
	return nil
}

// List returns the names of the workspaces, the default workspace first.
func (m *Memory) List(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sortWorkspaces(slices.Collect(maps.Keys(m.states))), nil
}

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *LockError.
func (m *Memory) Lock(_ context.Context, workspace string, who LockInfo) (func(context.Context) error, error) {
	if err := CheckName(workspace); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if held, ok := m.locks[workspace]; ok {
		return nil, &LockError{Held: &held, Err: errors.New("the state is locked")}
	}
	if m.locks == nil {
		m.locks = map[string]LockInfo{}
	}
	who.Path = workspace
	m.locks[workspace] = who
	return func(ctx context.Context) error { return m.Break(ctx, workspace, who.ID) }, nil
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *LockError.
func (m *Memory) Break(_ context.Context, workspace, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	held, ok := m.locks[workspace]
	switch {
	case !ok:
		return &LockError{Err: errors.New("the state is not locked")}
	case held.ID != id:
		return &LockError{Held: &held, Err: errors.New("the lock has another ID")}
	}
	delete(m.locks, workspace)
	return nil
}
