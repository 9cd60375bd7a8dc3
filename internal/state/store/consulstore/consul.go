// Package consulstore keeps states in the keys of Consul: what Terraform and OpenTofu call the backend "consul", with
// their names, so that each waits for the locks of the others.
//
// The version of a state is the ModifyIndex of its key, which every writing names. What is too large for a key goes into
// keys of its own, in a directory that no other writing uses (Terraform and OpenTofu use one for each content, which
// this one is below); the key of the state names them, and so the state changes in one step. The lock is a key that a session has, which this process keeps alive.
package consulstore

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/state/store"
)

// Options say where states are.
type Options struct {
	Client *http.Client
	Server *url.URL      // of the agent
	User   *url.Userinfo // of basic authentication, nil for none
	Header http.Header   // goes with each request: the token
	Query  url.Values    // likewise: the datacenter
	Path   string        // of the default workspace's key
	Gzip   bool          // whether states are compressed
	NoLock bool          // whether there are no locks
}

// New makes the store. It makes each request once: see store.Careful.
func New(o Options) store.Remote {
	return &remote{o: o, api: &store.API{Client: o.Client, Header: o.Header}, locks: map[string]*lock{}}
}

type remote struct {
	o   Options
	api *store.API

	mu    sync.Mutex
	locks map[string]*lock // of this process, by their IDs
}

const (
	chunkSize = 512 << 10              // how much Consul takes for a key
	largest   = chunkSize*3/4 - 16<<10 // how much of it fits into a transaction, which has it in base64
)

func (r *remote) key(workspace string) string {
	if workspace == store.Default {
		return r.o.Path
	}
	return r.o.Path + "-env:" + workspace
}

// Place implements store.Placed.
func (r *remote) Place(workspace string) string {
	return "consul:" + r.o.Server.Host + "?" + r.o.Query.Encode() + "/" + r.key(workspace)
}

// below is a key below that of a workspace.
func (r *remote) below(workspace, name string) string {
	return strings.TrimRight(r.key(workspace), "/") + "/" + name
}

// lock is one that this process has, or asks for.
type lock struct {
	workspace string
	who       store.LockInfo
	session   string
	stop      context.CancelFunc // ends the keeping; nil before that begins
}
