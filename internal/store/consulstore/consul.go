// Package consulstore keeps states in keys of Consul. Its driver is the backend "consul" of Terraform and OpenTofu,
// with the same names, so that each program respects the locks of the others.
//
// The version of a state is the ModifyIndex of its key. Each write names the version that it replaces.
//
// A state that is too large for a key is split into chunks in further keys. Each write uses a separate directory for
// them, below the directory that Terraform and OpenTofu use for the same content. The key of the state lists the
// chunks, so that the state changes in one step.
//
// The lock is a key that a session holds. This process renews the session.
package consulstore

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/store"
)

// Options configures the store.
type Options struct {
	Client *http.Client
	Server *url.URL      // the address of the agent
	User   *url.Userinfo // for basic authentication; nil: requests have none
	Header http.Header   // added to each request: the token
	Query  url.Values    // added to each request: the datacenter
	Path   string        // the key of the default workspace's state
	Gzip   bool          // compress states
	NoLock bool          // do not lock
}

// New returns a store that sends each request once. See store.Retrying for retries.
func New(o Options) store.Remote {
	return &remote{o: o, api: &store.API{Client: o.Client, Header: o.Header}, locks: map[string]*lock{}}
}

type remote struct {
	o   Options
	api *store.API

	mu    sync.Mutex
	locks map[string]*lock // the locks of this process, by lock ID
}

const (
	chunkSize = 512 << 10              // limit of Consul for a key
	largest   = chunkSize*3/4 - 16<<10 // limit for a value in a transaction, which encodes it in base64
)

func (r *remote) key(workspace string) string {
	if workspace == store.Default {
		return r.o.Path
	}
	return r.o.Path + "-env:" + workspace
}

// Capabilities implements store.Store.
func (r *remote) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: r, Place: r}
}

// Place implements store.Locator.
func (r *remote) Place(workspace string) string {
	return "consul:" + r.o.Server.Host + "?" + r.o.Query.Encode() + "/" + r.key(workspace)
}

// below returns a key below the key of a workspace.
func (r *remote) below(workspace, name string) string {
	return strings.TrimRight(r.key(workspace), "/") + "/" + name
}

// lock is a lock that this process holds or requests.
type lock struct {
	workspace string
	who       store.LockInfo
	session   string
	stop      context.CancelFunc // stops the renewal of the session; nil before it starts
}
