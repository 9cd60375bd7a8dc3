package gcsstore

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// TestKeyFile checks that the encryption key may be in a file.
func TestKeyFile(t *testing.T) {
	key, sent, dir := base64.StdEncoding.EncodeToString([]byte("canary-4711-canary-4711-canary-4")), "", t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("X-Goog-Encryption-Key")
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	if err := os.WriteFile(filepath.Join(dir, "key.b64"), []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, given := range []string{key, "key.b64", "~/key.b64"} {
		config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
			"bucket": cty.StringVal("states"), "access_token": cty.StringVal("canary-4712"), "encryption_key": cty.StringVal(given), "storage_custom_endpoint": cty.StringVal(server.URL),
		}))
		if err != nil {
			t.Fatal(err)
		}
		st, err := Driver.Open(t.Context(), store.Settings{Config: config, Dir: dir, Getenv: func(n string) string { return map[string]string{"HOME": dir}[n] }})
		if err == nil {
			sent = ""
			_, _, err = st.Get(t.Context(), store.Default)
		}
		if err != nil || sent != key {
			t.Errorf("%s: sent was %q: %v", given, sent, err)
		}
	}
}

// TestEmulator checks that requests go to STORAGE_EMULATOR_HOST without credentials.
func TestEmulator(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path+r.Header.Get("Authorization"))
		if r.Method == http.MethodPost {
			fmt.Fprint(w, `{"generation": "1"}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{"bucket": cty.StringVal("states"), "access_token": cty.StringVal("canary-4712")}))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{server.URL, strings.TrimPrefix(server.URL, "http://")} {
		asked = nil
		st, err := Driver.Open(t.Context(), store.Settings{Config: config, Getenv: func(n string) string { return map[string]string{"STORAGE_EMULATOR_HOST": host}[n] }})
		if err == nil {
			_, err = st.Put(t.Context(), store.Default, []byte("{}"), "")
		}
		if got := strings.Join(asked, "\n"); err != nil || got != "GET /storage/v1/b/states/o/default.tfstate\nPOST /upload/storage/v1/b/states/o" {
			t.Errorf("%s: %v\n%s", host, err, got)
		}
	}
}
