package stores

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/kubestore"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

// kube is the API of a cluster: the part about Secrets and Leases that backends use.
type kube struct {
	sync.Mutex
	objects map[string]*kubeObject // by path
	writes  int
}

type kubeObject struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   kubeMeta       `json:"metadata"`
	Type       string         `json:"type,omitempty"`
	Data       map[string]any `json:"data,omitempty"`
	Spec       map[string]any `json:"spec,omitempty"`
}

type kubeMeta struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
}

// kubeKinds lists the resources, each with the path of its group and its kind.
var kubeKinds = map[string][2]string{"secrets": {"v1", "Secret"}, "leases": {"coordination.k8s.io/v1", "Lease"}}

func (k *kube) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.Lock()
	defer k.Unlock()
	refuse := func(status int, reason string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "reason": reason, "message": "no: " + reason, "code": status})
	}
	say := func(status int, what any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(what)
	}
	if r.Header.Get("Authorization") != "Bearer canary-4711" {
		refuse(http.StatusUnauthorized, "Unauthorized")
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	group, rest, _ := strings.Cut(r.URL.Path, "/namespaces/")
	parts := strings.Split(rest, "/") // the namespace, the resource and the name
	if len(parts) < 2 || kubeKinds[parts[1]][1] == "" || strings.TrimPrefix(strings.TrimPrefix(group, "/apis/"), "/api/") != kubeKinds[parts[1]][0] {
		refuse(http.StatusNotFound, "NotFound")
		return
	}
	kind := kubeKinds[parts[1]]
	path := r.URL.Path
	var given kubeObject
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		if err := json.Unmarshal(body, &given); err != nil || given.Kind != kind[1] && given.Kind != "" || len(body) > 3<<19 {
			refuse(http.StatusBadRequest, "BadRequest")
			return
		}
		if r.Method == http.MethodPost {
			path += "/" + given.Metadata.Name
		}
	}
	now := k.objects[path]
	if wrong := kubeWrong(given.Metadata.Name, given.Metadata.Labels); wrong != "" {
		refuse(http.StatusUnprocessableEntity, "Invalid: "+wrong)
		return
	}
	switch {
	case r.Method == http.MethodGet && len(parts) == 2:
		items, err := k.list(path+"/", r.URL.Query().Get("labelSelector"))
		if err != nil {
			refuse(http.StatusBadRequest, "BadRequest: "+err.Error())
			return
		}
		say(http.StatusOK, map[string]any{"apiVersion": kind[0], "kind": kind[1] + "List", "metadata": map[string]any{"resourceVersion": strconv.Itoa(k.writes)}, "items": items})
	case r.Method == http.MethodPost && now != nil:
		refuse(http.StatusConflict, "AlreadyExists")
	case r.Method == http.MethodPost && given.Metadata.ResourceVersion != "":
		refuse(http.StatusInternalServerError, "InternalError")
	case r.Method != http.MethodPost && now == nil:
		refuse(http.StatusNotFound, "NotFound")
	case r.Method == http.MethodGet:
		say(http.StatusOK, now)
	case r.Method == http.MethodDelete:
		var options struct {
			Preconditions struct{ UID, ResourceVersion string }
		}
		_ = json.Unmarshal(body, &options)
		if p := options.Preconditions; p.UID != "" && p.UID != now.Metadata.UID || p.ResourceVersion != "" && p.ResourceVersion != now.Metadata.ResourceVersion {
			refuse(http.StatusConflict, "Conflict")
			return
		}
		delete(k.objects, path)
		say(http.StatusOK, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	case r.Method == http.MethodPut && given.Metadata.ResourceVersion != "" && given.Metadata.ResourceVersion != now.Metadata.ResourceVersion:
		refuse(http.StatusConflict, "Conflict")
	case r.Method == http.MethodPut || r.Method == http.MethodPost:
		k.writes++
		given.APIVersion, given.Kind, given.Metadata.Namespace = kind[0], kind[1], parts[0]
		given.Metadata.UID, given.Metadata.ResourceVersion = "uid-"+strconv.Itoa(k.writes), strconv.Itoa(1000+k.writes)
		status := http.StatusCreated
		if now != nil {
			given.Metadata.UID, status = now.Metadata.UID, http.StatusOK
		}
		k.objects[path] = &given
		say(status, given)
	default:
		refuse(http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

var (
	kubeName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	kubeLabel = regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`)
)

// kubeWrong returns the reason for which a cluster refuses a name or labels, or "".
func kubeWrong(name string, labels map[string]string) string {
	if name != "" && (len(name) > 253 || !kubeName.MatchString(name)) {
		return "metadata.name"
	}
	for _, value := range labels {
		if len(value) > 63 || !kubeLabel.MatchString(value) {
			return "metadata.labels"
		}
	}
	return ""
}

// list returns the objects whose path begins with a prefix and whose labels match a selector, sorted by path. It returns
// an error for a selector that selects does not support.
func (k *kube) list(prefix, selector string) ([]*kubeObject, error) {
	out := []*kubeObject{}
	if _, err := selects(selector, nil); err != nil {
		return nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(k.objects)) {
		o := k.objects[path]
		if !strings.HasPrefix(path, prefix) {
			continue
		}
		if chosen, _ := selects(selector, o.Metadata.Labels); chosen {
			out = append(out, o)
		}
	}
	return out, nil
}

// kubeTerm is a term of a selector: a name, and perhaps an operator and a value.
var kubeTerm = regexp.MustCompile(`^(!?)([A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?)(?:(==?|!=)([A-Za-z0-9._-]*))?$`)

// selects reports whether labels match a selector, which is "" or a list of terms separated by commas: a=b, a==b, a!=b,
// a and !a. It returns an error for another term, such as a in (b, c).
func selects(selector string, labels map[string]string) (chosen bool, err error) {
	if selector == "" {
		return true, nil
	}
	chosen = true
	for term := range strings.SplitSeq(selector, ",") {
		m := kubeTerm.FindStringSubmatch(strings.TrimSpace(term))
		if m == nil || m[1] != "" && m[4] != "" {
			return false, fmt.Errorf("the term %q of a selector is not supported", term)
		}
		label, has := labels[m[2]]
		switch m[4] {
		case "":
			chosen = chosen && has == (m[1] == "")
		case "!=":
			chosen = chosen && !(has && label == m[5])
		default:
			chosen = chosen && has && label == m[5]
		}
	}
	return chosen, nil
}

// TestKubeSelectors checks the selectors of the imitated cluster.
func TestKubeSelectors(t *testing.T) {
	labels := map[string]string{"a": "1", "b.io/c": "2", "empty": ""}
	for selector, want := range map[string]bool{
		"": true, "a=1": true, "a==1": true, "a=2": false, "a=1,b.io/c=2": true, "a=1,b.io/c=3": false, "x=1": false, "x=": false, "empty=": true,
		"a!=1": false, "a!=2": true, "x!=1": true, "a": true, "x": false, "!a": false, "!x": true, "a, !x": true,
	} {
		if got, err := selects(selector, labels); err != nil || got != want {
			t.Errorf("%s: %t, %v", selector, got, err)
		}
	}
	for _, selector := range []string{"a in (1, 2)", "a notin (1)", "a>1", "!a=1", "a=1,", "=1"} {
		if _, err := selects(selector, labels); err == nil {
			t.Errorf("%s has no error", selector)
		}
	}
	k := &kube{objects: map[string]*kubeObject{"/api/v1/namespaces/n/secrets/s": {Metadata: kubeMeta{Labels: labels}}}}
	for selector, want := range map[string]int{"a": http.StatusOK, "a>1": http.StatusBadRequest} {
		r := withToken(httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/n/secrets?labelSelector="+url.QueryEscape(selector), nil))
		w := httptest.NewRecorder()
		if k.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: status %d", selector, w.Code)
		}
	}
}

// startKube runs a cluster until the end of the test, and returns the path of a kubeconfig file for it. around returns
// the handler that the server uses in place of the cluster's handler.
func startKube(t *testing.T, around func(http.Handler) http.Handler) string {
	server := httptest.NewUnstartedServer(around(&kube{objects: map[string]*kubeObject{}}))
	server.Config.ErrorLog = nil
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "ca.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	path := filepath.Join(dir, "config")
	check(t, os.WriteFile(path, fmt.Appendf(nil, "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    server: %s\n    certificate-authority: ca.pem\nusers:\n- name: u\n  user:\n    token: canary-4711\n- name: none\n  user: {}\ncontexts:\n- name: here\n  context: {cluster: c, user: u, namespace: elsewhere}\ncurrent-context: here\n", server.URL), 0o600))
	return path
}

// openKube opens the store of a cluster. The settings in more replace the default settings.
func openKube(t *testing.T, kubeconfig string, more map[string]cty.Value) (store.Store, error) {
	attrs := map[string]cty.Value{"secret_suffix": cty.StringVal("s"), "config_path": cty.StringVal(kubeconfig), "labels": cty.MapVal(map[string]cty.Value{"team": cty.StringVal("a")})}
	maps.Copy(attrs, more)
	config, err := kubestore.Driver.Schema.Coerce(cty.ObjectVal(attrs))
	check(t, err)
	return kubestore.Driver.Open(ctx, store.Settings{Config: config, Schema: kubestore.Driver.Schema, Getenv: os.Getenv, Dir: t.TempDir()})
}

func TestKube(t *testing.T) {
	opener := func(t *testing.T, kubeconfig string) func() store.Store {
		return func() store.Store {
			st, err := openKube(t, kubeconfig, nil)
			check(t, err)
			return st
		}
	}
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) func() store.Store { return opener(t, startKube(t, plain)) })
	})
	t.Run("cut", func(t *testing.T) {
		storetest.RunInterrupted(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
			c := &storetest.Interrupter{}
			kubeconfig := startKube(t, func(h http.Handler) http.Handler {
				c.Handler = h
				return c
			})
			return opener(t, kubeconfig), c
		})
	})
}

// large returns a state with a serial, which contains that many megabytes of noise that compression does not shorten.
// The same arguments return the same state.
func large(serial, megabytes int) []byte {
	r := rand.NewChaCha8([32]byte{byte(serial)})
	noise := make([]byte, megabytes<<20)
	_, _ = r.Read(noise)
	return fmt.Appendf(nil, `{"version":4,"serial":%d,"noise":%q}`, serial, base64.StdEncoding.EncodeToString(noise))
}

// failing is a transport that fails at one of the next requests and at all later requests.
type failing struct {
	http.RoundTripper
	left int  // the number of the first request that fails: 1 is the next request
	late bool // the first request that fails is carried out, but its response is lost
}

func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	f.left--
	if f.left > 0 || f.left == 0 && f.late {
		resp, err := f.RoundTripper.RoundTrip(r)
		if f.left > 0 || err != nil {
			return resp, err
		}
		resp.Body.Close()
	}
	return nil, fmt.Errorf("the process is dead")
}

// TestKubeParts kills writers of states that do not fit into one Secret at each of their requests. A reader sees the
// old state or the new state, whole. Remaining parts are removed later.
func TestKubeParts(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][2]int{{1, 2}, {2, 0}} {
		for _, late := range []bool{false, true} {
			for n, done := 1, false; !done; n++ {
				k := &kube{objects: map[string]*kubeObject{}}
				f := &failing{RoundTripper: inProcess{k}, left: 1 << 30}
				st := kubestore.New(kubestore.Options{Client: &http.Client{Transport: f}, Server: mustURL(t, "http://cluster"), Namespace: "default", Suffix: "s"})
				before, after := large(1, sizes[0]), large(2, sizes[1])
				v, err := st.Put(ctx, "w", before, "")
				check(t, err)
				f.left, f.late = n, late
				_, err = st.Put(ctx, "w", after, v)
				done = err == nil
				f.left = 1 << 30
				got, v, err := st.Get(ctx, "w")
				check(t, err)
				if string(got) != string(before) && string(got) != string(after) || done && string(got) != string(after) {
					t.Fatalf("%v, killed at %d, late %t: there is neither the old state nor the new one", sizes, n, late)
				}
				v, err = st.Put(ctx, "w", large(3, 0), v)
				check(t, err)
				if _, err = st.Put(ctx, "w", large(4, 1), v); err != nil {
					t.Fatal(err)
				}
				if got, _, err = st.Get(ctx, "w"); err != nil || string(got) != string(large(4, 1)) {
					t.Fatalf("%v, killed at %d, late %t: what is written after that is not there: %v", sizes, n, late, err)
				}
				check(t, st.Delete(ctx, "w"))
				for path := range k.objects {
					t.Errorf("%v, killed at %d, late %t: %s is left", sizes, n, late, path)
				}
			}
		}
	}
}

// TestKubeTorn checks that a state with a missing part, as a killed Terraform leaves it, can be replaced by a copy from
// elsewhere.
func TestKubeTorn(t *testing.T) {
	k := &kube{objects: map[string]*kubeObject{}}
	st := kubestore.New(kubestore.Options{Client: &http.Client{Transport: inProcess{k}}, Server: mustURL(t, "http://cluster"), Namespace: "default", Suffix: "s"})
	torn(t, st, func() { delete(k.objects, "/api/v1/namespaces/default/secrets/tfstate-w-s-part-1") })
}

// inProcess is a server without a network.
type inProcess struct{ http.Handler }

func (s inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, withToken(r))
	return w.Result(), nil
}

// withToken returns a copy of a request with the token that the cluster accepts.
func withToken(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer canary-4711")
	return r
}

// TestKubeNames checks that a workspace may have any name that a cluster accepts. Other names are refused without a
// request.
func TestKubeNames(t *testing.T) {
	st, err := openKube(t, startKube(t, plain), map[string]cty.Value{"secret_suffix": cty.StringVal(strings.Repeat("s", 63))})
	check(t, err)
	long := strings.Repeat("w", 63)
	for name, good := range map[string]bool{
		long: true, "a.b-c": true, "1": true,
		long + "w": false, "Prod": false, "a_b": false, "a.": false, "-a": false, "a.-b": false, "a..b": false, "a=b": false, "a+b": false, "~": false,
	} {
		unlock, err := st.Lock(ctx, name, store.NewLockInfo("o", "1"))
		if good {
			check(t, err)
			_, err = st.Put(ctx, name, large(1, 2), "")
			check(t, err)
			check(t, unlock(ctx))
			check(t, st.Delete(ctx, name))
			continue
		}
		_, _, read := st.Get(ctx, name)
		_, written := st.Put(ctx, name, []byte("{}"), "")
		for _, err := range []error{err, read, written, st.Delete(ctx, name)} {
			if !errors.Is(err, store.ErrName) {
				t.Errorf("%q: %v", name, err)
			}
		}
	}
}

// TestKubePartsMixed lets Lethe and Terraform write and read a state that does not fit into one Secret.
func TestKubePartsMixed(t *testing.T) {
	t.Parallel()
	l, tf := pair(t, place{"terraform {\n  backend \"kubernetes\" {\n    secret_suffix = \"s\"\n  }\n}\n", []string{"KUBE_CONFIG_PATH=" + startKube(t, plain)}})
	exchange(t, l, tf)
}

// TestKubeCredentials checks that a plugin returns a token, and that the error of a failed plugin has its reason.
func TestKubeCredentials(t *testing.T) {
	kubeconfig := startKube(t, plain)
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	script := func(name, text string) cty.Value {
		path := filepath.Join(dir, name)
		check(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
		return cty.ObjectVal(map[string]cty.Value{
			"api_version": cty.StringVal("client.authentication.k8s.io/v1"), "command": cty.StringVal(path),
			"args": cty.ListVal([]cty.Value{cty.StringVal("x")}), "env": cty.MapVal(map[string]cty.Value{"WHO": cty.StringVal("me")}),
		})
	}
	const said = `echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"canary-4711"}}'`
	for _, tt := range []struct {
		settings map[string]cty.Value
		want     string // a part of the error; "": no error
	}{
		{map[string]cty.Value{"exec": script("good", "echo $1 $WHO $KUBERNETES_EXEC_INFO >> "+asked+"\n"+said)}, ""},
		{map[string]cty.Value{"exec": script("bad", "echo no luck >&2; exit 3")}, "no luck"},
		{map[string]cty.Value{"exec": script("other", "echo {}")}, "is not an ExecCredential"},
		{map[string]cty.Value{"exec": cty.NullVal(script("none", "").Type())}, "401 Unauthorized"},
		{map[string]cty.Value{"token": cty.StringVal("canary-4711")}, ""},
		{map[string]cty.Value{"username": cty.StringVal("u"), "password": cty.StringVal("p")}, "401 Unauthorized"},
		{map[string]cty.Value{"token": cty.StringVal("canary-4711"), "cluster_ca_certificate": cty.StringVal("x")}, "no certificate in PEM"},
		{map[string]cty.Value{"config_path": cty.NullVal(cty.String), "token": cty.StringVal("canary-4711"), "config_paths": cty.ListVal([]cty.Value{cty.StringVal("/nowhere"), cty.StringVal(kubeconfig)})}, ""},
		{map[string]cty.Value{"config_path": cty.NullVal(cty.String), "config_paths": cty.ListVal([]cty.Value{cty.StringVal("/nowhere")})}, "/nowhere cannot be read"},
		{map[string]cty.Value{"config_context": cty.StringVal("nowhere")}, `no context "nowhere"`},
		{map[string]cty.Value{"secret_suffix": cty.StringVal("a-1")}, "must not end"},
		{map[string]cty.Value{"secret_suffix": cty.StringVal("Team_a")}, "lower-case letters"},
		{map[string]cty.Value{"secret_suffix": cty.StringVal(strings.Repeat("a", 64))}, "up to 63"},
	} {
		tt.settings["config_context_auth_info"] = cty.StringVal("none")
		short, cancel := context.WithTimeout(ctx, 5*time.Second)
		st, err := openKube(t, kubeconfig, tt.settings)
		for range 2 {
			if err == nil {
				_, err = st.List(short)
			}
		}
		cancel()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want %q", tt.settings, err, tt.want)
		}
	}
	text, err := os.ReadFile(asked)
	if want := `x me {"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"interactive":false}}` + "\n"; err != nil || string(text) != want {
		t.Errorf("the plugin was asked %q, not %q once", text, want)
	}
}

func mustURL(t *testing.T, text string) *url.URL {
	u, err := url.Parse(text)
	check(t, err)
	return u
}

// annotating is a cluster in which another client annotates each object just before a write, which changes its
// resourceVersion.
type annotating struct {
	*kube
	left int // number of annotations that are still to be made
}

func (a *annotating) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPut && a.left > 0 {
		a.Lock()
		if o := a.objects[r.URL.Path]; o != nil {
			a.left--
			a.writes++
			o.Metadata.ResourceVersion = strconv.Itoa(a.writes)
		}
		a.Unlock()
	}
	a.kube.ServeHTTP(w, r)
}

// TestKubeAnnotated checks that annotations by other clients are not a change of the state or of the lock's holder.
func TestKubeAnnotated(t *testing.T) {
	hurried(t, 100)
	a := &annotating{kube: &kube{objects: map[string]*kubeObject{}}}
	st, err := openKube(t, startKube(t, func(http.Handler) http.Handler { return a }), nil)
	check(t, err)
	v, err := st.Put(ctx, store.Default, large(1, 0), "")
	check(t, err)
	unlock, err := st.Lock(ctx, store.Default, store.NewLockInfo("o", "1"))
	check(t, err)
	check(t, unlock(ctx))
	for i, size := range []int{0, 2, 1} {
		a.left = 1
		unlock, err := st.Lock(ctx, store.Default, store.NewLockInfo("o", "1"))
		check(t, err)
		a.left = 2
		v, err = st.Put(ctx, store.Default, large(i+2, size), v)
		check(t, err)
		a.left = 2
		check(t, unlock(ctx))
		_, now, err := st.Get(ctx, store.Default)
		check(t, err)
		if now != v {
			t.Errorf("there is version %q, not %q", now, v)
		}
	}
}
