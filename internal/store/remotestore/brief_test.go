package remotestore

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/remotestore/tfetest"
)

// TestWriteWithoutLock checks that a caller that wants no lock (-lock=false) writes and leaves no lock behind,
// whichever answer is lost.
func TestWriteWithoutLock(t *testing.T) {
	for _, path := range []string{"actions/lock", "actions/unlock", "/state-versions"} {
		for _, done := range []bool{true, false} {
			for times := range 3 {
				s := &tfetest.Service{}
				s.Add("a", "local")
				left := times
				st := opener(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, path) || left == 0 {
						s.ServeHTTP(w, r)
						return
					}
					left--
					if done {
						s.ServeHTTP(httptest.NewRecorder(), r)
					}
					w.WriteHeader(http.StatusBadGateway)
				}), Options{Name: "a"})()
				if _, err := st.Put(t.Context(), store.Default, []byte(`{"version":4,"serial":1,"lineage":"l"}`), ""); err != nil {
					t.Errorf("%s, carried out: %v, %d times: %v", path, done, times, err)
				}
				if _, err := st.Lock(t.Context(), store.Default, store.NewLockInfo("o", "1")); err != nil {
					t.Errorf("%s, carried out: %v, %d times: the lock stays: %v", path, done, times, err)
				}
			}
		}
	}
}
