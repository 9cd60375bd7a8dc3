package login

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/registry"
)

// TestNoCode checks that an error of the login server is reported without its description, and that requests of other
// logins are ignored.
func TestNoCode(t *testing.T) {
	for query, want := range map[string]string{
		"error=invalid_scope&error_description=canary": "the login server refused: invalid_scope",
		"other=canary": "the login server sent the browser back without a code",
	} {
		server := httptest.NewServer(http.NotFoundHandler())
		defer server.Close()
		at, _ := url.Parse(server.URL)
		c := Client{Login: &registry.Login{Client: "tests", Authz: at, Token: at, Ports: [2]int{20000, 40000}}}
		_, err := c.ByCode(t.Context(), func(address string) {
			u, _ := url.Parse(address)
			back := u.Query().Get("redirect_uri")
			for _, state := range []string{"another", u.Query().Get("state")} {
				go http.Get(back + "?" + query + "&state=" + state)
			}
		})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
}

// TestInterrupted checks that the error after an interrupt does not mention contexts.
func TestInterrupted(t *testing.T) {
	at, _ := url.Parse("https://login.example.com")
	c := Client{Login: &registry.Login{Authz: at, Token: at, Ports: [2]int{20000, 40000}}}
	ctx, stop := context.WithCancel(t.Context())
	if _, err := c.ByCode(ctx, func(string) { stop() }); err == nil || err.Error() != "it was interrupted" {
		t.Errorf("%v", err)
	}
}

// TestForged checks that a request with a wrong state is rejected with a message for users, and that the login
// continues.
func TestForged(t *testing.T) {
	answers := make(chan url.Values, 1)
	w := httptest.NewRecorder()
	answer("right", answers).ServeHTTP(w, httptest.NewRequest("GET", "/login?code=canary&state=forged", nil))
	if w.Code != http.StatusBadRequest || !strings.HasPrefix(w.Body.String(), "This page belongs to another login") || len(answers) != 0 {
		t.Errorf("%d %q, %d answers", w.Code, w.Body, len(answers))
	}
}

// TestUnreached checks that the error contains the reason if the server cannot be reached.
func TestUnreached(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	at, _ := url.Parse(server.URL)
	_, err := Client{Login: &registry.Login{Authz: at, Token: at}}.ByPassword(t.Context(), "you", "canary")
	if err == nil || !strings.HasPrefix(err.Error(), "the login server could not be reached: dial tcp ") || strings.Contains(err.Error(), "canary") {
		t.Errorf("%v", err)
	}
}
