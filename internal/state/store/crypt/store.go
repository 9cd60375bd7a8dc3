package crypt

import (
	"context"
	"errors"
	"sync"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// Store keeps the states of another store encrypted.
type Store struct {
	store.Store
	target *Target

	mu       sync.Mutex
	outdated map[string]bool // workspaces whose state would be written otherwise now
}

// Around encrypts what a store keeps. Without a target for states it only says of encrypted ones what they are.
func Around(s store.Store, t *Target) *Store {
	if local, ok := store.As[*store.Local](s); ok && t.Encrypts() {
		local.SealBackups(func(data []byte) ([]byte, error) {
			if Sealed(data) {
				plain, outdated, err := t.Open(context.Background(), data)
				if err != nil || !outdated {
					return data, nil // current, or of a key that the configuration does not have
				}
				data = plain
			}
			return t.Seal(context.Background(), data)
		})
	}
	return &Store{Store: s, target: t, outdated: map[string]bool{}}
}

// Unwrap implements store.Wrapper.
func (s *Store) Unwrap() store.Store { return s.Store }

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	data, v, err := s.Store.Get(ctx, workspace)
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
	v, err := s.Store.Put(ctx, workspace, sealed, prev)
	if err == nil {
		s.note(workspace, false)
	}
	return v, err
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

// AcceptsPlain implements store.Sealer. Only journals are asked about in this way.
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
