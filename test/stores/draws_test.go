package stores

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// setup is one way to configure a backend: lines of the block, -backend-config arguments, and environment variables.
type setup struct {
	block, args, env []string
	files            map[string]string // by name: files in the working directory; HOME is its directory "home"
}

// setting is a setting that a setup may place anywhere. Its value is HCL in the block, and text or an expression on the
// command line.
type setting struct {
	name     string
	env      string // a variable that sets it; "" if no variable does
	values   []string
	required bool
	raw      bool // the values are expressions, not text
}

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// put chooses a value of a setting and writes it to one of its possible places, or to two. It may leave out a setting
// that is not required.
func (d *setup) put(r *rand.Rand, s setting) {
	in := func(v string) string {
		if s.raw {
			return s.name + " = " + v
		}
		return s.name + " = " + strconv.Quote(v)
	}
	where := r.IntN(8)
	if s.required && where > 4 {
		where -= 3
	}
	if s.env == "" && (where == 3 || where == 4) {
		where = 1
	}
	v := one(r, s.values...)
	switch where {
	case 0, 1:
		d.block = append(d.block, in(v))
	case 2:
		d.args = append(d.args, s.name+"="+v)
	case 3:
		d.env = append(d.env, s.env+"="+v)
	case 4: // the value is empty in the block or on the command line, and set in the environment
		d.env = append(d.env, s.env+"="+v)
		if s.raw {
			break
		}
		if r.IntN(2) == 0 {
			d.block = append(d.block, in(""))
		} else {
			d.args = append(d.args, s.name+"=")
		}
	case 5:
		d.block = append(d.block, in(s.values[0])) // not a wrong value, because Lethe refuses it in the block (docs/differences.md)
		d.args = append(d.args, s.name+"="+v)
	}
}

func (d *setup) String() string {
	return fmt.Sprintf("block:\n  %s\narguments: %q\nenvironment: %q\nfiles: %v", strings.Join(d.block, "\n  "), d.args, d.env, d.files)
}

// seen records the requests to a service that determine which state is used.
type seen struct {
	mu   sync.Mutex
	what map[string]bool
}

func (s *seen) note(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what[fmt.Sprintf(format, a...)] = true
}

// take returns the recorded requests, sorted and each once, and removes them.
func (s *seen) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Sorted(maps.Keys(s.what))
	s.what = map[string]bool{}
	return out
}

// keys are names of objects as users and wrappers write them.
var keys = []string{"k", "net/terraform.tfstate", "./terraform.tfstate", "a/./b", "a//b", "a/../b", "../b", "ü/ñ", "with space/k", "/k", "k/", "a/b/../c", "~/k", "%2e/k", "a+b", "é"}

// drawer is a kind of store for random setups.
type drawer struct {
	name   string
	stored bool                                 // the service keeps states, so that a program can search for the state of another program
	start  func(t *testing.T, s *seen) string   // starts the service and returns its address
	make   func(r *rand.Rand, at string) *setup // draws a setup for the service at an address
}

var drawers = []drawer{
	{"local", true, func(*testing.T, *seen) string { return "" }, drawLocal},
	{"http", true, startHTTPRecorder, drawHTTP},
	{"s3", true, startS3Recorder, drawS3},
	{"consul", false, startRecorder(consulFacts), drawConsul},
	{"kubernetes", false, startRecorder(kubeFacts), drawKube},
	{"gcs", false, startRecorder(gcsFacts), drawGCS},
	{"azurerm", false, startAzureRecorder, drawAzure},
	{"pg", false, startPgRecorder, drawPg},
}

