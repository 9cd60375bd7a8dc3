package storetest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
)

// Credential is part of each credential of a store that Redirects tests.
const Credential = "canary-4711"

// Redirects tests a client of an HTTP service. open opens the client at a server that redirects all requests to another
// server, which answers all requests with answer. Redirects checks that no header and no URL of a redirected request
// contains Credential or one of secrets. If the redirects turn writes into reads, Lock and Put must return errors.
func Redirects(t *testing.T, answer string, open func(t *testing.T, address string) store.Store, secrets ...string) {
	secrets = append(slices.Clip(secrets), Credential)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var mu sync.Mutex
			var methods []string
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				methods = append(methods, r.Method)
				request := fmt.Sprint(r.Header, r.URL)
				if slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(request, s) }) || r.Header.Get("Authorization") != "" {
					t.Errorf("another server got a credential: %s %s %v", r.Method, r.URL, r.Header)
				}
				_, _ = w.Write([]byte(answer))
			}))
			t.Cleanup(other.Close)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+r.URL.RequestURI(), status)
			}))
			t.Cleanup(server.Close)
			st := open(t, server.URL)
			_, lockErr := st.Lock(t.Context(), store.Default, store.NewLockInfo("o", "1"))
			_, putErr := st.Put(t.Context(), store.Default, []byte("{}"), "")
			mu.Lock()
			defer mu.Unlock()
			if wrote := slices.ContainsFunc(methods, func(m string) bool { return m != http.MethodGet }); !wrote && (lockErr == nil || putErr == nil) {
				t.Errorf("nothing was written: Lock returned %v, Put returned %v", lockErr, putErr)
			}
		})
	}
}
