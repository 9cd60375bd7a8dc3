package consulstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

const (
	lockFlags = 0x2ddccbc058a50c18 // the flags by which other clients of Consul recognize a lock
	ttl       = 15 * time.Second   // the minimum lifetime of a session that is not renewed
	lockDelay = 5 * time.Second    // how long Consul refuses a lock after its session has ended without releasing it
)

// create creates a session of Consul, and returns its ID.
func (r *remote) create(ctx context.Context) (string, error) {
	text, err := json.Marshal(map[string]string{"Name": "state lock", "TTL": ttl.String(), "LockDelay": lockDelay.String()})
	if err != nil {
		return "", err
	}
	var reply struct{ ID string }
	if err := r.ask(ctx, http.MethodPut, "session/create", nil, text, &reply); err != nil {
		return "", err
	}
	if reply.ID == "" {
		return "", errors.New("the answer to the creation of a session has no session ID")
	}
	return reply.ID, nil
}

// destroy ends a session. It ignores errors, because a session that is not renewed ends anyway.
func (r *remote) destroy(ctx context.Context, session string) {
	_ = r.ask(ctx, http.MethodPut, "session/destroy/"+session, nil, nil, nil)
}

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *store.LockError.
func (r *remote) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	if r.o.NoLock {
		return func(context.Context) error { return nil }, nil
	}
	r.mu.Lock()
	l := r.locks[who.ID] // an earlier request may have taken the lock, and its answer was lost
	r.mu.Unlock()
	if l == nil {
		held, _, err := r.holder(ctx, workspace)
		if err == nil && held != nil {
			err = locked(held)
		}
		if err != nil {
			return nil, err
		}
		session, err := r.create(ctx)
		if err != nil {
			return nil, err
		}
		who.Path = r.key(workspace)
		if who.Info == "" {
			who.Info = "consul session: " + session
		}
		l = &lock{workspace: workspace, who: who, session: session}
		r.mu.Lock()
		r.locks[who.ID] = l
		r.mu.Unlock()
	}
	err := r.acquire(ctx, l, l.session)
	var unanswered *store.UnansweredError
	if errors.As(err, &unanswered) {
		return nil, err
	}
	if err != nil {
		r.forget(ctx, l)
		return nil, err
	}
	if l.stop == nil {
		var keeping context.Context
		keeping, l.stop = context.WithCancel(context.WithoutCancel(ctx))
		go r.keep(keeping, l)
	}
	return func(ctx context.Context) error { return r.Break(ctx, workspace, who.ID) }, nil
}

// acquire takes the lock for a session, if the operations in conditions succeed. If another session holds the lock, the
// error is a *store.LockError.
func (r *remote) acquire(ctx context.Context, l *lock, session string, conditions ...op) error {
	_, err := r.transact(ctx, append(conditions,
		op{Verb: "lock", Key: r.below(l.workspace, ".lock"), Session: session, Flags: lockFlags},
		op{Verb: "set", Key: r.below(l.workspace, ".lockinfo"), Value: l.who.Marshal()})...)
	if !store.Refused(err, http.StatusConflict) {
		return err
	}
	held, _, err := r.holder(ctx, l.workspace)
	if err != nil {
		return err
	}
	if held == nil {
		return &store.LockError{Err: fmt.Errorf("the lock of the state is free, but Consul delays a new lock for %s after the end of a session", lockDelay)}
	}
	return locked(held)
}

func locked(held *store.LockInfo) error {
	return &store.LockError{Held: held, Err: errors.New("the state is locked")}
}

