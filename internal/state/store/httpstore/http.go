// Package httpstore keeps a state behind an address: GET gives it, POST replaces it, DELETE removes it, and
// LOCK and UNLOCK, at an address of their own as a rule, keep others out. It is what Terraform and
// OpenTofu call the backend "http", and what GitLab's managed states speak.
//
// The protocol has no versions. So a Put reads the state again before it writes, and refuses if that is not
// what it replaces; a server that gives an ETag is told to refuse, too (If-Match), so that nothing comes
// between. While the lock is held, its ID goes with every POST, and servers refuse one that is not theirs.
package httpstore

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// Options say where the state is, and how to get there.
type Options struct {
	Client  *http.Client
	Address *url.URL
	// LockAddress and UnlockAddress are nil where there are no locks.
	LockAddress, UnlockAddress *url.URL
	Update, Lock, Unlock       string // methods: POST, LOCK, UNLOCK as a rule
	User, Password             string // of basic authentication; User "" for none
	Header                     http.Header
}

// New makes the store. It makes each request once: see store.Careful.
func New(o Options) store.Remote {
	r := &remote{o: o}
	r.api = &store.API{Client: o.Client, Header: o.Header, Sign: r.sign}
	return r
}

type remote struct {
	o   Options
	api *store.API

	mu   sync.Mutex
	held *store.LockInfo // the lock that the caller has
}

// sign adds what says who asks, and the digest of what is sent.
func (r *remote) sign(req *http.Request, body []byte) error {
	if r.o.User != "" {
		req.SetBasicAuth(r.o.User, r.o.Password)
	}
	if body != nil {
		sum := md5.Sum(body)
		req.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	return nil
}

// failed is the error of a request as users read it.
func failed(err error, method string, to *url.URL) error {
	var r *store.RefusedError
	if !errors.As(err, &r) {
		return err
	}
	said := fmt.Errorf("%s of %s: unexpected HTTP response code %d", method, to.Redacted(), r.Status)
	switch r.Status {
	case http.StatusUnauthorized:
		said = fmt.Errorf("the HTTP remote state endpoint %s requires authentication", to.Redacted())
	case http.StatusForbidden:
		said = fmt.Errorf("the HTTP remote state endpoint %s refuses these credentials", to.Redacted())
	}
	var unanswered *store.UnansweredError
	if errors.As(err, &unanswered) {
		return &store.UnansweredError{Err: said}
	}
	return said
}

// get reads the state. A server says in one of three ways that there is none.
func (r *remote) get(ctx context.Context, workspace string) (data []byte, v store.Version, etag string, err error) {
	if err := store.Only(workspace); err != nil {
		return nil, "", "", err
	}
	a, err := r.api.Ask(ctx, http.MethodGet, r.o.Address, nil, nil)
	switch {
	case store.Refused(err, http.StatusNotFound), err == nil && len(a.Body) == 0:
		return nil, "", "", nil
	case err != nil:
		return nil, "", "", failed(err, http.MethodGet, r.o.Address)
	}
	return a.Body, store.Digest(a.Body), a.Header.Get("ETag"), nil
}

// Get implements store.Store.
func (r *remote) Get(ctx context.Context, workspace string) ([]byte, store.Version, error) {
	data, v, _, err := r.get(ctx, workspace)
	return data, v, err
}

// Put implements store.Store. A caller without the lock has it for the time of the writing, if it is free by
// then: nothing else keeps two such callers apart where the server has no ETags. A lock that stays taken
// does not hinder a caller who wants none.
func (r *remote) Put(ctx context.Context, workspace string, data []byte, prev store.Version) (store.Version, error) {
	if err := store.Only(workspace); err != nil {
		return "", err
	}
	if id := r.lockID(); id != "" || r.o.LockAddress == nil {
		return r.put(ctx, data, prev, id)
	}
	unlock, err := store.Acquire(ctx, r, workspace, store.NewLockInfo("write", ""), longestMoment, nil)
	var held *store.LockError
	switch {
	case errors.As(err, &held):
		return r.put(ctx, data, prev, "")
	case err != nil:
		return "", err
	}
	v, err := r.put(ctx, data, prev, r.lockID())
	if failed := unlock(ctx); err == nil && failed != nil {
		err = fmt.Errorf("the state was written, and the lock for that could not be given back: %w", failed)
	}
	return v, err
}

// longestMoment is how long a caller who has no lock waits for others who write.
const longestMoment = 2 * time.Second

// put replaces the state, with the ID of the lock, "" for none.
func (r *remote) put(ctx context.Context, data []byte, prev store.Version, id string) (store.Version, error) {
	_, now, etag, err := r.get(ctx, store.Default)
	if err != nil {
		return "", err
	}
	stale := &store.StaleError{Workspace: store.Default, Missing: now == ""}
	if now != prev {
		return "", stale
	}
	to, header := *r.o.Address, http.Header{}
	switch {
	case now == "":
		header.Set("If-None-Match", "*")
	case etag != "":
		header.Set("If-Match", etag)
	}
	if id != "" {
		q := to.Query()
		q.Set("ID", id)
		to.RawQuery = q.Encode()
	}
	_, err = r.api.Ask(ctx, r.o.Update, &to, header, data)
	switch {
	case store.Refused(err, http.StatusPreconditionFailed):
		return "", stale
	case store.Refused(err, http.StatusLocked, http.StatusConflict):
		return "", lockError(err, errors.New("another has the lock of the state"))
	case err != nil:
		return "", failed(err, r.o.Update, r.o.Address)
	}
	return store.Digest(data), nil
}

// Delete implements store.Store: there is only the workspace that is never removed.
func (r *remote) Delete(_ context.Context, workspace string) error {
	if workspace == store.Default {
		return store.ErrDefault
	}
	return store.Only(workspace)
}

// List implements store.Store. It asks for the state, so that init finds out whether there is a server.
func (r *remote) List(ctx context.Context) ([]string, error) {
	_, _, _, err := r.get(ctx, store.Default)
	return []string{store.Default}, err
}
