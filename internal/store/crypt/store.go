package crypt

import (
	"context"
	"errors"
	"sync"

	"github.com/lethe-iac/lethe/internal/store"
)

// Store encrypts the states of another store.
type Store struct {
	inner  store.Store
	target *Target

	mu       sync.Mutex
	outdated map[string]bool // workspaces whose stored state should be encrypted again
}

// Around returns a store that encrypts the contents of s. If s keeps states in files, and t encrypts, it also makes s
// encrypt its backups. A nil target encrypts nothing: the store then only explains why it cannot read encrypted states.
func Around(s store.Store, t *Target) *Store {
	if files := s.Capabilities().Files; files != nil && t.Encrypts() {
		files.SealBackups(func(data []byte) ([]byte, error) {
			if Sealed(data) {
				plain, outdated, err := t.Open(context.Background(), data)
				if err != nil || !outdated {
					return data, nil // up to date, or its key is not configured
				}
				data = plain
			}
			return t.Seal(context.Background(), data)
		})
	}
	return &Store{inner: s, target: t, outdated: map[string]bool{}}
}

// Capabilities implements store.Store. It forwards capabilities of the inner store that transfer no states, and
// capabilities that transfer them in their stored form: Historian, FormerRewriter, ServiceVersions and Journaler. Other
// capabilities would return or accept plain states.
func (s *Store) Capabilities() store.Capabilities {
	in := s.inner.Capabilities()
	return store.Capabilities{
		Breaker: in.Breaker, Files: in.Files, Place: in.Place, Policy: in.Policy, Named: in.Named, Migrator: in.Migrator, NoEncryption: in.NoEncryption,
		Versioner: in.Versioner, Concurrent: in.Concurrent, History: in.History, Rewriter: in.Rewriter, Service: in.Service,
		Journals: in.Journals, Disabled: in.Disabled, Cursor: in.Cursor, Presigner: in.Presigner,
		Sealer: s,
	}
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	return s.inner.Delete(ctx, workspace)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context) ([]string, error) { return s.inner.List(ctx) }

// Lock implements store.Store.
func (s *Store) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	return s.inner.Lock(ctx, workspace, who)
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	data, v, err := s.inner.Get(ctx, workspace)
	if err != nil {
		return nil, "", err
	}
	plain, outdated, err := s.target.Open(ctx, data)
	var e *Error
	if errors.As(err, &e) && e.damaged {
		err = &store.DamagedError{Version: v, Data: data, Err: err}
	}
	if err != nil {
		return nil, "", err
	}
	s.note(workspace, outdated)
	return plain, v, nil
}

// Put implements store.Store.
func (s *Store) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	sealed, err := s.target.Seal(ctx, data)
	if err != nil {
		return "", err
	}
	v, err := s.inner.Put(ctx, workspace, sealed, prev)
	if err == nil {
		s.note(workspace, false)
	}
	return v, err
}

// Stored implements store.Sealer.
func (s *Store) Stored(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	return s.inner.Get(ctx, workspace)
}

func (s *Store) note(workspace string, outdated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outdated[workspace] = outdated
}

// Outdated implements store.Sealer.
func (s *Store) Outdated(workspace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outdated[workspace]
}

// Encrypts implements store.Sealer.
func (s *Store) Encrypts() bool { return s.target.Encrypts() }

// AcceptsPlain implements store.Sealer. It is only called for journals.
func (s *Store) AcceptsPlain() error {
	_, _, err := s.target.openPlain(nil, "The journal of an earlier run")
	return err
}

// Seal implements store.Sealer.
func (s *Store) Seal(ctx context.Context, plain []byte) ([]byte, error) {
	return s.target.Seal(ctx, plain)
}

// Open implements store.Sealer.
func (s *Store) Open(ctx context.Context, data []byte) ([]byte, error) {
	plain, _, err := s.target.Open(ctx, data)
	return plain, err
}