// TestDraws configures backends at random and compares Lethe with Terraform: the exit codes, the requested places and
// their credentials, and whether the state written by Terraform is found. LETHE_LONG draws 2,000 for each store,
// LETHE_DRAWS another number. LETHE_DRAW=STORE:SEED repeats one draw.
func TestDraws(t *testing.T) {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	ours, err := lethe()
	check(t, err)
	n := 50
	if os.Getenv("LETHE_LONG") != "" {
		n = 2000
	}
	if text := os.Getenv("LETHE_DRAWS"); text != "" {
		n, err = strconv.Atoi(text)
		check(t, err)
	}
	only, seed, repeat := strings.Cut(os.Getenv("LETHE_DRAW"), ":")
	for _, kind := range drawers {
		t.Run(kind.name, func(t *testing.T) {
			if only != "" && only != kind.name {
				t.Skip()
			}
			t.Parallel()
			s := &seen{what: map[string]bool{}}
			first, last := 0, n
			if repeat {
				first, err = strconv.Atoi(seed)
				check(t, err)
				last = first + 1
			}
			for i := first; i < last; i++ {
				at := kind.start(t, s)
				compareDraw(t, kind, i, at, s, terraform, ours)
			}
		})
	}
}

// outcome is the result of a program with a setup.
type outcome struct {
	init, plan int
	asked      []string
	workspaces string
	text       string
}

// compareDraw draws the setup of a seed and compares the outcomes of both programs.
func compareDraw(t *testing.T, kind drawer, seed int, at string, s *seen, terraform, ours string) {
	r := rand.New(rand.NewPCG(uint64(seed), 36))
	d := kind.make(r, at)
	workspace := one(r, "default", "default", "prod", "a.b")
	shared := t.TempDir() // the directory of local states, which the programs share
	theirs := runDraw(t, kind, d, workspace, shared, terraform, s, kind.stored)
	own := runDraw(t, kind, d, workspace, shared, ours, s, false)
	found := theirs.plan == own.plan && sameWorkspaces(kind.name, theirs.workspaces, own.workspaces)
	same := (theirs.init == 0) == (own.init == 0) && (theirs.init != 0 || found)
	if kind.stored && theirs.plan == 1 && own.init != 0 {
		same = true // ignore a difference: Lethe reports an unreadable state earlier
	}
	if !kind.stored { // ignore a difference: Terraform tries to create the workspace, and the service keeps no states
		same = theirs.init != 0 || own.init == 0
		for _, a := range theirs.asked {
			same = same && slices.Contains(own.asked, a)
		}
		same = same && (len(theirs.asked) > 0 || len(own.asked) == 0)
	}
	if !same {
		t.Errorf("LETHE_DRAW=%s:%d, workspace %s\n%s\nTerraform: init %d, plan %d, workspaces %q, asked %q\nLethe: init %d, plan %d, workspaces %q, asked %q\n--- Terraform\n%s\n--- Lethe\n%s", kind.name, seed, workspace, d, theirs.init, theirs.plan, theirs.workspaces, theirs.asked, own.init, own.plan, own.workspaces, own.asked, theirs.text, own.text)
	}
}

// runDraw runs a program in a new directory with a setup and returns the outcome. If writes is true, it first writes a
// state. shared replaces the word SHARED in settings.
func runDraw(t *testing.T, kind drawer, d *setup, workspace, shared, program string, s *seen, writes bool) (o outcome) {
	dir := filepath.Join(t.TempDir(), "dir")
	for name, text := range d.files {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	check(t, os.MkdirAll(filepath.Join(dir, "home"), 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(fmt.Sprintf("terraform {\n  backend %q {\n    %s\n  }\n}\noutput \"o\" {\n  value = 1\n}\n", kind.name, strings.ReplaceAll(strings.Join(d.block, "\n    "), "SHARED", shared))), 0o600))
	// No request may reach a real service.
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "CHECKPOINT_DISABLE=1", "TF_INPUT=0", "TF_CLI_CONFIG_FILE=" + os.DevNull, "AWS_EC2_METADATA_DISABLED=true",
		"HTTPS_PROXY=http://127.0.0.1:1", "AWS_MAX_ATTEMPTS=1", "LETHE_KEEPER=off"}, d.env...)
	if workspace != "default" {
		env = append(env, "TF_WORKSPACE="+workspace)
	}
	run := func(args ...string) (int, string) {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = dir, env
		timer := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		o.text += "$ " + strings.Join(args, " ") + "\n" + string(out)
		return cmd.ProcessState.ExitCode(), string(out)
	}
	args := []string{"init", "-no-color"}
	for _, a := range d.args {
		args = append(args, "-backend-config="+strings.ReplaceAll(a, "SHARED", shared))
	}
	o.init, _ = run(args...)
	if writes && o.init == 0 {
		run("apply", "-no-color", "-auto-approve", "-lock=false")
		s.take()
	}
	if o.init == 0 {
		o.plan, _ = run("plan", "-no-color", "-detailed-exitcode", "-lock=false")
		var list string
		if _, list = run("workspace", "list"); kind.stored {
			o.workspaces = strings.Join(strings.Fields(strings.ReplaceAll(list, "*", "")), " ")
			if strings.Contains(list, "not supported") {
				o.workspaces = "none"
			}
		}
	}
	o.asked = s.take()
	if kind.stored { // the other program has written to the service meanwhile, so compare only whether the state was found
		o.asked = nil
	}
	return o
}

