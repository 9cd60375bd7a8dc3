// Package pluginstore keeps states in a state store of a provider, which a state_store block selects (ADR 60).
//
// The protocol has no versions and no conditional writes. The version of a state is its digest. Put reads the state,
// compares the digest, and writes, all under the provider's lock, which prevents other writes at the same time.
//
// Each answer is checked before its use. Files, from the top down: lock.go has the locks and the deletion of a state,
// which releases its lock, pluginstore.go the other methods of the store, diagnostics.go the errors, provider.go the
// calls, chunks.go the checks of chunks.
package pluginstore

import (
	"context"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// longestMoment is how long a Put without the lock waits until the lock is free, before it writes without a lock.
const longestMoment = 10 * time.Second

// Open configures a state store of a provider, and returns it as a store.Store. The provider must already be
// configured.
func Open(ctx context.Context, o Options) (store.Store, error) {
	s := &pluginStore{o: o, lasting: store.Tries{Stop: o.Stop}, held: map[string]string{}, released: map[string]string{}, warned: map[string]bool{}}
	s.singleWrite = &store.SingleWrite{Store: s, Tries: s.lasting, Wait: store.Hurried(longestMoment)}
	chosen, ds := o.Provider.ConfigureStore(ctx, o.Type, o.Config, proposedChunk)
	if err := s.outcome("configure the store", ds); err != nil {
		return nil, err
	}
	if chosen < 0 || chosen > mostChunk {
		return nil, s.breach("it chose %d bytes as the size of a chunk, which must be between 1 and %d", chosen, mostChunk)
	}
	if s.chunk = chosen; chosen == 0 {
		s.chunk = proposedChunk
	}
	return s, nil
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (s *pluginStore) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: s, Place: s}
}

// Place returns a text that identifies the place of a state, for comparison with places of other stores.
func (s *pluginStore) Place(workspace string) string { return s.o.Place + "/" + workspace }

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
func (s *pluginStore) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, "", err
	}
	data, err := s.read(ctx, workspace)
	if err != nil || len(data) == 0 {
		return nil, "", err
	}
	return data, store.Digest(data), nil
}

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError. If the caller has no lock, Put takes the lock for the write. If the lock does not
// become free soon, or locking fails, Put writes without it, because the caller does not want a lock.
func (s *pluginStore) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := store.CheckName(workspace); err != nil {
		return "", err
	}
	put := func(string, error) (store.Version, error) {
		err := s.lasting.Write(ctx, func(ctx context.Context) error { return s.replace(ctx, workspace, data, prev) })
		if err != nil {
			return "", err
		}
		return store.Digest(data), nil
	}
	if s.holds(workspace) {
		return put("", nil)
	}
	return s.singleWrite.Write(ctx, workspace, put)
}

// holds reports whether this process has taken the lock of a workspace through this store.
func (s *pluginStore) holds(workspace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.held[workspace]
	return ok
}

// replace writes a state if the present state has the version prev. Otherwise the error is a *store.StaleError.
func (s *pluginStore) replace(ctx context.Context, workspace string, data []byte, prev store.Version) error {
	_, now, err := s.Get(ctx, workspace)
	if err != nil {
		return err
	}
	if now != prev {
		return &store.StaleError{Workspace: workspace, Missing: now == ""}
	}
	return s.outcome("write the state", s.o.Provider.WriteState(ctx, s.o.Type, workspace, chunks(data, s.chunk)))
}

// List returns the names of the workspaces, the default workspace first. It omits names that are not valid names of
// workspaces.
func (s *pluginStore) List(ctx context.Context) ([]string, error) {
	names, ds := s.o.Provider.ListStates(ctx, s.o.Type)
	if err := s.outcome("list the states", ds); err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == store.Default || store.CheckName(n) != nil })
	slices.Sort(names)
	return append([]string{store.Default}, slices.Compact(names)...), nil
}

// read reads a whole state in chunks. It returns no bytes if the state does not exist.
func (s *pluginStore) read(ctx context.Context, workspace string) ([]byte, error) {
	a := assembly{chunk: s.chunk}
	for part, ds := range s.o.Provider.ReadState(ctx, s.o.Type, workspace) {
		if err := s.outcome("read the state", ds); err != nil {
			return nil, err
		}
		if err := a.add(part); err != nil {
			return nil, s.breach("%s", err)
		}
	}
	if err := a.complete(); err != nil {
		return nil, s.breach("%s", err)
	}
	return a.data, nil
}
