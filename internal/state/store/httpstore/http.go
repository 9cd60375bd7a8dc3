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
	"strings"
	"sync"

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

// Place implements store.Placed. The query of an address is where tokens are as well.
func (r *remote) Place(string) string {
	return "http:" + r.o.Address.Host + r.o.Address.EscapedPath()
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
	said := fmt.Errorf("%s of %s: unexpected HTTP response code %d", method, store.Shown(to), r.Status)
	switch r.Status {
	case http.StatusUnauthorized:
		said = fmt.Errorf("the HTTP remote state endpoint %s requires authentication", store.Shown(to))
	case http.StatusForbidden:
		said = fmt.Errorf("the HTTP remote state endpoint %s refuses these credentials", store.Shown(to))
	}
	var unanswered *store.UnansweredError
	if errors.As(err, &unanswered) {
		return &store.UnansweredError{Err: said, Unsent: unanswered.Unsent, After: unanswered.After}
	}
	return said
}

// read is the answer about the state.
type read struct {
	data    []byte
	version store.Version // "" where there is no state
	etag    string        // that a condition can name, "" for none
	there   bool          // there is something at the address, which may be empty
}

// get reads the state. A server says in one of three ways that there is none.
func (r *remote) get(ctx context.Context, workspace string) (read, error) {
	if err := store.Only(workspace); err != nil {
		return read{}, err
	}
	a, err := r.api.Ask(ctx, http.MethodGet, r.o.Address, nil, nil)
	switch {
	case store.Refused(err, http.StatusNotFound):
		return read{}, nil
	case err != nil:
		return read{}, failed(err, http.MethodGet, r.o.Address)
	}
	got := read{data: a.Body, there: true}
	if etag := a.Header.Get("ETag"); strings.HasPrefix(etag, `"`) && !a.Transformed {
		got.etag = etag // If-Match compares strongly, and no other ETag is equal to another then
	}
	if len(a.Body) > 0 {
		got.version = store.Digest(a.Body)
	}
	return got, nil
}
