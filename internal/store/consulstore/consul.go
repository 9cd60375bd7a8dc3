// Package consulstore keeps states in keys of Consul. Its driver is the backend "consul" of Terraform and OpenTofu,
// with the same names, so that each program respects the locks of the others.
//
// The version of a state is the ModifyIndex of its key. Each write names the version that it replaces.
//
// A state that is too large for one key is split into chunks in further keys. Each write puts its chunks into a
// separate directory, below the directory that Terraform and OpenTofu would use for the same content. The key of the
// state lists the chunks and is written last, so that the state changes in one step.
//
// The lock is a key that a session of Consul holds. This process renews the session while it holds the lock.
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
	User   *url.Userinfo // user and password for basic authentication; nil: requests have none
	Header http.Header   // added to each request, such as the token
	Query  url.Values    // added to each request, such as the datacenter
	Path   string        // the key of the default workspace's state
	Gzip   bool          // compress states with gzip
	NoLock bool          // Lock does nothing
}

// New returns a store that sends each request once. The function store.Retrying adds retries.
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
	chunkSize = 512 << 10              // the maximum size of a key's value in Consul, in bytes
	largest   = chunkSize*3/4 - 16<<10 // the maximum size of a value in a transaction, in bytes; the transaction encodes values in base64
)

func (r *remote) key(workspace string) string {
	if workspace == store.Default {
		return r.o.Path
	}
	return r.o.Path + "-env:" + workspace
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (r *remote) Capabilities() store.Capabilities {
	return store.Capabilities{Breaker: r, Place: r}
}

// Place returns a text that identifies the place of a state, for comparison with places of other stores.
func (r *remote) Place(workspace string) string {
	return "consul:" + r.o.Server.Host + "?" + r.o.Query.Encode() + "/" + r.key(workspace)
}

// below returns the name of a key below the key of a workspace's state.
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
