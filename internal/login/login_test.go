package login

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/lethe-iac/lethe/internal/registry"
)

// TestNoCode: what a login server says instead of giving a code is told, without the description of it, and what belongs
// to another login is not listened to.
func TestNoCode(t *testing.T) {
	for said, want := range map[string]string{
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
				go http.Get(back + "?" + said + "&state=" + state)
			}
		})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", said, err, want)
		}
	}
}
