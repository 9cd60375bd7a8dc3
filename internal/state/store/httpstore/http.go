// Package httpstore keeps a state behind an address: GET gives it, POST replaces it, DELETE removes it, and
// LOCK and UNLOCK, at an address of their own as a rule, keep others out. It is what Terraform and
// OpenTofu call the backend "http", and what GitLab's managed states speak.
//
// The protocol has no versions. So a Put reads the state again before it writes, and refuses if that is not
// what it replaces; a server that gives an ETag is told to refuse, too (If-Match), so that nothing comes
// between. While the lock is held, its ID goes with every POST, and servers refuse one that is not theirs.
package httpstore

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
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
func New(o Options) store.Remote { return &remote{o: o} }

type remote struct {
	o Options

	mu   sync.Mutex
	held *store.LockInfo // the lock that the caller has
}

// maxState is how large an answer may be.
const maxState = 1 << 30

// answer is what a server said, read whole.
type answer struct {
	status int
	etag   string
	body   []byte
}

// ask makes a request. An error is one of the way there, and an answer that leaves open whether the request
// was carried out is such an error, too.
func (r *remote) ask(ctx context.Context, method string, to *url.URL, body []byte, header http.Header) (*answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, from := range []http.Header{r.o.Header, header} {
		for name, values := range from {
			req.Header[name] = values
		}
	}
	if r.o.User != "" {
		req.SetBasicAuth(r.o.User, r.o.Password)
	}
	if body != nil {
		sum := md5.Sum(body)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(sum[:]))
	}
	resp, err := r.o.Client.Do(req)
	if err != nil {
		return nil, &store.UnansweredError{Err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxState+1))
	if err == nil && len(text) > maxState {
		return nil, fmt.Errorf("the answer of %s is larger than %d bytes", to.Redacted(), maxState)
	}
	if err != nil {
		return nil, &store.UnansweredError{Err: fmt.Errorf("%s %q: %w", method, to.Redacted(), err)}
	}
	a := &answer{resp.StatusCode, resp.Header.Get("ETag"), text}
	if a.status >= 500 && a.status != http.StatusNotImplemented || a.status == http.StatusTooManyRequests {
		return nil, &store.UnansweredError{Err: a.refused(method, to)}
	}
	return a, nil
}

// refused is the error for an answer that is not what the protocol knows.
func (a *answer) refused(method string, to *url.URL) error {
	switch a.status {
	case http.StatusUnauthorized:
		return fmt.Errorf("the HTTP remote state endpoint %s requires authentication", to.Redacted())
	case http.StatusForbidden:
		return fmt.Errorf("the HTTP remote state endpoint %s refuses these credentials", to.Redacted())
	}
	return fmt.Errorf("%s of %s: unexpected HTTP response code %d", method, to.Redacted(), a.status)
}

// get reads the state. A server says in one of three ways that there is none.
func (r *remote) get(ctx context.Context, workspace string) (data []byte, v store.Version, etag string, err error) {
	if err := store.Only(workspace); err != nil {
		return nil, "", "", err
	}
	a, err := r.ask(ctx, http.MethodGet, r.o.Address, nil, nil)
	switch {
	case err != nil:
		return nil, "", "", err
	case a.status == http.StatusNoContent, a.status == http.StatusNotFound, a.status == http.StatusOK && len(a.body) == 0:
		return nil, "", "", nil
	case a.status != http.StatusOK:
		return nil, "", "", a.refused(http.MethodGet, r.o.Address)
	}
	return a.body, store.Digest(a.body), a.etag, nil
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
	a, err := r.ask(ctx, r.o.Update, &to, data, header)
	switch {
	case err != nil:
		return "", err
	case a.status == http.StatusPreconditionFailed:
		return "", stale
	case a.status == http.StatusLocked, a.status == http.StatusConflict:
		return "", a.lockError(errors.New("another has the lock of the state"))
	case a.status != http.StatusOK && a.status != http.StatusCreated && a.status != http.StatusNoContent:
		return "", a.refused(r.o.Update, r.o.Address)
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
