package cloudauth

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// TestTokenAfterInterrupt checks that a token can be obtained after an interrupt has ended the context in which the
// store was opened, and after the previous token has expired.
func TestTokenAfterInterrupt(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token": "canary-%d", "token_type": "Bearer", "expires_in": 1}`, asked) // already expired when it arrives
	}))
	t.Cleanup(server.Close)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	text := fmt.Sprintf(`{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r", "token_uri": %q}`, server.URL)
	tokens := Google(ctx, store.Settings{Config: cty.ObjectVal(map[string]cty.Value{"credentials": cty.StringVal(text)})}, "scope")
	for n := 1; n < 4; n++ {
		if token, err := TokenWithin(t.Context(), tokens); err != nil || token.AccessToken != fmt.Sprintf("canary-%d", n) {
			t.Fatalf("token %d: %v", n, err)
		}
		interrupt()
	}
	if _, err := TokenWithin(ctx, tokens); err == nil {
		t.Error("a request that has ended waits for a token")
	}
}