func drawLocal(r *rand.Rand, _ string) *setup {
	d := &setup{}
	var paths []string
	for _, k := range keys {
		paths = append(paths, "SHARED/"+strings.TrimPrefix(k, "/"))
	}
	d.put(r, setting{name: "path", values: append(paths, "SHARED/x.tfstate", "SHARED/a b.tfstate", "SHARED//x"), required: true})
	d.put(r, setting{name: "workspace_dir", values: []string{"SHARED/w", "SHARED/./w", "SHARED/w/", "SHARED/w//x", ""}, required: true})
	return d
}

func startHTTPRecorder(t *testing.T, _ *seen) string {
	var mu sync.Mutex
	states := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(req.Body)
		id := req.URL.EscapedPath() + "?" + req.URL.RawQuery + " " + req.Header.Get("Authorization")
		switch req.Method {
		case http.MethodGet:
			if states[id] == nil {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = w.Write(states[id])
		default:
			states[id] = body
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func drawHTTP(r *rand.Rand, at string) *setup {
	d := &setup{}
	var addresses []string
	for _, k := range []string{"/s", "/a/b", "/a//b", "/./b", "/a/../b", "/ü", "/a%20b", "/a b", "/a%2fb", "/s?x=1", "/s?b=2&a=1", "", "/", "/s#f", "/s?"} {
		addresses = append(addresses, at+k)
	}
	d.put(r, setting{name: "address", env: "TF_HTTP_ADDRESS", values: addresses, required: true})
	d.put(r, setting{name: "update_method", env: "TF_HTTP_UPDATE_METHOD", values: []string{"PUT", "POST"}})
	d.put(r, setting{name: "username", env: "TF_HTTP_USERNAME", values: []string{"u", "ü", "a b", ""}})
	d.put(r, setting{name: "password", env: "TF_HTTP_PASSWORD", values: []string{"p", "p:q", ""}})
	d.put(r, setting{name: "lock_address", env: "TF_HTTP_LOCK_ADDRESS", values: []string{at + "/l", ""}})
	d.put(r, setting{name: "unlock_address", env: "TF_HTTP_UNLOCK_ADDRESS", values: []string{at + "/l", at + "/m", "ftp://x"}})
	d.put(r, setting{name: "retry_max", env: "TF_HTTP_RETRY_MAX", values: []string{"0", "1", "2", "0", "1", "x"}})
	d.put(r, setting{name: "skip_cert_verification", env: "TF_HTTP_SKIP_CERT_VERIFICATION", values: []string{"true", "false"}})
	return d
}

func startS3Recorder(t *testing.T, _ *seen) string {
	// Each access key has a separate account.
	return startS3(t, func(h http.Handler) http.Handler {
		owner := sync.Map{}
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			who := accessKey.FindString(req.Header.Get("Authorization"))
			if was, there := owner.LoadOrStore(req.URL.Path, who); there && was != who && req.Method == http.MethodGet {
				http.Error(w, "<Error><Code>NoSuchKey</Code></Error>", http.StatusNotFound)
				return
			}
			h.ServeHTTP(w, req)
		})
	})
}

var accessKey = regexp.MustCompile(`Credential=[^/]*`)

func drawS3(r *rand.Rand, at string) *setup {
	d := &setup{files: map[string]string{}}
	d.block = append(d.block, "use_path_style = true", "skip_credentials_validation = true", "skip_requesting_account_id = true", "skip_metadata_api_check = true", "skip_region_validation = true")
	config := "[default]\n"
	switch r.IntN(6) {
	case 0:
		d.block = append(d.block, fmt.Sprintf("endpoints = { s3 = %q }", at))
	case 1:
		d.args = append(d.args, fmt.Sprintf("endpoints={s3=%q}", at))
	case 2:
		d.env = append(d.env, "AWS_ENDPOINT_URL="+at)
	case 3:
		d.env = append(d.env, one(r, "AWS_ENDPOINT_URL_S3=", "AWS_S3_ENDPOINT=")+at)
	case 4:
		config += "endpoint_url = " + at + "\n"
	case 5:
		config = "[services x]\ns3 =\n  endpoint_url = " + at + "\n" + config + "services = x\n"
	}
	config += "aws_access_key_id = ofdefault\naws_secret_access_key = s\n" + one(r, "", "region = eu-west-1\n")
	if r.IntN(4) > 0 {
		config = strings.ReplaceAll(config, "[default]", "[profile p]")
		if r.IntN(2) == 0 {
			d.env = append(d.env, "AWS_PROFILE=p")
		} else {
			d.block = append(d.block, `profile = "p"`)
		}
	}
	d.files["home/.aws/config"] = config
	if r.IntN(2) == 0 {
		d.env = append(d.env, "AWS_ACCESS_KEY_ID=ofenv", "AWS_SECRET_ACCESS_KEY=s")
	}
	if r.IntN(4) == 0 {
		d.block = append(d.block, `access_key = "ofblock"`, `secret_key = "s"`)
	}
	d.put(r, setting{name: "bucket", values: []string{"states"}, required: true})
	d.put(r, setting{name: "key", values: keys, required: true})
	d.put(r, setting{name: "region", env: one(r, "AWS_REGION", "AWS_DEFAULT_REGION"), values: []string{"us-east-1", "eu-west-3"}, required: true})
	d.put(r, setting{name: "workspace_key_prefix", values: []string{"", "p", "p//q", "./p", "p/../q", "ü", "a b", "/p", "p/"}})
	d.put(r, setting{name: "allowed_account_ids", values: []string{"[]"}, raw: true})
	return d
}

// startRecorder returns a function that runs an empty service. facts answers each request and records it.
func startRecorder(facts func(s *seen, w http.ResponseWriter, req *http.Request)) func(*testing.T, *seen) string {
	return func(t *testing.T, s *seen) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { facts(s, w, req) }))
		t.Cleanup(server.Close)
		return server.URL
	}
}

