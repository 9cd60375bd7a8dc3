package consulstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store"
)

const (
	lockFlags = 0x2ddccbc058a50c18 // by which users of Consul know a lock
	ttl       = 15 * time.Second   // how long a session lives that is not renewed, at least
	lockDelay = 5 * time.Second    // how long Consul gives the lock of a session that has died to no other
)

// create begins a session.
func (r *remote) create(ctx context.Context) (string, error) {
	text, err := json.Marshal(map[string]string{"Name": "state lock", "TTL": ttl.String(), "LockDelay": lockDelay.String()})
	if err != nil {
		return "", err
	}
	var said struct{ ID string }
	if err := r.ask(ctx, http.MethodPut, "session/create", nil, text, &said); err != nil {
		return "", err
	}
	if said.ID == "" {
		return "", errors.New("the answer to the creation of a session does not say its ID")
	}
	return said.ID, nil
}

// destroy ends a session, which ends by itself otherwise.
func (r *remote) destroy(ctx context.Context, session string) {
	_ = r.ask(ctx, http.MethodPut, "session/destroy/"+session, nil, nil, nil)
}

// Lock implements store.Store.
func (r *remote) Lock(ctx context.Context, workspace string, who store.LockInfo) (func(context.Context) error, error) {
	if err := store.CheckName(workspace); err != nil {
		return nil, err
	}
	if r.o.NoLock {
		return func(context.Context) error { return nil }, nil
	}
	r.mu.Lock()
	l := r.locks[who.ID] // an earlier request may have taken it
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
	err := r.take(ctx, l, l.session)
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

// take asks for a lock, in the name of a session.
func (r *remote) take(ctx context.Context, l *lock, session string, conditions ...op) error {
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
		return &store.LockError{Err: fmt.Errorf("the lock of the state is free, and Consul gives it to nobody else for %s after the end of a session", lockDelay)}
	}
	return locked(held)
}

func locked(held *store.LockInfo) error {
	return &store.LockError{Held: held, Err: errors.New("the state is locked")}
}

// holder says who has a lock, and with which session; nil where it is free.
func (r *remote) holder(ctx context.Context, workspace string) (*store.LockInfo, string, error) {
	var said []entry // the key of the lock and that about its holder, which begins as the other
	key := r.below(workspace, ".lock")
	err := r.ask(ctx, http.MethodGet, "kv/"+key, url.Values{"consistent": {""}, "recurse": {""}}, nil, &said)
	if store.Refused(err, http.StatusNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	var e, text entry
	for _, found := range said {
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
		who = store.LockInfo{ID: e.Session, Info: "the session does not say who has it"}
	}
	return &who, e.Session, nil
}

// keep renews the session of a lock.
func (r *remote) keep(ctx context.Context, l *lock) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(ttl / 3):
		}
		short, cancel := context.WithTimeout(ctx, ttl/3)
		err := r.ask(short, http.MethodPut, "session/renew/"+l.session, nil, nil, nil)
		if store.Refused(err, http.StatusNotFound) && !r.again(short, l) {
			cancel()
			return
		}
		cancel()
	}
}

// again takes a lock whose session has ended, because it could not be renewed in time: the machine slept, or had no
// network. It reports whether there is hope: no other has taken the lock, and it was not taken away. Whether a state may
// be written is not decided by that, but by its version.
func (r *remote) again(ctx context.Context, l *lock) bool {
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
	if err := r.take(ctx, l, session, op{Verb: "cas", Key: text.Key, Value: text.Value, Index: text.ModifyIndex}); err != nil {
		r.destroy(ctx, session)
		return true
	}
	r.mu.Lock()
	l.session = session
	r.mu.Unlock()
	return true
}

// forget ends the session of a lock that is not one of this process any more.
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

// Break implements store.Breaker. Terraform and OpenTofu show the session as the ID of the lock; it serves as well.
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
		r.destroy(ctx, session) // which has no lock any more, so that the next need not wait
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
