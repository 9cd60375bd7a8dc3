package consulstore

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// openAt opens the store at an address with environment variables.
func openAt(t *testing.T, address string, env map[string]string) (store.Store, error) {
	t.Helper()
	config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{"path": cty.StringVal("state"), "address": cty.StringVal(address)}))
	if err != nil {
		t.Fatal(err)
	}
	return Driver.Open(t.Context(), store.Settings{Config: config, Schema: Driver.Schema, Getenv: func(name string) string { return env[name] }})
}

// TestAuthorities checks that the certificate of the agent is checked against the file CONSUL_CACERT, or else against
// all files of the directory CONSUL_CAPATH.
func TestAuthorities(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "[]") }))
	t.Cleanup(server.Close)
	dir, empty := t.TempDir(), t.TempDir()
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	file := filepath.Join(dir, "b.pem")
	for name, text := range map[string]string{filepath.Join(dir, "a.pem"): "# no certificate", file: strings.TrimSpace(string(own))} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "more"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		env     map[string]string
		refused string
	}{
		"a file":             {map[string]string{"CONSUL_CACERT": file}, ""},
		"a directory":        {map[string]string{"CONSUL_CAPATH": dir}, ""},
		"both":               {map[string]string{"CONSUL_CACERT": file, "CONSUL_CAPATH": empty}, ""},
		"an empty directory": {map[string]string{"CONSUL_CAPATH": empty}, `"CONSUL_CAPATH" names contains no certificate`},
		"no directory":       {map[string]string{"CONSUL_CAPATH": filepath.Join(dir, "none")}, "CONSUL_CAPATH names cannot be read"},
	} {
		st, err := openAt(t, server.URL, tt.env)
		if tt.refused != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil {
			_, err = st.List(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestToken checks the order of the sources of a token. As in Consul's own client, the file takes precedence over the
// setting and over the variable with the token.
func TestToken(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("X-Consul-Token")
		fmt.Fprint(w, "[]")
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("canary-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		setting, want string
		env           map[string]string
	}{
		{"", "canary-file", map[string]string{"CONSUL_HTTP_TOKEN_FILE": file, "CONSUL_HTTP_TOKEN": "canary-variable"}},
		{"", "canary-variable", map[string]string{"CONSUL_HTTP_TOKEN": "canary-variable"}},
		{"canary-setting", "canary-file", map[string]string{"CONSUL_HTTP_TOKEN_FILE": file, "CONSUL_HTTP_TOKEN": "canary-variable"}},
		{"canary-setting", "canary-setting", map[string]string{"CONSUL_HTTP_TOKEN": "canary-variable"}},
	} {
		config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{"path": cty.StringVal("state"), "address": cty.StringVal(server.URL), "access_token": cty.StringVal(tt.setting)}))
		if err != nil {
			t.Fatal(err)
		}
		var learned []string
		st, err := Driver.Open(t.Context(), store.Settings{Config: config, Schema: Driver.Schema, Getenv: func(name string) string { return tt.env[name] }, Learn: func(text string) { learned = append(learned, text) }})
		if err == nil {
			_, err = st.List(t.Context())
		}
		if err != nil || asked != tt.want || !slices.Contains(learned, tt.want) {
			t.Errorf("%+v: asked with %q, learned %q: %v", tt, asked, learned, err)
		}
	}
}
