package pluginstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store"
)

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError. The provider chooses the ID of the lock, so an interrupt does not end the call that
// returns the ID. If the provider returns no ID, it does not support locks. If it returns an ID with an error, the lock
// may belong to another holder, so Lock does not release it.
func (s *pluginStore) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	var id string
	err := s.lasting.Write(ctx, func(ctx context.Context) error {
		given, ds := s.o.Provider.LockState(ctx, s.o.Type, workspace, who.Operation)
		id = given
		return s.outcome("lock the state", ds)
	})
	switch {
	case refused(err):
		return nil, s.locked(workspace, err, id)
	case err != nil:
		return nil, err
	case id == "":
		s.warn(diag.Warningf("State is not locked", "%s has no locks, or they are off. Make sure that no other command writes the state at the same time.", store.Sentence(errors.New(s.name()))))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[workspace] = id
	delete(s.released, workspace)
	return func(ctx context.Context) error { return s.unlock(ctx, workspace, id) }, nil
}

// unlock releases a lock of this store, even if the context has ended. Delete may have released the lock already.
func (s *pluginStore) unlock(ctx context.Context, workspace, id string) error {
	s.mu.Lock()
	if s.held[workspace] == id {
		delete(s.held, workspace)
	}
	released := s.released[workspace] == id
	s.mu.Unlock()
	if id == "" || released {
		return nil
	}
	err := s.lasting.Write(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return s.outcome("release the lock", s.o.Provider.UnlockState(ctx, s.o.Type, workspace, id))
	})
	if err != nil {
		return fmt.Errorf("%w\nThe ID of the lock is %s", err, id)
	}
	return nil
}

// Delete deletes a workspace and its state. For the default workspace it returns store.ErrDefault. It first releases
// the lock of the state. Some providers keep the lock beside the state, and with a lock they delete only one of the
// two.
func (s *pluginStore) Delete(ctx context.Context, workspace string) error {
	if err := store.Deletable(workspace); err != nil {
		return err
	}
	if names, err := s.List(ctx); err != nil || !slices.Contains(names, workspace) {
		return err // nil for a missing state, for which some providers would report an error
	}
	s.mu.Lock()
	id := s.held[workspace]
	s.mu.Unlock()
	if err := s.unlock(ctx, workspace, id); err != nil {
		return err
	}
	s.mu.Lock()
	s.released[workspace] = id
	s.mu.Unlock()
	return s.outcome("delete the state", s.o.Provider.DeleteState(ctx, s.o.Type, workspace))
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *store.LockError. Some
// providers do not compare the ID of an unlock with the lock. So Break first tries to take the lock: the error contains
// the holder.
func (s *pluginStore) Break(ctx context.Context, workspace, id string) error {
	unlock, err := s.Lock(ctx, workspace, store.NewLockInfo("force-unlock", ""))
	var held *store.LockError
	switch {
	case err == nil:
		return errors.Join(unlock(ctx), store.OtherLock(nil, id))
	case !errors.As(err, &held):
		return err
	case held.Held != nil && held.Held.ID != id:
		return store.OtherLock(held.Held, id)
	}
	err = s.outcome("release the lock", s.o.Provider.UnlockState(ctx, s.o.Type, workspace, id))
	if refused(err) {
		return s.locked(workspace, err, "")
	}
	return err
}

// described matches a line of terraform-plugin-framework's description of a lock.
var described = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^ *(ID|Operation|Who|Created): +(.*)$`) })

// locked returns the error for a lock that another holder has. The error describes the holder if the message of the
// provider does, or at least has the ID of the lock if the answer has it.
func (s *pluginStore) locked(workspace string, refusal error, id string) *store.LockError {
	before, text, _ := strings.Cut(refusal.Error(), "Lock Info:")
	who := &store.LockInfo{ID: id, Path: s.Place(workspace)}
	for _, line := range described().FindAllStringSubmatch(text, -1) {
		switch value := strings.TrimSpace(line[2]); line[1] {
		case "ID":
			who.ID = value
		case "Operation":
			who.Operation = value
		case "Who":
			who.Who = value
		case "Created":
			who.Created, _ = time.Parse("2006-01-02 15:04:05 -0700 MST", value)
		}
	}
	if who.ID == "" {
		return &store.LockError{Err: refusal}
	}
	return &store.LockError{Held: who, Err: errors.New(strings.TrimSpace(before))}
}
