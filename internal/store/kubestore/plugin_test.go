package kubestore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// TestPluginLeavesProcesses checks that a command does not wait for processes that a credentials plugin started and
// that hold its output open, neither after the plugin has ended nor after the context has ended.
func TestPluginLeavesProcesses(t *testing.T) {
	a := &access{server: &url.URL{Scheme: "https", Host: "cluster"}}
	answer := `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"canary-4711"}}`
	p := &plugin{APIVersion: "client.authentication.k8s.io/v1", Command: "sh", Args: []string{"-c", "sleep 60 & printf '%s' '" + answer + "'"}}
	began := time.Now()
	if reply, err := p.run(t.Context(), a); err != nil || reply.Token != "canary-4711" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	p.Args[1] = "sleep 60; echo"
	if _, err := p.run(ctx, a); err == nil {
		t.Error("a program that was interrupted answered")
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestEndedCredentials checks that a write is sent again with new credentials if the server no longer accepts the
// credentials that the plugin returned for an earlier request, and that a plugin whose credentials are wrong runs twice
// at most.
func TestEndedCredentials(t *testing.T) {
	accepted, refused, stored := "Bearer canary-1", 0, ""
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.Header.Get("Authorization") != accepted:
			refused++
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method == http.MethodPost:
			stored = string(body)
			_, _ = w.Write(body)
		default:
			fmt.Fprint(w, `{"items":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	// The n-th run of the plugin returns the token canary-n.
	script := `echo x >> ` + filepath.Join(dir, "runs") + `; n=$(wc -l < ` + filepath.Join(dir, "runs") + `); echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"canary-'$((n))'"}}'`
	config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
		"secret_suffix": cty.StringVal("s"), "host": cty.StringVal(server.URL), "insecure": cty.True,
		"exec": cty.ObjectVal(map[string]cty.Value{"api_version": cty.StringVal("client.authentication.k8s.io/v1"), "command": cty.StringVal("sh"), "args": cty.ListVal([]cty.Value{cty.StringVal("-c"), cty.StringVal(script)})}),
	}))
	if err != nil {
		t.Fatal(err)
	}
	st, err := Driver.Open(t.Context(), store.Settings{Config: config, Schema: Driver.Schema})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.List(t.Context()); err != nil || refused != 0 {
		t.Fatalf("%v, refused %d", err, refused)
	}
	accepted = "Bearer canary-2"
	if _, err := st.Put(t.Context(), store.Default, []byte("{}"), ""); err != nil || refused != 1 || !strings.Contains(stored, "tfstate-default-s") {
		t.Errorf("%v, refused %d, stored %q", err, refused, stored)
	}
	accepted = "Bearer other"
	if _, err := st.List(t.Context()); err == nil || strings.Contains(err.Error(), "canary") || refused != 3 {
		t.Errorf("%v, refused %d", err, refused)
	}
}

// TestPluginInterrupted checks that a plugin that an interrupt at the terminal ended runs once more.
func TestPluginInterrupted(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "interrupted")
	answer := `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"canary-4711"}}`
	for _, ends := range []string{"kill -INT $$", "exit 130"} {
		script := `[ -e "$0" ] || { echo > "$0"; ` + ends + `; }; echo '` + answer + `'`
		p := &plugin{APIVersion: "client.authentication.k8s.io/v1", Command: "sh", Args: []string{"-c", script, mark + ends}}
		if got, err := p.run(t.Context(), &access{}); err != nil || got.Token != "canary-4711" {
			t.Errorf("%s: %v, %v", ends, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p := &plugin{APIVersion: "client.authentication.k8s.io/v1", Command: "sh", Args: []string{"-c", "exit 130"}}
	if _, err := p.run(ctx, &access{}); err == nil {
		t.Error("no error after the end of the context")
	}
}
