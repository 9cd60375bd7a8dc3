// Package httpstore keeps a state at an HTTP address. GET reads the state and POST replaces it. LOCK and UNLOCK
// requests, usually to a separate address, lock it. The driver of the package is the backend "http" of Terraform and
// OpenTofu. GitLab's managed states use the same protocol.
//
// The protocol has no versions. So Put reads the state again before it writes, and fails if that is not the state that
// it replaces. If the server sends an ETag, the write is conditional (If-Match), so that the state cannot change in
// between. While a lock is held, every POST includes its ID, so that the server can refuse other IDs.
package httpstore

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/store"
)

// Options configures the store.
type Options struct {
	Client  *http.Client
	Address *url.URL
	// LockAddress and UnlockAddress are nil if the server has no locks.
	LockAddress, UnlockAddress *url.URL
	Update, Lock, Unlock       string // the methods of requests, usually POST, LOCK and UNLOCK
	User, Password             string // for basic authentication; an empty User disables it
	Header                     http.Header
	Tries                      store.Tries // the retry policy for releasing the lock of a single write
}

// longestMoment is how long a Put without the lock waits until the lock is free.
const longestMoment = 2 * time.Second

// New returns a store that sends each request once. The function store.Retrying adds retries.
func New(o Options) store.Remote {
	r := &remote{o: o}
	r.api = &store.API{Client: o.Client, Header: o.Header, Sign: r.sign}
	r.singleWrite = &store.SingleWrite{Store: r, Tries: o.Tries, Wait: longestMoment}
	return r
}

type remote struct {
	o           Options
	api         *store.API
	singleWrite *store.SingleWrite

	mu      sync.Mutex
	held    *store.LockInfo // the caller's lock, or nil
	written []byte          // the state that this store wrote last, or nil
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (r *remote) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: r, Place: r, Finisher: r}
}

// Place returns a text that identifies the place of a state, for comparison with places of other stores. Some query
// parameters of the address may select the state, others may be credentials, which change. Place contains a digest of
// the parameters whose names are not typical of credentials.
func (r *remote) Place(string) string {
	place, q := "http:"+r.o.Address.Host+r.o.Address.EscapedPath(), r.o.Address.Query()
	maps.DeleteFunc(q, func(name string, _ []string) bool { return credential().MatchString(name) })
	if len(q) > 0 {
		place += "?" + string(store.Digest([]byte(q.Encode())))[:16]
	}
	return place
}

// credential matches names of query parameters that are typical of credentials and of signed addresses. The parameters
// of Azure's signatures have two or three letters.
var credential = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)token|secret|pass|pwd|key|sig|auth|cred|code|jwt|session|nonce|expir|user|^x-(amz|goog)-|^s[eiprstv][gprt]?$`)
})

// sign adds the credentials and the digest of the body to a request.
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

// failed returns the error of a request with a text for users. If the server refused the request, the text has the
// address without credentials, and the reason: authentication is required, the credentials are refused, or the status
// and the method. Other errors remain unchanged.
func failed(err error, method string, to *url.URL) error {
	var r *store.RefusedError
	if !errors.As(err, &r) {
		return err
	}
	statusError := fmt.Errorf("%s of %s: unexpected HTTP response code %d", method, store.Shown(to), r.Status)
	switch r.Status {
	case http.StatusUnauthorized:
		statusError = fmt.Errorf("the HTTP remote state endpoint %s requires authentication", store.Shown(to))
	case http.StatusForbidden:
		statusError = fmt.Errorf("the HTTP remote state endpoint %s refuses these credentials", store.Shown(to))
	}
	var unanswered *store.UnansweredError
	if errors.As(err, &unanswered) {
		return &store.UnansweredError{Err: statusError, Unsent: unanswered.Unsent, After: unanswered.After}
	}
	return statusError
}

// read is the result of reading the state from the server.
type read struct {
	data    []byte
	version store.Version // "" means that no state exists
	etag    string        // the ETag for conditional writes; may be ""
	exists  bool          // the address has content, perhaps empty
}

// get reads the state. The status 404 and an empty body mean that no state exists.
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
	got := read{data: a.Body, exists: true}
	if etag := a.Header.Get("ETag"); strings.HasPrefix(etag, `"`) && !a.Transformed {
		got.etag = etag // If-Match only matches strong ETags, and only ETags of bodies that were not compressed for the transfer
	}
	if len(a.Body) > 0 {
		got.version = r.versionOf(a.Body)
	}
	return got, nil
}

// versionOf returns the version of a state that the server returned. Some servers store the JSON of a state and not its
// bytes, and return it in another form. The state that this store wrote last then keeps its version.
func (r *remote) versionOf(body []byte) store.Version {
	r.mu.Lock()
	written := r.written
	r.mu.Unlock()
	if written != nil && jsontext.Equivalent(body, written) {
		return store.Digest(written)
	}
	return store.Digest(body)
}
