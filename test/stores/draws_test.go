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

// setup is one way to configure a backend: settings in a block, as -backend-config arguments and in the environment.
type setup struct {
	block, args, env []string
	files            map[string]string // in the working directory; HOME is its directory "home"
}

// setting is a setting that a setup may place anywhere. A value is HCL in the block, and text (or an expression) on the
// command line.
type setting struct {
	name     string
	env      string // a variable that sets it; "" for none
	values   []string
	required bool
	raw      bool // the values are expressions, not text
}

func one[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// put places a setting in one of the places where it may stand, or in two of them.
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
	case 4: // empty in the block, or on the command line, and set in the environment
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
		d.block = append(d.block, in(one(r, s.values...)))
		d.args = append(d.args, s.name+"="+v)
	}
}

func (d *setup) String() string {
	return fmt.Sprintf("block:\n  %s\narguments: %q\nenvironment: %q\nfiles: %v", strings.Join(d.block, "\n  "), d.args, d.env, d.files)
}

// seen are the requests to a service, as far as they decide which state is found.
type seen struct {
	mu   sync.Mutex
	what map[string]bool
}

func (s *seen) note(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what[fmt.Sprintf(format, a...)] = true
}

func (s *seen) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Sorted(maps.Keys(s.what))
	s.what = map[string]bool{}
	return out
}

// keys are names of objects as users and wrappers write them.
var keys = []string{"k", "net/terraform.tfstate", "./terraform.tfstate", "a/./b", "a//b", "a/../b", "../b", "ü/ñ", "with space/k", "/k", "k/", "a/b/../c", "~/k", "%2e/k", "a+b", "é"}

// A kind of store that draws are made for.
type drawer struct {
	name   string
	stored bool // the service keeps states, so that one can look for what the other wrote
	start  func(t *testing.T, s *seen) string
	make   func(r *rand.Rand, at string) *setup
}

var drawers = []drawer{
	{"local", true, func(*testing.T, *seen) string { return "" }, drawLocal},
	{"http", true, startHTTPRecorder, drawHTTP},
	{"s3", true, startS3Recorder, drawS3},
	{"consul", false, startRecorder(consulFacts), drawConsul},
	{"kubernetes", false, startRecorder(kubeFacts), drawKube},
	{"gcs", false, startRecorder(gcsFacts), drawGCS},
	{"pg", false, startPgRecorder, drawPg},
}

// TestDraws configures backends at random, and compares with Terraform: exit codes, which place is asked with which
// credentials, and whether the state that Terraform wrote is found. azurerm is not there: its service must be reached under
// names of its own and with TLS. LETHE_LONG draws 2,000 for each store, LETHE_DRAWS another number; LETHE_DRAW=STORE:SEED repeats one.
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

// outcome is what a program made of a setup.
type outcome struct {
	init, plan int
	asked      []string
	workspaces string
	text       string
}

func compareDraw(t *testing.T, kind drawer, seed int, at string, s *seen, terraform, ours string) {
	r := rand.New(rand.NewPCG(uint64(seed), 36))
	d := kind.make(r, at)
	workspace := one(r, "default", "default", "prod", "a.b")
	shared := t.TempDir() // of local states, which the programs share
	theirs := runDraw(t, kind, d, workspace, shared, terraform, s, kind.stored)
	own := runDraw(t, kind, d, workspace, shared, ours, s, false)
	found := theirs.plan == own.plan && sameWorkspaces(kind.name, theirs.workspaces, own.workspaces)
	same := (theirs.init == 0) == (own.init == 0) && (theirs.init != 0 || found)
	if !kind.stored { // Terraform wants to create the workspace, and the service keeps nothing
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

func runDraw(t *testing.T, kind drawer, d *setup, workspace, shared, program string, s *seen, writes bool) (o outcome) {
	dir := filepath.Join(t.TempDir(), "dir")
	for name, text := range d.files {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	check(t, os.MkdirAll(filepath.Join(dir, "home"), 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(fmt.Sprintf("terraform {\n  backend %q {\n    %s\n  }\n}\noutput \"o\" {\n  value = 1\n}\n", kind.name, strings.ReplaceAll(strings.Join(d.block, "\n    "), "SHARED", shared))), 0o600))
	// Nothing is to reach a real service.
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
	if kind.stored { // the other program wrote meanwhile: which state is found is what counts
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
	d.put(r, setting{name: "skip_cert_verification", env: "TF_HTTP_SKIP_CERT_VERIFICATION", values: []string{"true", "false", "true", "false", "x"}})
	return d
}

func startS3Recorder(t *testing.T, _ *seen) string {
	// Each access key has an account of its own.
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

// startRecorder serves an empty service, and notes what facts say of requests.
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
	d.put(r, setting{name: "access_token", env: "CONSUL_HTTP_TOKEN", values: []string{"t1", "t2"}})
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
	if !api { // Terraform reads objects under the other form of their addresses, too
		w.WriteHeader(http.StatusNotFound)
		return
	}
	bucket, object, _ := strings.Cut(bucket, "/o")
	object, _ = url.PathUnescape(strings.TrimPrefix(object, "/"))
	if object == "" {
		object = "prefix " + strings.TrimPrefix(path.Clean("/"+req.URL.Query().Get("prefix")), "/") // see sameWorkspaces
	}
	if req.Method != http.MethodGet { // the name of an object that is written stands in the body
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.note("%s %s by %s key %s", bucket, object, req.Header.Get("Authorization"), req.Header.Get("X-Goog-Encryption-Key"))
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
	return d
}

// startPgRecorder notes who asks for what, and refuses.
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
				if head[5] == 210 { // it asks for TLS
					_, _ = c.Write([]byte("N"))
					s.note("tls")
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
		for _, query := range []string{"sslmode=disable", "sslmode=disable&options=-c search_path=x", "sslmode=disable&options=-c%20search_path%3Dx", "sslmode=disable&application_name=x", "sslmode=disable&binary_parameters=yes", "", "sslmode=disable&fallback_application_name=x", "sslmode=disable&search_path=x"} {
			all = append(all, one(r, "postgres://", "postgresql://")+user+at+"/"+one(r, "db", "d%20b", "db")+"?"+query)
		}
	}
	all = append(all, fmt.Sprintf("host=%s port=%s user=u password=p dbname=db sslmode=disable", host, port), fmt.Sprintf("host=%s port=%s user='a b' password='p q' dbname=db sslmode=disable", host, port))
	d.put(r, setting{name: "conn_str", env: "PG_CONN_STR", values: all, required: true})
	if r.IntN(3) == 0 {
		d.env = append(d.env, "PGUSER=envuser", "PGDATABASE=envdb")
	}
	d.put(r, setting{name: "schema_name", env: "PG_SCHEMA_NAME", values: []string{"s", "with space"}})
	d.put(r, setting{name: "skip_schema_creation", env: "PG_SKIP_SCHEMA_CREATION", values: []string{"true", "false"}})
	return d
}

// sameWorkspaces compares the workspaces that two programs list, apart from what docs/differences.md has: Terraform lists none
// for http, and none of those that it made below a key of s3 or a prefix of gcs that has empty parts, "." or ".." in it.
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
