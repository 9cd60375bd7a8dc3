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

// Around returns a store that encrypts the states of s as t describes. If s keeps states in local files and t encrypts,
// s then also encrypts its backups and former states. A nil t encrypts nothing: the store then only returns a clear
// error for encrypted states.
func Around(s store.Store, t *Target) *Store {
	if files := s.Capabilities().Files; files != nil && t.Encrypts() {
		files.SealBackups(func(data []byte) ([]byte, error) {
			if Sealed(data) {
				plain, outdated, err := t.Open(context.Background(), data)
				if err != nil || !outdated {
					return data, nil // the data is encrypted with the present settings, or the key for it is not configured
				}
				data = plain
			}
			return t.Seal(context.Background(), data)
		})
	}
	return &Store{inner: s, target: t, outdated: map[string]bool{}}
}

// Capabilities returns the abilities of the inner store that transfer no states, and the abilities that transfer them
// in their stored form: Historian, FormerRewriter, ServiceVersions and Journaler. Other capabilities would return or
// accept plain states.
func (s *Store) Capabilities() store.Capabilities {
	in := s.inner.Capabilities()
	return store.Capabilities{
		Breaker: in.Breaker, Files: in.Files, Place: in.Place, Policy: in.Policy, Named: in.Named, Migrator: in.Migrator, NoEncryption: in.NoEncryption,
		Versioner: in.Versioner, Concurrent: in.Concurrent, History: in.History, Rewriter: in.Rewriter, Service: in.Service,
		Journals: in.Journals, Disabled: in.Disabled, Cursor: in.Cursor, Presigner: in.Presigner,
		Sealer: s,
	}
}

// Delete deletes a workspace and its state. For the default workspace it returns store.ErrDefault.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	return s.inner.Delete(ctx, workspace)
}

// List returns the names of the workspaces, the default workspace first.
func (s *Store) List(ctx context.Context) ([]string, error) { return s.inner.List(ctx) }

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError.
func (s *Store) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	return s.inner.Lock(ctx, workspace, who)
}

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
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

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *store.StaleError.
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

// Stored returns a state in its stored form, without decryption, and its version.
func (s *Store) Stored(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	return s.inner.Get(ctx, workspace)
}

func (s *Store) note(workspace string, outdated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outdated[workspace] = outdated
}

// Outdated reports whether the state of a workspace, as last read, was encrypted with other settings than the present
// ones.
func (s *Store) Outdated(workspace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outdated[workspace]
}

// Encrypts reports whether Seal encrypts.
func (s *Store) Encrypts() bool { return s.target.Encrypts() }

// AcceptsPlain returns an error if the settings require encryption. It is only called for journals.
func (s *Store) AcceptsPlain() error {
	_, _, err := s.target.openPlain(nil, "The journal of an earlier run")
	return err
}

// Seal encrypts data with the settings of the store.
func (s *Store) Seal(ctx context.Context, plain []byte) ([]byte, error) {
	return s.target.Seal(ctx, plain)
}

// Open decrypts the result of Seal. If data is not encrypted and the settings require encryption, it returns an error.
func (s *Store) Open(ctx context.Context, data []byte) ([]byte, error) {
	plain, _, err := s.target.Open(ctx, data)
	return plain, err
}