// holder returns the holder of a workspace's lock, and the ID of the session that holds it. It returns nil and "" if
// the lock is free.
func (r *remote) holder(ctx context.Context, workspace string) (*store.LockInfo, string, error) {
	var entries []entry // contains the keys .lock and .lockinfo
	key := r.below(workspace, ".lock")
	err := r.ask(ctx, http.MethodGet, "kv/"+key, url.Values{"consistent": {""}, "recurse": {""}}, nil, &entries)
	if store.Refused(err, http.StatusNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	var e, text entry
	for _, found := range entries {
		switch found.Key {
		case key:
			e = found
		case key + "info":
			text = found
		}
	}
	if e.Session == "" {
		return nil, "", nil
	}
	who, err := store.ParseLockInfo(text.Value)
	if err != nil || who.ID == "" {
		who = store.LockInfo{ID: e.Session, Info: "the session does not name its holder"}
	}
	return &who, e.Session, nil
}

// keep renews the session of a lock until ctx ends or the lock is lost.
func (r *remote) keep(ctx context.Context, l *lock) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(ttl / 3):
		}
		short, cancel := context.WithTimeout(ctx, ttl/3)
		err := r.ask(short, http.MethodPut, "session/renew/"+l.session, nil, nil, nil)
		if store.Refused(err, http.StatusNotFound) && !r.reacquire(short, l) {
			cancel()
			return
		}
		cancel()
	}
}

// reacquire takes a lock again after its session has ended, because the machine slept or had no network. It returns
// false if keep must stop: another process has taken the lock since, or the lock was broken. It returns true if it has
// the lock, or if taking it failed and keep should try again. The safety of writes does not depend on the lock, because
// each write compares versions.
func (r *remote) reacquire(ctx context.Context, l *lock) bool {
	text, err := r.read(ctx, r.below(l.workspace, ".lockinfo"))
	if err != nil {
		return true
	}
	if who, err := store.ParseLockInfo(text.Value); err != nil || who.ID != l.who.ID {
		return false
	}
	session, err := r.create(ctx)
	if err != nil {
		return true
	}
	if err := r.acquire(ctx, l, session, op{Verb: "cas", Key: text.Key, Value: text.Value, Index: text.ModifyIndex}); err != nil {
		r.destroy(ctx, session)
		return true
	}
	r.mu.Lock()
	l.session = session
	r.mu.Unlock()
	return true
}

// forget ends the session of a lock, and removes the lock from this process.
func (r *remote) forget(ctx context.Context, l *lock) {
	if l.stop != nil {
		l.stop()
	}
	r.mu.Lock()
	delete(r.locks, l.who.ID)
	session := l.session
	r.mu.Unlock()
	r.destroy(ctx, session)
}

// Break releases the lock with the given ID. If the workspace has no such lock, the error is a *store.LockError. It
// also accepts the session as ID, which Terraform and OpenTofu use as the lock's ID.
func (r *remote) Break(ctx context.Context, workspace, id string) error {
	if err := store.CheckName(workspace); err != nil {
		return err
	}
	if r.o.NoLock {
		return &store.LockError{Err: errors.New(`the state has no lock: the setting "lock" is false`)}
	}
	r.mu.Lock()
	own, session := r.locks[id], ""
	if own != nil {
		session = own.session
	}
	r.mu.Unlock()
	if own == nil {
		held, by, err := r.holder(ctx, workspace)
		switch {
		case err != nil:
			return err
		case held == nil || held.ID != id && by != id:
			return store.OtherLock(held, id)
		}
		session = by
	}
	key := r.below(workspace, ".lock")
	_, err := r.transact(ctx, op{Verb: "check-session", Key: key, Session: session}, op{Verb: "delete", Key: r.below(workspace, ".lockinfo")}, op{Verb: "delete", Key: key})
	var unanswered *store.UnansweredError
	if errors.As(err, &unanswered) {
		return err
	}
	if own != nil {
		r.forget(ctx, own)
	} else if err == nil {
		r.destroy(ctx, session) // the session no longer holds the lock, so the lockDelay of the session does not apply
	}
	if !store.Refused(err, http.StatusConflict) {
		return err
	}
	held, _, err := r.holder(ctx, workspace)
	if err != nil {
		return err
	}
	return &store.LockError{Held: held, Err: errors.New("the lock was released, or taken by another")}
}