func consulFacts(s *seen, w http.ResponseWriter, req *http.Request) {
	if key, ok := strings.CutPrefix(req.URL.Path, "/v1/kv/"); ok && req.Method == http.MethodGet && !strings.HasSuffix(key, "/.lock") && !strings.HasSuffix(key, "/.lockinfo") {
		user, password, _ := req.BasicAuth()
		s.note("%s token %s auth %s:%s dc %s ns %s", key, req.Header.Get("X-Consul-Token"), user, password, req.URL.Query().Get("dc"), req.URL.Query().Get("ns"))
	}
	w.WriteHeader(http.StatusNotFound)
}

func drawConsul(r *rand.Rand, at string) *setup {
	d := &setup{}
	host := strings.TrimPrefix(at, "http://")
	d.put(r, setting{name: "address", env: "CONSUL_HTTP_ADDR", values: []string{host, at}, required: true})
	d.put(r, setting{name: "path", values: slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k[0] == '/' }), required: true})
	if r.IntN(4) == 0 { // the file takes precedence over the setting
		d.files = map[string]string{"token": "t3\n"}
		d.env = append(d.env, "CONSUL_HTTP_TOKEN_FILE=token")
	}
	d.put(r, setting{name: "access_token", env: "CONSUL_HTTP_TOKEN", values: []string{"t1", "t2"}})
	if r.IntN(4) == 0 {
		d.env = append(d.env, "CONSUL_NAMESPACE=n1")
	}
	d.put(r, setting{name: "http_auth", env: "CONSUL_HTTP_AUTH", values: []string{"u:p", "u", "u:p:q"}})
	d.put(r, setting{name: "datacenter", values: []string{"dc1", ""}})
	d.put(r, setting{name: "scheme", values: []string{"http"}})
	d.put(r, setting{name: "gzip", values: []string{"true", "false"}, raw: true})
	return d
}

