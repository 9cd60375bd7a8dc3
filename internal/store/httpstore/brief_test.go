package httpstore

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

// TestWriteWithoutLock checks that a caller that wants no lock (-lock=false) writes although locking fails, and leaves
// no lock behind, whichever answer is lost.
func TestWriteWithoutLock(t *testing.T) {
	for name, tt := range map[string]struct {
		method string
		status int  // the status of the server's answers
		done   bool // the server executes the request although it answers with an error
		times  int  // the number of requests that fail
	}{
		"never locks":            {"LOCK", 500, false, 100},
		"no such method":         {"LOCK", 405, false, 100},
		"refuses to lock":        {"LOCK", 403, false, 100},
		"lock answer is lost":    {"LOCK", 502, true, 1},
		"lock answers are lost":  {"LOCK", 502, true, 2},
		"unlock answer is lost":  {"UNLOCK", 502, true, 1},
		"unlock fails":           {"UNLOCK", 503, false, 1},
		"write answer is lost":   {"POST", 502, true, 1},
		"write fails":            {"POST", 503, false, 1},
		"writes are unavailable": {"POST", 503, false, 2},
		"write is accepted":      {"POST", 202, true, 1},
		"write stays accepted":   {"POST", 202, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			server := &storetest.HTTP{}
			left := tt.times
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if fails := r.Method == tt.method && left > 0; !fails {
					server.ServeHTTP(w, r)
					return
				}
				left--
				if tt.done {
					server.ServeHTTP(httptest.NewRecorder(), r)
				}
				w.WriteHeader(tt.status)
			}))
			st, err := Driver.Open(ctx, store.Settings{Config: config(t, map[string]cty.Value{
				"address": cty.StringVal(url), "lock_address": cty.StringVal(url), "unlock_address": cty.StringVal(url), "retry_wait_min": cty.NumberIntVal(0),
			})})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Put(ctx, store.Default, []byte(`{"serial":1}`), ""); err != nil {
				t.Error(err)
			}
			if data, _, err := st.Get(ctx, store.Default); err != nil || string(data) != `{"serial":1}` {
				t.Errorf("the state is %q: %v", data, err)
			}
			if tt.method == "LOCK" && tt.times == 100 {
				return
			}
			unlock, err := st.Lock(ctx, store.Default, store.NewLockInfo("o", "1"))
			if err != nil {
				t.Errorf("%v\n%s", err, strings.Join(slices.Clone(server.Requests()), " "))
			} else if err := unlock(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}
