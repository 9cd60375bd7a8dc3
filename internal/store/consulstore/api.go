package consulstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
)

// entry is a key with its value, as the API returns it.
type entry struct {
	Key         string
	Value       []byte
	ModifyIndex uint64
	Session     string // the ID of the session that holds the key as a lock, or ""
}

// op is an operation on a key in a transaction.
type op struct {
	Verb    string
	Key     string
	Value   []byte `json:",omitempty"`
	Index   uint64 `json:",omitempty"`
	Flags   uint64 `json:",omitempty"`
	Session string `json:",omitempty"`
}

// ask sends a request to the API, and decodes the JSON answer to *into. If into is nil, ask ignores the content of the
// answer.
func (r *remote) ask(ctx context.Context, method, path string, q url.Values, body []byte, into any) error {
	to := *r.o.Server
	to.Path = strings.TrimSuffix(to.Path, "/") + "/v1/" + path
	all := url.Values{}
	maps.Copy(all, r.o.Query)
	maps.Copy(all, q)
	to.RawQuery = all.Encode()
	to.User = r.o.User
	answer, err := r.api.Ask(ctx, method, &to, nil, body)
	if err != nil {
		return err
	}
	return answer.JSON(into)
}

// read reads a key. If the key does not exist, the entry has the ModifyIndex 0.
func (r *remote) read(ctx context.Context, key string) (entry, error) {
	var entries []entry
	err := r.ask(ctx, http.MethodGet, "kv/"+key, url.Values{"consistent": {""}}, nil, &entries)
	if store.Refused(err, http.StatusNotFound) || err == nil && len(entries) == 0 {
		return entry{}, nil
	}
	if err != nil {
		return entry{}, err
	}
	return entries[0], nil
}

// write writes a key unconditionally.
func (r *remote) write(ctx context.Context, key string, value []byte) error {
	var done bool
	err := r.ask(ctx, http.MethodPut, "kv/"+key, nil, value, &done)
	if err == nil && !done {
		err = fmt.Errorf("the server did not write the key %q, and gave no reason", key)
	}
	return err
}

// transact executes all operations of a transaction or none. If one of them fails, it returns a *store.RefusedError
// with the status 409.
func (r *remote) transact(ctx context.Context, ops ...op) ([]entry, error) {
	type part struct{ KV op }
	var parts []part
	for _, o := range ops {
		parts = append(parts, part{o})
	}
	text, err := json.Marshal(parts)
	if err != nil {
		return nil, err
	}
	var reply struct{ Results []struct{ KV entry } }
	if err := r.ask(ctx, http.MethodPut, "txn", nil, text, &reply); err != nil {
		return nil, err
	}
	var out []entry
	for _, result := range reply.Results {
		out = append(out, result.KV)
	}
	return out, nil
}

// versionOf returns the version of the state in an entry: the ModifyIndex, or "" if the key is missing or empty.
func versionOf(e entry) store.Version {
	if len(e.Value) == 0 {
		return ""
	}
	return store.Version(strconv.FormatUint(e.ModifyIndex, 10))
}