func kubeFacts(s *seen, w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	namespace, rest, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/api/v1/namespaces/"), "/")
	user, password, _ := req.BasicAuth()
	who := cmpOr(strings.TrimPrefix(req.Header.Get("Authorization"), "Basic "), "nobody")
	if user != "" {
		who = user + ":" + password
	}
	if strings.HasPrefix(rest, "secrets") && req.Method == http.MethodGet {
		s.note("%s by %s", namespace, who)
	}
	if rest == "secrets" {
		_, _ = io.WriteString(w, `{"kind":"SecretList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
		return
	}
	w.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func drawKube(r *rand.Rand, at string) *setup {
	file := func(namespace, token string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\ncontexts: [{name: x, context: {cluster: c, user: u, namespace: %s}}, {name: y, context: {cluster: c, user: v}}]\nusers: [{name: u, user: {token: %s}}, {name: v, user: {}}]\ncurrent-context: x\n", at, namespace, token)
	}
	d := &setup{files: map[string]string{"kubeconfig": file("fromfile", "t1"), "other/kubeconfig": file("other", "t2")}}
	d.put(r, setting{name: "config_path", env: "KUBE_CONFIG_PATH", values: []string{"kubeconfig", "./kubeconfig", "other/../kubeconfig", "other/kubeconfig"}, required: true})
	d.put(r, setting{name: "secret_suffix", values: []string{"s", "a-b", "ü", "a.b", "x-1"}, required: true})
	d.put(r, setting{name: "namespace", env: "KUBE_NAMESPACE", values: []string{"team", "default"}})
	d.put(r, setting{name: "config_context", env: "KUBE_CTX", values: []string{"x", "y", "nope"}})
	d.put(r, setting{name: "labels", values: []string{`{a="b"}`, `{}`}, raw: true})
	return d
}

func gcsFacts(s *seen, w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	at := req.URL.EscapedPath()
	_, bucket, api := strings.Cut(at, "/storage/v1/b/")
	if !api { // another form of address, in which Terraform reads objects
		w.WriteHeader(http.StatusNotFound)
		return
	}
	bucket, object, _ := strings.Cut(bucket, "/o")
	object, _ = url.PathUnescape(strings.TrimPrefix(object, "/"))
	if object == "" {
		object = "prefix " + strings.TrimPrefix(path.Clean("/"+req.URL.Query().Get("prefix")), "/") // the cleaned prefix (see sameWorkspaces)
	}
	if req.Method != http.MethodGet { // a request that writes an object has its name in the body
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.note("%s %s by %s key %s billed to %q", bucket, object, req.Header.Get("Authorization"), req.Header.Get("X-Goog-Encryption-Key"), req.Header.Get("X-Goog-User-Project"))
	if strings.HasPrefix(object, "prefix ") {
		_, _ = io.WriteString(w, `{"kind":"storage#objects"}`)
		return
	}
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"error":{"code":404,"message":"No such object"}}`)
}

func drawGCS(r *rand.Rand, at string) *setup {
	d := &setup{}
	d.put(r, setting{name: "bucket", values: []string{"b"}, required: true})
	d.put(r, setting{name: "storage_custom_endpoint", env: one(r, "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT", "GOOGLE_STORAGE_CUSTOM_ENDPOINT"), values: []string{at + "/storage/v1/"}, required: true})
	d.put(r, setting{name: "prefix", values: append(slices.Clone(keys), "", "p//", "/p/q/")})
	d.put(r, setting{name: "access_token", env: "GOOGLE_OAUTH_ACCESS_TOKEN", values: []string{"t1", "t2"}, required: true})
	if r.IntN(4) == 0 {
		d.env = append(d.env, "GOOGLE_CLOUD_QUOTA_PROJECT=billed")
	}
	return d
}

// startAzureRecorder runs a cloud without states, and records the account and the identity of each request. A token
// names the identity.
func startAzureRecorder(t *testing.T, s *seen) string {
	env := startCloud(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		who := req.Header.Get("Authorization")
		if kind, _, ok := strings.Cut(who, " "); ok && kind != "Bearer" {
			who, _, _ = strings.Cut(who, ":")
		}
		answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
		switch host := req.Host; {
		case strings.HasPrefix(host, "login."):
			_ = req.ParseForm()
			switch {
			case strings.HasSuffix(req.URL.Path, "/oauth2/v2.0/token"):
				how := cmpOr(req.Form.Get("client_secret"), req.Form.Get("client_assertion"))
				tenant, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
				answer(map[string]any{"token_type": "Bearer", "expires_in": 3600, "access_token": strings.Join([]string{host, tenant, req.Form.Get("client_id"), how}, "|")})
			case strings.HasSuffix(req.URL.Path, "/openid-configuration"):
				tenant, _, _ := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
				at := "https://" + host + "/" + tenant
				answer(map[string]any{"issuer": at + "/v2.0", "authorization_endpoint": at + "/oauth2/v2.0/authorize", "token_endpoint": at + "/oauth2/v2.0/token"})
			default:
				answer(map[string]any{"tenant_discovery_endpoint": "https://" + host + "/t/v2.0/.well-known/openid-configuration", "metadata": []any{}})
			}
		case strings.HasPrefix(host, "management."):
			at := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
			name := at[len(at)-1]
			if name == "listKeys" {
				s.note("%s %s by %s", host, req.URL.Path, who)
				answer(map[string]any{"keys": []any{map[string]any{"keyName": "key1", "permissions": "FULL", "value": azureKey}}})
				return
			}
			account := func(name string) map[string]any {
				return map[string]any{"id": "/subscriptions/s1/resourceGroups/rg/providers/Microsoft.Storage/storageAccounts/" + name, "name": name, "type": "Microsoft.Storage/storageAccounts", "location": "westeurope", "kind": "StorageV2",
					"properties": map[string]any{"primaryEndpoints": map[string]any{"blob": "https://" + name + ".z1.blob.storage.azure.net/"}}}
			}
			if name == "storageAccounts" {
				answer(map[string]any{"value": []any{account("acct"), account("acct2")}})
				return
			}
			answer(account(name))
		case strings.Contains(host, ".blob."):
			q := req.URL.Query()
			if sig := q.Get("sig"); sig != "" {
				who = "signature " + sig
			}
			if req.Method != http.MethodGet && req.Method != http.MethodHead {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.Header().Set("Content-Type", "application/xml")
			if q.Get("comp") == "list" {
				prefix := q.Get("prefix")
				if name, err := url.PathUnescape(prefix); err == nil {
					prefix = name // the prefix of the listed names (see sameWorkspaces)
				}
				s.note("%s %s prefix %s by %s", host, req.URL.EscapedPath(), prefix, who)
				_, _ = io.WriteString(w, `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs></Blobs><NextMarker/></EnumerationResults>`)
				return
			}
			s.note("%s %s by %s", host, req.URL.Path, who)
			w.Header().Set("X-Ms-Error-Code", "BlobNotFound")
			w.WriteHeader(http.StatusNotFound)
			if req.Method == http.MethodGet {
				_, _ = io.WriteString(w, `<?xml version="1.0" encoding="utf-8"?><Error><Code>BlobNotFound</Code><Message>no</Message></Error>`)
			}
		case strings.HasSuffix(req.URL.Path, "/metadata/endpoints"):
			answer(map[string]any{"name": "AzureCloud", "portal": "https://portal." + host, "resourceManager": "https://management." + host, "microsoftGraphResourceId": "https://graph." + host + "/", "graph": "https://graph." + host + "/",
				"authentication": map[string]any{"loginEndpoint": "https://login." + host, "audiences": []string{"https://management." + host + "/"}, "tenant": "common", "identityProvider": "AAD"},
				"suffixes":       map[string]any{"storage": "core." + host, "keyVaultDns": "vault." + host}})
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	return strings.Join(env, "\n")
}

func drawAzure(r *rand.Rand, at string) *setup {
	d := &setup{files: map[string]string{"secret": "of-the-file\n", "id": "c-of-the-file\n", "token": "a-token\n"}}
	d.env = append(d.env, strings.Split(at, "\n")...)
	d.put(r, setting{name: "storage_account_name", values: []string{"acct", "acct2"}, required: true})
	d.put(r, setting{name: "container_name", values: []string{"states", "a-b", "$web"}, required: true})
	d.put(r, setting{name: "key", values: append(slices.Clone(keys), "100%", "a%20b", "a%2fb"), required: true})
	d.put(r, setting{name: "environment", env: "ARM_ENVIRONMENT", values: []string{"public", "usgovernment", "china", "public", "Public", "nowhere"}})
	d.put(r, setting{name: "snapshot", env: "ARM_SNAPSHOT", values: []string{"true", "false"}})
	if r.IntN(8) == 0 {
		d.put(r, setting{name: "metadata_host", env: "ARM_METADATA_HOSTNAME", values: []string{"meta.example"}})
	}
	switch r.IntN(5) {
	case 0, 1:
		d.put(r, setting{name: "access_key", env: "ARM_ACCESS_KEY", values: []string{azureKey, azureKey, "no key"}})
	case 2:
		d.put(r, setting{name: "sas_token", env: "ARM_SAS_TOKEN", values: []string{"?sv=2022-11-02&ss=b&sig=abc%2Fdef%3D", "sv=2022-11-02&ss=b&sig=abc%2Fdef%3D"}})
	}
	if r.IntN(3) > 0 {
		d.put(r, setting{name: "tenant_id", env: "ARM_TENANT_ID", values: []string{"11111111-1111-1111-1111-111111111111"}, required: true})
		d.put(r, setting{name: "subscription_id", env: "ARM_SUBSCRIPTION_ID", values: []string{"s1"}, required: true})
		if r.IntN(3) == 0 {
			d.put(r, setting{name: "client_id_file_path", env: "ARM_CLIENT_ID_FILE_PATH", values: []string{"id", "./id"}, required: true})
		} else {
			d.put(r, setting{name: "client_id", env: "ARM_CLIENT_ID", values: []string{"c1", "c2"}, required: true})
		}
		switch r.IntN(4) {
		case 0:
			d.put(r, setting{name: "client_secret_file_path", env: "ARM_CLIENT_SECRET_FILE_PATH", values: []string{"secret", "./secret", "none"}, required: true})
		case 1:
			d.put(r, setting{name: "use_oidc", env: "ARM_USE_OIDC", values: []string{"true"}, required: true})
			if r.IntN(2) == 0 {
				d.put(r, setting{name: "oidc_token", env: "ARM_OIDC_TOKEN", values: []string{"t1", "t2"}, required: true})
			} else {
				d.put(r, setting{name: "oidc_token_file_path", env: "ARM_OIDC_TOKEN_FILE_PATH", values: []string{"token", "./token"}, required: true})
			}
		default:
			d.put(r, setting{name: "client_secret", env: "ARM_CLIENT_SECRET", values: []string{"s1", "s2"}, required: true})
		}
	}
	d.put(r, setting{name: "resource_group_name", values: []string{"rg", "rg2"}})
	d.put(r, setting{name: "use_azuread_auth", env: "ARM_USE_AZUREAD", values: []string{"true", "false"}})
	d.put(r, setting{name: "use_cli", env: "ARM_USE_CLI", values: []string{"false", "true"}})
	d.put(r, setting{name: "lookup_blob_endpoint", env: "ARM_USE_DNS_ZONE_ENDPOINT", values: []string{"true", "false"}})
	return d
}

// startPgRecorder runs a server that records the user, the database and the options of each connection, and refuses it.
func startPgRecorder(t *testing.T, s *seen) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				head := make([]byte, 8)
				if _, err := io.ReadFull(c, head); err != nil {
					return
				}
				n := int(head[2])<<8 | int(head[3])
				if head[5] == 210 { // a request for TLS
					s.note("tls") // before the answer, after which the program may end
					_, _ = c.Write([]byte("N"))
					return
				}
				body := make([]byte, n-8)
				_, _ = io.ReadFull(c, body)
				words := strings.Split(strings.TrimRight(string(body), "\x00"), "\x00")
				p := map[string]string{}
				for i := 0; i+1 < len(words); i += 2 {
					p[words[i]] = words[i+1]
				}
				s.note("user %s database %s options %s path %s", p["user"], p["database"], p["options"], p["search_path"])
				m := "SFATAL\x00C28000\x00Mnot today\x00\x00"
				_, _ = c.Write(append([]byte{'E', 0, 0, 0, byte(len(m) + 4)}, m...))
			}()
		}
	}()
	return l.Addr().String()
}

