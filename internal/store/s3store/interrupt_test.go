package s3store

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// TestInterruptedLock checks that a lock is released if the service stored it after its user was interrupted.
func TestInterruptedLock(t *testing.T) {
	for _, kind := range []string{"use_lockfile", "dynamodb_table"} {
		t.Run(kind, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var mu sync.Mutex
			held := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				target := r.Header.Get("X-Amz-Target")
				switch {
				case strings.HasSuffix(target, ".PutItem"), r.Method == http.MethodPut:
					held = string(body)
					cancel()
					<-r.Context().Done() // never answer
				case strings.HasSuffix(target, ".GetItem"):
					_, _ = io.WriteString(w, held) // the request's item serves as the answer's item
				case strings.HasSuffix(target, ".DeleteItem"), r.Method == http.MethodDelete:
					held = ""
					w.WriteHeader(http.StatusNoContent)
				case held == "":
					w.WriteHeader(http.StatusNotFound)
				default:
					w.Header().Set("ETag", `"e"`)
					_, _ = io.WriteString(w, held)
				}
			}))
			t.Cleanup(server.Close)
			settings := map[string]cty.Value{
				"bucket": cty.StringVal("states"), "key": cty.StringVal("k"), "region": cty.StringVal("us-east-1"), "access_key": cty.StringVal("user"), "secret_key": cty.StringVal("secret"), "use_path_style": cty.True,
				"endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(server.URL), "dynamodb": cty.StringVal(server.URL)}),
				kind:        cty.True,
			}
			if kind == "dynamodb_table" {
				settings[kind] = cty.StringVal("locks")
			}
			config, err := Driver.Schema.Coerce(cty.ObjectVal(settings))
			if err != nil {
				t.Fatal(err)
			}
			st, err := Driver.Open(t.Context(), store.Settings{Config: config, Getenv: func(string) string { return "" }})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Lock(ctx, store.Default, store.NewLockInfo("apply", "1")); err == nil {
				t.Fatal("Lock returned no error although no answer came")
			}
			mu.Lock()
			defer mu.Unlock()
			if held != "" {
				t.Errorf("the lock stays: %s", held)
			}
		})
	}
}
