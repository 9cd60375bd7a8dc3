package cloudauth

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
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

// TestUnusableCredentials checks that only errors of requests are retried. A user who has pasted a wrong key waits for no
// retries.
func TestUnusableCredentials(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	account := func(key string) string {
		return fmt.Sprintf(`{"type": "service_account", "client_email": "ci@net.test", "private_key": %q, "token_uri": %q}`, key, gone.URL)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	subject := func(file string) string {
		return fmt.Sprintf(`{"type": "external_account", "audience": "a", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": %q, "credential_source": {"file": %q}}`, gone.URL, file)
	}
	for _, tt := range []struct {
		about, credentials string
		role               bool
		retried            bool
	}{
		{"key of another form", account("canary-90c1"), false, false},
		{"key of another form, impersonation", account("canary-90c1"), true, false},
		{"no file of an external account", subject(filepath.Join(t.TempDir(), "absent")), false, false},
		{"no connection", account(good), false, true},
		{"no connection, impersonation", account(good), true, true},
	} {
		attrs := map[string]cty.Value{"credentials": cty.StringVal(tt.credentials)}
		if tt.role {
			attrs["impersonate_service_account"] = cty.StringVal("role@net.test")
		}
		_, err := Google(t.Context(), store.Settings{Config: cty.ObjectVal(attrs)}, "scope").Token()
		var unanswered *store.UnansweredError
		if err == nil || errors.As(err, &unanswered) != tt.retried || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: %v", tt.about, err)
		}
	}
}

// TestQuotaProject checks that requests name the project to which they are billed: the project of the environment, or
// else of the credentials. Requests of an impersonated account use the environment alone.
func TestQuotaProject(t *testing.T) {
	payer := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			payer = r.Header.Get("X-Goog-User-Project")
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token": "canary-4711", "token_type": "Bearer", "expires_in": 3600}`)
	}))
	t.Cleanup(server.Close)
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	credentials := func(project string) string {
		return fmt.Sprintf(`{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r", "quota_project_id": %q, "token_uri": %q}`, project, server.URL)
	}
	for _, tt := range []struct {
		settings map[string]cty.Value
		env      string
		want     string
	}{
		{map[string]cty.Value{"credentials": cty.StringVal(credentials(""))}, "", ""},
		{map[string]cty.Value{"credentials": cty.StringVal(credentials("net"))}, "", "net"},
		{map[string]cty.Value{"credentials": cty.StringVal(credentials("net"))}, "other", "other"},
		{map[string]cty.Value{"credentials": cty.StringVal(credentials(""))}, "other", "other"},
		{map[string]cty.Value{"access_token": cty.StringVal("canary-4711")}, "other", "other"},
		{map[string]cty.Value{"access_token": cty.StringVal("canary-4711")}, "", ""},
	} {
		payer = "none"
		getenv := func(name string) string { return map[string]string{"GOOGLE_CLOUD_QUOTA_PROJECT": tt.env}[name] }
		tokens := Google(t.Context(), store.Settings{Config: cty.ObjectVal(tt.settings), Getenv: getenv}, "scope")
		api := store.API{Client: store.Client(), Sign: Signed(tokens)}
		if _, err := api.Ask(t.Context(), http.MethodGet, to, nil, nil); err != nil || payer != tt.want {
			t.Errorf("%v with %q: billed to %q, want %q: %v", tt.settings, tt.env, payer, tt.want, err)
		}
	}
}