func drawPg(r *rand.Rand, at string) *setup {
	d := &setup{}
	host, port, _ := strings.Cut(at, ":")
	var all []string
	for _, user := range []string{"u:p@", "u@", "u:p@ss@", "u:p%40ss@", "u:p=q@", "u%20v:p@"} {
		for _, query := range []string{"sslmode=disable", "sslmode=disable&options=-c search_path=x", "sslmode=disable&options=-c%20search_path%3Dx", "sslmode=disable&application_name=x", "sslmode=disable&binary_parameters=yes", "", "sslmode=disable&fallback_application_name=x", "sslmode=disable&search_path=x", "sslmode=disable&disable_prepared_binary_result=yes"} {
			all = append(all, one(r, "postgres://", "postgresql://")+user+at+"/"+one(r, "db", "d%20b", "db")+"?"+query)
		}
	}
	all = append(all, fmt.Sprintf("host=%s port=%s user=u password=p dbname=db sslmode=disable", host, port), fmt.Sprintf("host=%s port=%s user='a b' password='p q' dbname=db sslmode=disable", host, port))
	if r.IntN(8) == 0 { // without a host
		all = []string{"postgres://u:p@/db?sslmode=disable", "postgres://u:p@:" + port + "/db?sslmode=disable", "user=u password=p dbname=db sslmode=disable", "postgres:///db?sslmode=disable"}
		d.env = append(d.env, "PGPORT="+port)
	}
	d.put(r, setting{name: "conn_str", env: "PG_CONN_STR", values: all, required: true})
	if r.IntN(3) == 0 {
		d.env = append(d.env, "PGUSER=envuser", "PGDATABASE=envdb")
	}
	d.put(r, setting{name: "schema_name", env: "PG_SCHEMA_NAME", values: []string{"s", "with space"}})
	d.put(r, setting{name: "skip_schema_creation", env: "PG_SKIP_SCHEMA_CREATION", values: []string{"true", "false"}})
	return d
}

// sameWorkspaces reports whether the workspaces that two programs list are the same, except for the differences of
// docs/differences.md: Terraform lists no workspaces for http. It does not list workspaces below a key of s3 or a
// prefix of gcs with empty parts, "." or "..".
func sameWorkspaces(kind, theirs, own string) bool {
	switch kind {
	case "http":
		return theirs == own || theirs == "none"
	case "s3":
		for _, name := range strings.Fields(theirs) {
			if !slices.Contains(strings.Fields(own), name) {
				return false
			}
		}
		return true
	}
	return theirs == own
}
