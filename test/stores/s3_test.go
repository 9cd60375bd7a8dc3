package stores

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/s3store"
	"github.com/lethe-iac/lethe/internal/state/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

// startS3 runs a service with the bucket "states", and gives its address.
func startS3(t *testing.T, around func(http.Handler) http.Handler) string {
	backend := s3mem.New()
	check(t, backend.CreateBucket("states"))
	server := httptest.NewServer(around(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()))
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	return server.URL
}

func plain(h http.Handler) http.Handler { return h }

// s3Settings are those of a store on a service.
func s3Settings(url string, more map[string]cty.Value) map[string]cty.Value {
	s := map[string]cty.Value{
		"bucket": cty.StringVal("states"), "key": cty.StringVal("net/a.tfstate"), "region": cty.StringVal("us-east-1"),
		"access_key": cty.StringVal("user"), "secret_key": cty.StringVal("canary-4711"), "use_path_style": cty.True,
		"endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(url), "dynamodb": cty.StringVal(url + "/dynamodb")}),
	}
	for name, v := range more {
		s[name] = v
	}
	return s
}

func s3Opener(t *testing.T, settings map[string]cty.Value) func() store.Store {
	return func() store.Store {
		config, err := s3store.Driver.Schema.Coerce(cty.ObjectVal(settings))
		check(t, err)
		st, err := s3store.Driver.Open(ctx, store.Settings{Config: config, Schema: s3store.Driver.Schema, Getenv: os.Getenv})
		check(t, err)
		return st
	}
}

// TestS3 runs the contract of stores on a service, with each kind of lock.
func TestS3(t *testing.T) {
	for name, lock := range map[string]map[string]cty.Value{
		"lock object": {"use_lockfile": cty.True},
		"table":       {"dynamodb_table": cty.StringVal("locks")},
		"both":        {"use_lockfile": cty.True, "dynamodb_table": cty.StringVal("locks"), "workspace_key_prefix": cty.StringVal("of/others")},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) func() store.Store {
				return s3Opener(t, s3Settings(startS3(t, withTable), lock))
			})
		})
		t.Run(name+" cut", func(t *testing.T) {
			storetest.RunCut(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
				c := &storetest.Cutter{}
				url := startS3(t, func(h http.Handler) http.Handler {
					c.Handler = withTable(h)
					return c
				})
				return s3Opener(t, s3Settings(url, lock)), c
			})
		})
	}
}

// withTable puts a table of DynamoDB before a service: the requests that the store makes, and no more.
func withTable(next http.Handler) http.Handler {
	table := &table{items: map[string]map[string]string{}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if target := r.Header.Get("X-Amz-Target"); target != "" {
			table.serve(w, r, strings.TrimPrefix(target, "DynamoDB_20120810."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

type table struct {
	sync.Mutex
	items map[string]map[string]string
}

type attributes map[string]struct{ S string }

func (t *table) serve(w http.ResponseWriter, r *http.Request, target string) {
	t.Lock()
	defer t.Unlock()
	var in struct {
		TableName, ConditionExpression, ProjectionExpression string
		Item, Key, ExpressionAttributeValues                 attributes
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	id := in.Key["LockID"].S + in.Item["LockID"].S
	had := t.items[id]
	refused := in.ConditionExpression == "attribute_not_exists(LockID)" && had != nil ||
		in.ConditionExpression == "Info = :held" && (had == nil || had["Info"] != in.ExpressionAttributeValues[":held"].S)
	switch {
	case in.TableName != "locks":
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", "message": "no such table"}`)
	case refused:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "message": "The conditional request failed"}`)
	case target == "PutItem":
		t.items[id] = map[string]string{}
		for name, v := range in.Item {
			t.items[id][name] = v.S
		}
		fmt.Fprint(w, `{}`)
	case target == "DeleteItem":
		delete(t.items, id)
		fmt.Fprint(w, `{}`)
	case target == "GetItem":
		out := map[string]map[string]map[string]string{}
		if had != nil {
			out["Item"] = map[string]map[string]string{}
			for name, v := range had {
				out["Item"][name] = map[string]string{"S": v}
			}
		}
		_ = json.NewEncoder(w).Encode(out)
	}
}
