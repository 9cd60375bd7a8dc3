package kubestore

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// TestInCluster checks that requests in a pod use its service account, with the token that the cluster wrote last.
func TestInCluster(t *testing.T) {
	asked := ""
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Authorization")
		fmt.Fprint(w, `{"items":[]}`)
	}))
	t.Cleanup(server.Close)
	usual, dir := account, t.TempDir()
	t.Cleanup(func() { account = usual })
	account = dir + string(filepath.Separator)
	put := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	host, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	env := map[string]string{"KUBE_IN_CLUSTER_CONFIG": "true"}
	open := func() (store.Store, error) {
		config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{"secret_suffix": cty.StringVal("s")}))
		if err != nil {
			t.Fatal(err)
		}
		return Driver.Open(t.Context(), store.Settings{Config: config, Schema: Driver.Schema, Dir: dir, Getenv: func(name string) string { return env[name] }})
	}
	if _, err := open(); err == nil || !strings.Contains(err.Error(), "Lethe does not run in a pod") {
		t.Errorf("outside of a pod: %v", err)
	}
	env["KUBERNETES_SERVICE_HOST"], env["KUBERNETES_SERVICE_PORT"] = host, port
	put("ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	st, err := open()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.List(t.Context()); err == nil || !strings.Contains(err.Error(), "the file with the token cannot be read") {
		t.Errorf("without a token: %v", err)
	}
	// A kubeconfig file may be for another cluster, to which the pod deploys.
	env["KUBE_CONFIG_PATH"] = filepath.Join(dir, "config")
	put("config", []byte("apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {server: \"https://elsewhere.invalid\"}\ncontexts:\n- name: x\n  context: {cluster: c}\ncurrent-context: x\n"))
	if st, err = open(); err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"first", "second"} {
		put("token", []byte(token+"\n"))
		if _, err := st.List(t.Context()); err != nil || asked != "Bearer "+token {
			t.Errorf("asked was with %q: %v", asked, err)
		}
	}
	// Without settings, the account of the pod counts.
	delete(env, "KUBE_IN_CLUSTER_CONFIG")
	delete(env, "KUBE_CONFIG_PATH")
	put("token", []byte("third\n"))
	if st, err = open(); err != nil {
		t.Fatal(err)
	}
	if _, err := st.List(t.Context()); err != nil || asked != "Bearer third" {
		t.Errorf("asked was with %q: %v", asked, err)
	}
	if err := os.Remove(filepath.Join(dir, "token")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(); err == nil || !strings.Contains(err.Error(), "no Kubernetes cluster is configured") {
		t.Errorf("without a service account: %v", err)
	}
}

// TestWrongAddress checks that the pauses before the error for an address without a server take less than half a minute.
func TestWrongAddress(t *testing.T) {
	p := policy(store.Settings{})
	sum, pause := time.Duration(0), p.Shortest
	for range p.Retries {
		sum += pause
		pause = min(2*pause, p.Longest)
	}
	if sum > 30*time.Second || p.Retries < 10 {
		t.Errorf("%d retries take %s", p.Retries, sum)
	}
}

// TestImpersonation checks the headers of requests for another user.
func TestImpersonation(t *testing.T) {
	var asked http.Header
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header
		fmt.Fprint(w, `{"items":[]}`)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "config")
	for user, want := range map[string]map[string][]string{
		`as: a`: {"Impersonate-User": {"a"}, "Impersonate-Group": nil, "Impersonate-Uid": nil},
		`as: a, as-uid: id, as-groups: [g, h], as-user-extra: {"example.com/a b": [v, w]}`: {"Impersonate-User": {"a"}, "Impersonate-Group": {"g", "h"}, "Impersonate-Uid": {"id"}, "Impersonate-Extra-Example.com%2fa%20b": {"v", "w"}},
		`as-uid: id`: nil,
	} {
		text := fmt.Sprintf("clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: canary-4711, %s}}]\ncurrent-context: x\n", server.URL, user)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		config, err := Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{"secret_suffix": cty.StringVal("s"), "config_path": cty.StringVal(file)}))
		if err != nil {
			t.Fatal(err)
		}
		st, err := Driver.Open(t.Context(), store.Settings{Config: config, Schema: Driver.Schema})
		if err == nil {
			_, err = st.List(t.Context())
		}
		if (err != nil) != (want == nil) {
			t.Errorf("%s: %v", user, err)
		}
		for name, values := range want {
			if !slices.Equal(asked[name], values) {
				t.Errorf("%s: %s is %q, want %q in %q", user, name, asked[name], values, asked)
			}
		}
	}
}
