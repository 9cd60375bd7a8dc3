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

	"github.com/lethe-iac/lethe/internal/state/store"
)

// entry is a key as the API shows it.
type entry struct {
	Key         string
	Value       []byte
	ModifyIndex uint64
	Session     string // that has the key as a lock, "" for none
}

// op is a part of a transaction.
type op struct {
	Verb    string
	Key     string
	Value   []byte `json:",omitempty"`
	Index   uint64 `json:",omitempty"`
	Flags   uint64 `json:",omitempty"`
	Session string `json:",omitempty"`
}

// ask makes a request, and reads the answer into what is given for that, nil for none.
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

// read reads a key; one that is not there has the index 0.
func (r *remote) read(ctx context.Context, key string) (entry, error) {
	var said []entry
	err := r.ask(ctx, http.MethodGet, "kv/"+key, url.Values{"consistent": {""}}, nil, &said)
	if store.Refused(err, http.StatusNotFound) || err == nil && len(said) == 0 {
		return entry{}, nil
	}
	if err != nil {
		return entry{}, err
	}
	return said[0], nil
}

// write writes a key over what it has.
func (r *remote) write(ctx context.Context, key string, value []byte) error {
	var done bool
	err := r.ask(ctx, http.MethodPut, "kv/"+key, nil, value, &done)
	if err == nil && !done {
		err = fmt.Errorf("the server did not write the key %q, and gave no reason", key)
	}
	return err
}

// transact does all parts of a transaction, or none: then the error is a refusal with the status 409.
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
	var said struct{ Results []struct{ KV entry } }
	if err := r.ask(ctx, http.MethodPut, "txn", nil, text, &said); err != nil {
		return nil, err
	}
	var out []entry
	for _, result := range said.Results {
		out = append(out, result.KV)
	}
	return out, nil
}

func versionOf(e entry) store.Version {
	if len(e.Value) == 0 {
		return ""
	}
	return store.Version(strconv.FormatUint(e.ModifyIndex, 10))
}
