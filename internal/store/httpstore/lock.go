package httpstore

import (
	"context"
	"errors"
	"net/http"

	"github.com/lethe-iac/lethe/internal/store"
)

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError. If the settings have no LockAddress, Lock does nothing.
func (r *remote) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	if err := store.Only(workspace); err != nil {
		return nil, err
	}
	if r.o.LockAddress == nil {
		return func(context.Context) error { return nil }, nil
	}
	who.Path = store.Shown(r.o.Address)
	_, err := r.api.Ask(ctx, r.o.Lock, r.o.LockAddress, nil, who.Marshal())
	if store.Refused(err, http.StatusLocked, http.StatusConflict) {
		held := lockError(err, errors.New("the state is locked"))
		if held.Held == nil || held.Held.ID != who.ID {
			return nil, held
		}
		err = nil // an earlier request took the lock, and its answer was lost
	}
	if err != nil {
		return nil, failed(err, r.o.Lock, r.o.LockAddress)
	}
	r.hold(&who)
	return func(ctx context.Context) error {
		if r.o.UnlockAddress == nil { // without UnlockAddress, the server releases its locks by itself
			r.hold(nil)
			return nil
		}
		return r.Break(ctx, workspace, who.ID)
	}, nil
}

// hold records the lock that this process holds; nil means none.
func (r *remote) hold(who *store.LockInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = who
}

// lockID returns the ID of the lock that this process holds, or "".
func (r *remote) lockID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		return ""
	}
	return r.held.ID
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *store.LockError. Not
// every server compares the ID of an UNLOCK with the lock. So for a lock of another process, Break first tries to take
// the lock: the refusal names the holder.
func (r *remote) Break(ctx context.Context, workspace, id string) error {
	if err := store.Only(workspace); err != nil {
		return err
	}
	if r.o.UnlockAddress == nil {
		return &store.LockError{Err: errors.New("the state has no lock: there is no unlock_address")}
	}
	r.mu.Lock()
	who := r.held
	r.mu.Unlock()
	ours := who != nil && who.ID == id
	if !ours {
		var err error
		if who, err = r.holder(ctx, workspace, id); err != nil {
			return err
		}
	}
	_, err := r.api.Ask(ctx, r.o.Unlock, r.o.UnlockAddress, nil, who.Marshal())
	if store.Refused(err, http.StatusLocked, http.StatusConflict, http.StatusNotFound, http.StatusPreconditionFailed) {
		return lockError(err, errors.New("the server has no lock with this ID"))
	}
	if err != nil {
		return failed(err, r.o.Unlock, r.o.UnlockAddress)
	}
	if ours {
		r.hold(nil)
	}
	return nil
}

// holder finds out who holds the lock with the given ID: it tries to take the lock, and the refusal names the holder.
// It returns an error if the state is not locked, or if the lock has another ID. If the settings have no LockAddress,
// or the refusal does not name the holder, holder assumes that the ID is right.
func (r *remote) holder(ctx context.Context, workspace, id string) (*store.LockInfo, error) {
	if r.o.LockAddress == nil {
		return &store.LockInfo{ID: id}, nil
	}
	probe := store.NewLockInfo("force-unlock", "")
	unlock, err := r.Lock(ctx, workspace, probe)
	var held *store.LockError
	switch {
	case err == nil:
		return nil, errors.Join(unlock(ctx), store.OtherLock(nil, id))
	case !errors.As(err, &held):
		return nil, err
	case held.Held == nil:
		return &store.LockInfo{ID: id}, nil
	case held.Held.ID != id:
		return nil, store.OtherLock(held.Held, id)
	}
	return held.Held, nil
}

// lockError returns a *store.LockError with the error err. If the body of the refusal describes the holder, the result
// does so, too.
func lockError(refusal, err error) *store.LockError {
	var r *store.RefusedError
	if errors.As(refusal, &r) {
		if held, parsing := store.ParseLockInfo(r.Body); parsing == nil && held.ID != "" {
			return &store.LockError{Held: &held, Err: err}
		}
	}
	return &store.LockError{Err: err}
}
