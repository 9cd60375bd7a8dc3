package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

var ctx = context.Background()

// bench is a working directory for tests. configure replaces its configuration.
type bench struct {
	*testing.T
	*Directory
	env  map[string]string
	root *config.Module
}

func newBench(t *testing.T) *bench {
	dir := t.TempDir()
	b := &bench{T: t, env: map[string]string{}}
	b.Directory = New(Options{
		Env: &workspace.Env{
			FS: disk.OS, Now: time.Now, Dir: dir, Data: filepath.Join(dir, ".terraform"), Version: "1.12.0", Bag: &diag.Bag{},
			Getenv: func(name string) string { return b.env[name] },
		},
		Sources: &diag.Sources{},
		Root:    func() *config.Module { return b.root },
		Static: func(root *config.Module) *frame.StaticFrame {
			return frame.Static(root, nil, frame.Options{BaseDir: dir})
		},
		Display: func(path string) string { return strings.TrimPrefix(path, dir+"/") },
	})
	b.configure("")
	return b
}

// configure writes a main.tf whose terraform block contains text, and loads it.
func (b *bench) configure(text string) {
	b.write("main.tf", "terraform {\n"+text+"\n}\n")
	root, ok := config.Load(b.Env.Dir, config.Options{}, b.o.Sources, b.Env.Bag)
	if !ok {
		b.Fatal(b.Env.Bag.List())
	}
	b.root = root
}

func (b *bench) write(name, text string) {
	b.Helper()
	path := filepath.Join(b.Env.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) exists(name string) bool {
	_, err := os.Stat(filepath.Join(b.Env.Dir, name))
	return err == nil
}

// reported compares the titles of the diagnostics since the last call with the given titles, and returns the detail of
// the last diagnostic.
func (b *bench) reported(titles ...string) (detail string) {
	b.Helper()
	var got []string
	for _, d := range b.Env.Bag.List() {
		got, detail = append(got, d.Summary), d.Detail
	}
	if strings.Join(got, "\n") != strings.Join(titles, "\n") {
		b.Errorf("said %q, want %q: %v", got, titles, b.Env.Bag.List())
	}
	b.Env.Bag.Clear()
	return detail
}

// save writes a state with one object and one output into the store in use.
func (b *bench) save() {
	b.Helper()
	o, ok := b.Open(ctx, Files{})
	if !ok {
		b.Fatal(b.Env.Bag.List())
	}
	s, ok := workspace.Lock(ctx, b.Env, workspace.Request{Store: o.Store, Name: b.Env.Selected(), Written: o.Written})
	if !ok {
		b.Fatal(b.Env.Bag.List())
	}
	defer s.Unlock()
	i, err := addr.ParseInstance("a.x")
	if err != nil {
		b.Fatal(err)
	}
	e := s.Snapshot().Edit()
	e.Head().Lineage = "of " + b.Env.Dir
	e.Head().Outputs["o"] = state.Output{Value: mark.Plain(cty.StringVal("v")), Type: cty.String}
	e.Put(i.Current(), &state.Entry{Attrs: []byte(`{}`), Provider: addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("a")}}})
	if !s.Save(e.Done()) {
		b.Fatal(b.Env.Bag.List())
	}
}

func (b *bench) opens() bool {
	_, ok := b.Open(ctx, Files{})
	return ok
}

const initNeeded = `Backend initialization required, please run "lethe init"`
const initAgainNeeded = `Backend initialization required: please run "lethe init"`

// TestRememberedByUse checks that the first write records the location of the state, without init. If the block changes
// later, Open fails, and its message names both locations.
func TestRememberedByUse(t *testing.T) {
	b := newBench(t)
	b.configure(`backend "local" { path = "one/s" }`)
	if !b.opens() || b.exists(".terraform") {
		t.Error("it does not open, or something is remembered although nothing was written")
	}
	b.save()
	if !b.opens() || !b.exists("one/s") || !b.exists(".terraform/terraform.tfstate") {
		t.Error("not remembered")
	}
	b.configure(`backend "local" { path = "two/s" }`)
	if b.opens() {
		t.Error("a changed block is not noticed")
	}
	if d := b.reported(initAgainNeeded); !strings.Contains(d, "one/s, but the configuration now names two/s") {
		t.Error(d)
	}
	b.configure("")
	if b.opens() {
		t.Error("a block that is gone is not noticed")
	}
	b.reported(initAgainNeeded)
}

// TestStateLeftBehind checks that Open fails if a backend block is added to a directory that has a state, and the new
// backend has none.
func TestStateLeftBehind(t *testing.T) {
	b := newBench(t)
	b.save()
	b.configure(`backend "local" { path = "one/s" }`)
	if b.opens() {
		t.Error("it works in an empty place")
	}
	if d := b.reported(initNeeded); !strings.Contains(d, "one/s, has no state") || !strings.Contains(d, "previous backend, terraform.tfstate, has") {
		t.Error(d)
	}
	if _, ok := b.Open(ctx, Files{In: filepath.Join(b.Env.Dir, "terraform.tfstate")}); !ok {
		t.Error("a file that is named is not opened")
	}
	b.reported()
}

func TestInitMigrates(t *testing.T) {
	b := newBench(t)
	b.save()
	b.configure(`backend "local" { path = "one/s" }`)
	asked := 0
	req := InitRequest{Lock: workspace.Request{Lock: true}, Copies: func(from, to string) (bool, bool) { asked++; return asked > 1, asked > 1 }}
	if _, ok := b.Init(ctx, req); ok || asked != 1 {
		t.Error("nothing was answered, and yet it goes on")
	}
	if configured, ok := b.Init(ctx, req); !ok || configured != "local" || asked != 2 || !b.exists("one/s") || b.exists("terraform.tfstate") {
		t.Fatalf("%q, %t: %v", configured, ok, b.Env.Bag.List())
	}
	if configured, ok := b.Init(ctx, req); !ok || configured != "" {
		t.Errorf("again: %q, %t", configured, ok)
	}
	b.configure(`backend "local" { path = "two/s" }`)
	if _, ok := b.Init(ctx, req); ok {
		t.Error("migrated without being asked to")
	}
	b.reported("Backend configuration changed")
	req.ForceCopy = true
	if _, ok := b.Init(ctx, req); !ok || !b.exists("two/s") || !b.exists("one/s") || asked != 2 {
		t.Error(b.Env.Bag.List())
	}
	req.ForceCopy, req.Reconfigure = false, true
	b.configure(`backend "local" { path = "three/s" }`)
	if _, ok := b.Init(ctx, req); !ok || b.exists("three/s") || !b.opens() {
		t.Error(b.Env.Bag.List())
	}
}

// TestInitKeepsOther checks that init does not overwrite a state in the new backend whose lineage differs from the old
// state's.
func TestInitKeepsOther(t *testing.T) {
	b := newBench(t)
	b.save()
	b.write("one/s", `{"version":4,"terraform_version":"1.9.0","serial":9,"lineage":"other","outputs":{"x":{"value":1,"type":"number"}},"resources":[{"mode":"managed","type":"b","name":"y","provider":"provider[\"registry.opentofu.org/hashicorp/b\"]","instances":[{"attributes":{}}]}]}`)
	b.configure(`backend "local" { path = "one/s" }`)
	yes := func(string, string) (bool, bool) { return true, true }
	if _, ok := b.Init(ctx, InitRequest{Lock: workspace.Request{Lock: true}, Copies: yes}); ok {
		t.Error("overwritten")
	}
	b.reported("The new backend has a state already")
	b.write("one/s", "") // terraform init leaves an empty file after it has moved a state
	if _, ok := b.Init(ctx, InitRequest{Lock: workspace.Request{Lock: true}, Copies: yes}); !ok {
		t.Error(b.Env.Bag.List())
	}
}

func TestOverrides(t *testing.T) {
	b := newBench(t)
	b.configure(`backend "local" {}`)
	b.write("x.tfbackend", "path = \"one/s\"\n")
	for _, tt := range []struct{ override, wantTitle string }{
		{"nothing=1", "Invalid backend configuration argument"}, {"missing", "Failed to read backend configuration"}, {"main.tf", "Unsupported block type"},
	} {
		if _, ok := b.Init(ctx, InitRequest{Overrides: []string{tt.override}}); ok {
			t.Errorf("%s is taken", tt.override)
		}
		if got := b.Env.Bag.List()[0].Summary; got != tt.wantTitle && tt.override != "main.tf" {
			t.Errorf("%s: %s", tt.override, got)
		}
		b.Env.Bag.Clear()
	}
	if _, ok := b.Init(ctx, InitRequest{Overrides: []string{"x.tfbackend", "workspace_dir=w"}}); !ok {
		t.Fatal(b.Env.Bag.List())
	}
	b.save()
	if _, ok := b.Init(ctx, InitRequest{}); !ok || !b.exists("one/s") { // without overrides, init uses the recorded settings
		t.Error(b.Env.Bag.List())
	}
	b.save()
	b.reported()
	b.configure("")
	b.Init(ctx, InitRequest{Overrides: []string{"path=x"}, Reconfigure: true})
	b.reported("Missing backend configuration")
}

// TestOverrideForms checks the forms of -backend-config. The text after NAME= is an expression, except for settings of
// type string, number and bool. A file may contain the nested blocks of the backend. The expected values are the
// results of Terraform 1.11.4.
func TestOverrideForms(t *testing.T) {
	b := newBench(t)
	b.write("exec.hcl", "namespace = \"n\"\nexec {\n  api_version = \"client.authentication.k8s.io/v1\"\n  command     = \"c\"\n}\n")
	b.write("exec.json", `{"exec": {"api_version": "client.authentication.k8s.io/v1", "command": "c"}}`)
	b.write("workspaces.hcl", "organization = \"o\"\nworkspaces {\n  name = \"w\"\n}\n")
	b.write("twice.hcl", "workspaces {\n  name = \"w\"\n}\nworkspaces {\n  name = \"w\"\n}\n")
	b.write("var.hcl", "workspaces {\n  name = var.x\n}\n")
	b.write("other.hcl", "other {}\n")
	for _, tt := range []struct{ backend, override, setting, value, wantTitle string }{
		{"s3", `endpoints={s3="http://x:1"}`, "endpoints", `"s3":"http://x:1"`, ""},
		{"s3", `endpoints = {s3="http://x:1"}`, "", "", "Invalid backend configuration argument"},
		{"s3", `endpoints=null`, "endpoints", `null`, ""},
		{"s3", `endpoints=`, "", "", "Missing expression"},
		{"s3", `endpoints={s3=`, "", "", "Missing expression"},
		{"s3", `endpoints={s3=var.x}`, "", "", "Variables not allowed"},
		{"s3", `endpoints={s3=upper("x")}`, "", "", "Function calls not allowed"},
		{"s3", `endpoints="canary-17"`, "", "", badBackend},
		{"s3", `allowed_account_ids=["1", 2]`, "allowed_account_ids", `["1","2"]`, ""},
		{"s3", `shared_config_files=["a"]`, "shared_config_files", `["a"]`, ""},
		{"s3", `assume_role={role_arn="r", tags={a="b"}}`, "assume_role", `"tags":{"a":"b"}`, ""},
		{"s3", `assume_role="canary-17"`, "", "", badBackend},
		{"s3", `use_path_style=true`, "use_path_style", `true`, ""},
		{"s3", `max_retries=3`, "max_retries", `3`, ""},
		{"s3", `max_retries=`, "", "", badBackend},
		{"s3", `bucket=null`, "bucket", `"null"`, ""},
		{"s3", `bucket=`, "bucket", `""`, ""},
		{"s3", `bucket="q"`, "bucket", `"\"q\""`, ""},
		{"http", `headers={Authorization="canary-17"}`, "headers", `{"Authorization":"canary-17"}`, ""},
		{"http", `headers={Authorization="canary-17`, "", "", "Unterminated template string"},
		{"http", `headers=["canary-17"]`, "", "", badBackend},
		{"kubernetes", `labels={a="b"}`, "labels", `{"a":"b"}`, ""},
		{"kubernetes", `config_paths=["a","b"]`, "config_paths", `["a","b"]`, ""},
		{"kubernetes", `exec={command="c"}`, "", "", "Invalid backend configuration argument"},
		{"kubernetes", "exec.hcl", "exec", `"command":"c"`, ""},
		{"kubernetes", "exec.json", "exec", `"command":"c"`, ""},
		{"kubernetes", "other.hcl", "", "", `Unexpected "other" block`},
		{"remote", "workspaces.hcl", "workspaces", `"name":"w"`, ""},
		{"remote", "twice.hcl", "", "", badBackend},
		{"remote", "var.hcl", "", "", "Variables not allowed"},
		{"local", "", "path", `"block"`, ""},
	} {
		block := fmt.Sprintf("backend %q {}", tt.backend)
		if tt.backend == "local" {
			block = `backend "local" { path = "block" }`
		}
		b.configure(block)
		declared, ok := b.declared.settings()
		if !ok {
			t.Fatal(b.Env.Bag.List())
		}
		s, ok := b.declared.overridden(declared, []string{tt.override})
		if !ok {
			if problems := b.Env.Bag.List(); len(problems) != 1 || problems[0].Summary != tt.wantTitle || strings.Contains(problems[0].Detail, "canary-17") {
				t.Errorf("%s: %v", tt.override, problems)
			}
			b.Env.Bag.Clear()
			continue
		}
		if tt.wantTitle != "" {
			t.Errorf("%s is accepted", tt.override)
			continue
		}
		if got := string(s.encode(map[string]cty.Value{tt.setting: s.config.GetAttr(tt.setting)})); !strings.Contains(got, tt.value) && (got != "{}" || tt.value != "null") {
			t.Errorf("%s: %s, want %s", tt.override, got, tt.value)
		}
	}
	b.configure(`backend "local" { path = "block" }`)
	if _, ok := b.Init(ctx, InitRequest{Overrides: []string{"path=x", ""}}); ok {
		t.Error("an empty -backend-config beside another is accepted")
	}
	b.reported("Failed to read backend configuration")
	for _, tt := range []struct{ override, path string }{{"path=x", "x"}, {"", "block"}} {
		if _, ok := b.Init(ctx, InitRequest{Overrides: []string{tt.override}, Reconfigure: true}); !ok {
			t.Fatal(b.Env.Bag.List())
		}
		if s, _, _ := b.current(); s.config.GetAttr("path").AsString() != tt.path {
			t.Errorf("after %q the path is %#v", tt.override, s.config.GetAttr("path"))
		}
	}
}

// TestNoPasswordInMessages checks that no message about an unusable address contains a part of the password in it, for
// many malformed passwords.
func TestNoPasswordInMessages(t *testing.T) {
	const canary = "canary7q"
	b := newBench(t)
	for _, password := range []string{"X", "X/x", "X#x", "X?x", "%zzX", "X%zz", "X x", "a@X", "x:X", "[X", "x X", "X]"} {
		at := "127.0.0.1:1/s?token=" + canary
		userinfo := "u:" + strings.ReplaceAll(password, "X", canary) + "@"
		for _, block := range []string{
			`backend "http" { address = "http://%s" }`,
			`backend "http" { address = "%s" }`,
			`backend "http" {
				address      = "http://127.0.0.1:1/"
				lock_address = "http://%s"
			}`,
			`backend "pg" { conn_str = "postgres://%s" }`,
			`backend "pg" { conn_str = "%s" }`,
			`backend "pg" { conn_str = "host=127.0.0.1 port=1 password=%s" }`,
			`backend "consul" {
				address = "http://%s"
				path    = "p"
			}`,
			`backend "kubernetes" {
				host          = "http://%s"
				secret_suffix = "s"
			}`,
			`backend "gcs" {
				bucket                  = "b"
				access_token            = "t"
				storage_custom_endpoint = "http://%s"
			}`,
			`backend "s3" {
				bucket      = "b"
				key         = "k"
				region      = "us-east-1"
				access_key  = "a"
				secret_key  = "s"
				max_retries = 0
				endpoints   = { s3 = "http://%s" }
			}`,
		} {
			b.configure(strings.ReplaceAll(block, "%s", userinfo+at))
			declared, ok := b.declared.settings()
			if !ok {
				t.Fatal(b.Env.Bag.List())
			}
			st, ok := b.opener.unencrypted(ctx, declared)
			if ok {
				stop, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				if _, _, err := st.Get(stop, store.Default); err != nil {
					b.Env.Bag.Add(diag.Errorf("x", "%s", err))
				}
				cancel()
			}
			for _, d := range b.Env.Bag.List() {
				// Directory.Secret registers whole secret settings, and the screen prints these as stars. Nothing masks
				// a part of a setting, so no detail may contain a part of the password.
				if strings.Contains(d.Detail, canary) {
					t.Errorf("%s: %s", declared.driver.Name, d.Detail)
				}
			}
			b.Env.Bag.Clear()
		}
	}
}

// TestRememberedByPeer checks a backend that terraform init has recorded. The file has no fingerprint of Lethe.
func TestRememberedByPeer(t *testing.T) {
	b := newBench(t)
	b.configure(`backend "local" { path = "one/s" }`)
	b.write(".terraform/terraform.tfstate", `{"version":3,"terraform_version":"1.11.4","backend":{"type":"local","config":{"path":"one/s","workspace_dir":"w"},"hash":1}}`)
	if !b.opens() {
		t.Error(b.Env.Bag.List())
	}
	b.configure(`backend "local" { path = "two/s" }`)
	if b.opens() {
		t.Error("a changed block is not noticed")
	}
	b.reported(initAgainNeeded)
	for _, text := range []string{`{`, `{"version":3,"backend":{"type":"local","config":{"path":[]}}}`} {
		b.write(".terraform/terraform.tfstate", text)
		if b.opens() {
			t.Error("it opens")
		}
		b.reported("Failed to read the remembered backend")
	}
}

// TestNotStorable checks that Open fails for an unknown backend, an incomplete cloud block and an invalid encryption
// configuration. It must not write the state unencrypted or to another place.
func TestNotStorable(t *testing.T) {
	b := newBench(t)
	b.o.WithoutInit = true
	for text, title := range map[string]string{
		`backend "nowhere" {}`: "Unsupported backend type", `backend "cloud" {}`: "Unsupported backend type", "cloud {\n organization = \"o\"\n }": "Invalid backend configuration", "encryption {\n state {}\n }": badEncryption,
	} {
		b.configure(text)
		if b.opens() {
			t.Errorf("%s opens", text)
		}
		b.reported(title)
	}
	b = newBench(t)
	b.env["TF_ENCRYPTION"] = "x"
	if b.opens() {
		t.Error("it opens")
	}
	b.reported("Argument or block definition required")
}

// TestRefused checks the advice in the message about a backend that Terraform or OpenTofu has, had or has renamed, and
// about a misspelt backend.
func TestRefused(t *testing.T) {
	b := newBench(t)
	for name, text := range map[string]string{
		"cos": "Lethe does not support the backend", "oss": "run \"init -migrate-state\" with Terraform or OpenTofu", "oci": "configure one of the backends below",
		"artifactory": "Terraform removed it in version 1.3", "etcd": "terraform init -migrate-state", "etcdv3": "Terraform removed it", "manta": "Terraform removed it", "swift": "Terraform removed it",
		"azure": "named \"azurerm\" now", "consl": "Did you mean \"consul\"?",
	} {
		b.configure("backend \"" + name + "\" {}")
		if b.opens() {
			t.Errorf("%s opens", name)
		}
		if d := b.reported("Unsupported backend type"); !strings.Contains(d, text) || !strings.Contains(d, "Available are: azurerm, consul") {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestInitReadsBack checks that init reads the copied state back. If the new backend returns a different state, init
// keeps the old one.
func TestInitReadsBack(t *testing.T) {
	b := newBench(t)
	b.save()
	var kept []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			kept, _ = io.ReadAll(r.Body)
			kept = bytes.Replace(kept, []byte(`"value": "v"`), []byte(`"value": "w"`), 1)
		case kept == nil:
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = w.Write(kept)
		}
	}))
	t.Cleanup(server.Close)
	b.configure(fmt.Sprintf("backend \"http\" {\n address = %q\n}", server.URL))
	if _, ok := b.Init(ctx, InitRequest{ForceCopy: true, Lock: workspace.Request{Lock: true}}); ok || len(kept) == 0 {
		t.Error("it is moved")
	}
	b.reported("Copied state differs")
	if !b.exists("terraform.tfstate") || b.exists(".terraform/terraform.tfstate") {
		t.Error("the former state is gone, or the new backend is in use")
	}
}

// TestInitReadsNothingBack checks that init keeps the old backend if the new one drops the copied state.
func TestInitReadsNothingBack(t *testing.T) {
	b := newBench(t)
	b.save()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	b.configure(fmt.Sprintf("backend \"http\" {\n address = %q\n}", server.URL))
	if _, ok := b.Init(ctx, InitRequest{ForceCopy: true, Lock: workspace.Request{Lock: true}}); ok || !b.exists("terraform.tfstate") || b.exists(".terraform/terraform.tfstate") {
		t.Error("it is moved")
	}
	b.reported("Copied state differs")
}

// TestInitInterrupted checks the message of init if an interrupt comes while a state is copied. The next init completes
// the migration.
func TestInitInterrupted(t *testing.T) {
	b := newBench(t)
	b.save()
	interrupted, interrupt := context.WithCancel(ctx)
	kept := &storetest.HTTP{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			interrupt()
		}
		kept.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b.configure(fmt.Sprintf("backend \"http\" {\n address = %q\n}", server.URL))
	req := InitRequest{ForceCopy: true, Lock: workspace.Request{Lock: true}}
	if _, ok := b.Init(interrupted, req); ok || !b.exists("terraform.tfstate") {
		t.Error("it is moved")
	}
	b.reported("Failed to load state")
	if _, ok := b.Init(ctx, req); !ok || b.exists("terraform.tfstate") {
		t.Error(b.Env.Bag.List())
	}
}

func TestOutputs(t *testing.T) {
	b := newBench(t)
	b.save()
	config := func(text string) cty.Value {
		var m map[string]string
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		v := map[string]cty.Value{}
		for name, s := range m {
			v[name] = cty.StringVal(s)
		}
		return cty.ObjectVal(v)
	}
	outs, ds := b.Outputs(ctx, "", "local", store.Default, config(`{"path": "terraform.tfstate"}`))
	if _, ok := outs["o"]; !ok || len(ds) > 0 {
		t.Errorf("%v, %v", outs, ds)
	}
	for _, tt := range []struct{ backend, config, wantTitle string }{
		{"nowhere", `{}`, "Invalid backend configuration"}, {"local", `{"x": "y"}`, "Invalid backend configuration"}, {"local", `{"path": "none"}`, "Unable to find remote state"},
	} {
		if _, ds := b.Outputs(ctx, "", tt.backend, store.Default, config(tt.config)); len(ds) != 1 || ds[0].Summary != tt.wantTitle {
			t.Errorf("%s %s: %v", tt.backend, tt.config, ds)
		}
	}
}

// TestInitKeepsNewer checks that init does not overwrite a state of the same lineage with other contents, whether its
// serial is equal or higher. With -force-copy, init overwrites it and writes a higher serial.
func TestInitKeepsNewer(t *testing.T) {
	for _, serial := range []int{1, 2} {
		b := newBench(t)
		b.save()
		existing := fmt.Sprintf(`{"version":4,"terraform_version":"1.9.0","serial":%d,"lineage":%q,"outputs":{"x":{"value":1,"type":"number"}},"resources":[]}`, serial, "of "+b.Env.Dir)
		b.write("one/s", existing)
		b.configure(`backend "local" { path = "one/s" }`)
		req := InitRequest{Lock: workspace.Request{Lock: true}, Copies: func(string, string) (bool, bool) { return true, true }}
		if _, ok := b.Init(ctx, req); ok || !b.exists("terraform.tfstate") {
			t.Error("overwritten")
		}
		b.reported("The new backend has a state already")
		req.ForceCopy = true
		if _, ok := b.Init(ctx, req); !ok {
			t.Error(b.Env.Bag.List())
		}
		o, _ := b.Open(ctx, Files{})
		if s, ok := workspace.Read(ctx, b.Env, o.Store, store.Default); !ok || s.Serial != uint64(serial)+1 || s.Len() != 1 {
			t.Errorf("serial %d: %v", serial, b.Env.Bag.List())
		}
	}
}

// TestInitHalfWay checks that all workspaces stay in the old backend if one of them cannot be moved.
func TestInitHalfWay(t *testing.T) {
	b := newBench(t)
	b.save()
	if err := b.Env.Select("w"); err != nil {
		t.Fatal(err)
	}
	b.save()
	b.write("else/w/terraform.tfstate", `{"version":4,"terraform_version":"1.9.0","serial":9,"lineage":"other","outputs":{"x":{"value":1,"type":"number"}},"resources":[]}`)
	b.configure("backend \"local\" {\npath = \"one/s\"\nworkspace_dir = \"else\"\n}")
	req := InitRequest{Lock: workspace.Request{Lock: true}, Copies: func(string, string) (bool, bool) { return true, true }}
	if _, ok := b.Init(ctx, req); ok || !b.exists("terraform.tfstate") || !b.exists("one/s") {
		t.Error("not as it was")
	}
	b.reported("The new backend has a state already")
	req.ForceCopy = true
	if _, ok := b.Init(ctx, req); !ok || b.exists("terraform.tfstate") || !b.exists("terraform.tfstate.backup") {
		t.Error(b.Env.Bag.List())
	}
}

// TestInitSamePlace checks that init copies nothing if the changed settings do not move the state. Both blocks then
// name one lock. The journal of a killed run is recovered first.
func TestInitSamePlace(t *testing.T) {
	for _, killed := range []bool{false, true} {
		b, server := newBench(t), &storetest.HTTP{}
		at := httptest.NewServer(server)
		t.Cleanup(at.Close)
		block := fmt.Sprintf("address = %q\nlock_address = %[1]q\nunlock_address = %[1]q", at.URL)
		req := InitRequest{Lock: workspace.Request{Lock: true}, Migrate: true, Copies: func(string, string) (bool, bool) {
			t.Error("the user is asked")
			return false, true
		}}
		b.configure("backend \"http\" {\n" + block + "\n}")
		if _, ok := b.Init(ctx, req); !ok {
			t.Fatal(b.Env.Bag.List())
		}
		b.save()
		want := uint64(1)
		if killed {
			b.leaveJournal()
			want = 2
		}
		b.configure("backend \"http\" {\n" + block + "\nretry_max = 3\n}")
		before := len(server.Requests())
		if _, ok := b.Init(ctx, req); !ok {
			t.Fatal(b.Env.Bag.List())
		}
		if asked := server.Requests()[before:]; slices.Contains(asked, http.MethodPost) != killed {
			t.Errorf("killed run: %t: requests %q", killed, asked)
		}
		o, ok := b.Open(ctx, Files{})
		if !ok {
			t.Fatal(b.Env.Bag.List())
		}
		if s, ok := workspace.Read(ctx, b.Env, o.Store, store.Default); !ok || s.Serial != want || s.Len() != int(want) {
			t.Errorf("killed run: %t: serial %d, %d objects: %v", killed, s.Serial, s.Len(), b.Env.Bag.List())
		}
	}
}

// TestInitNamesJournalsOfAnotherPlace checks that init -reconfigure names the journal of a killed run that used another
// backend: no later command there replays it.
func TestInitNamesJournalsOfAnotherPlace(t *testing.T) {
	b := newBench(t)
	at := httptest.NewServer(&storetest.HTTP{})
	t.Cleanup(at.Close)
	use := func(path string, titles ...string) string {
		t.Helper()
		b.configure(fmt.Sprintf("backend \"http\" { address = %q }", at.URL+path))
		if _, ok := b.Init(ctx, InitRequest{Reconfigure: true, Lock: workspace.Request{Lock: true}}); !ok {
			t.Fatal(b.Env.Bag.List())
		}
		return b.reported(titles...)
	}
	use("/a")
	b.save()
	b.leaveJournal()
	o, ok := b.Open(ctx, Files{})
	if !ok {
		t.Fatal(b.Env.Bag.List())
	}
	place := string(store.Digest([]byte(o.Capabilities().Place.Place(store.Default))))[:16]
	if err := os.Rename(filepath.Join(b.Env.Data, "default.journal"), filepath.Join(b.Env.Data, "default."+place+".journal")); err != nil {
		t.Fatal(err)
	}
	if d := use("/b", "Journal of another state"); !strings.Contains(d, ".terraform/default.") {
		t.Error(d)
	}
	use("/a")
}

// leaveJournal leaves the journal of a run that created an object and was killed.
func (b *bench) leaveJournal() {
	b.Helper()
	o, ok := b.Open(ctx, Files{})
	if !ok {
		b.Fatal(b.Env.Bag.List())
	}
	s, ok := workspace.Read(ctx, b.Env, o.Store, store.Default)
	if !ok {
		b.Fatal(b.Env.Bag.List())
	}
	w, err := journal.Create(journal.Path(filepath.Join(b.Env.Data, store.Default)), journal.About(s, s.Lineage, "killed", "1.12.0"), journal.Options{FS: disk.OS, Now: time.Now})
	if err != nil {
		b.Fatal(err)
	}
	i, err := addr.ParseInstance("a.y")
	if err != nil {
		b.Fatal(err)
	}
	entry := &state.Entry{Attrs: []byte(`{}`), Provider: addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("a")}}}
	op, err := w.Intent(journal.Intent{Object: i.Current()})
	if err != nil {
		b.Fatal(err)
	}
	w.Later(func(err error) {
		if err != nil {
			b.Error(err)
		}
	}, op, journal.Change{Object: i.Current(), Entry: entry})
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
}

// TestInitReplacesUnreadableRecord checks that init -reconfigure succeeds without an error if the record of an earlier
// init cannot be read. The message about such a record recommends it.
func TestInitReplacesUnreadableRecord(t *testing.T) {
	for _, file := range []string{"terraform.tfstate", "lethe.backend.json"} {
		b := newBench(t)
		b.configure(`backend "local" { path = "one/s" }`)
		b.save()
		b.write(".terraform/"+file, `{"version":3,`)
		if b.opens() {
			t.Errorf("%s: opened", file)
		}
		if detail := b.reported("Failed to read the remembered backend"); !strings.Contains(detail, "lethe init -reconfigure") {
			t.Errorf("%s: %s", file, detail)
		}
		if _, ok := b.Init(ctx, InitRequest{Reconfigure: true, Lock: workspace.Request{Lock: true}}); !ok {
			t.Errorf("%s: not replaced", file)
		}
		b.reported()
		if !b.opens() {
			t.Error(b.Env.Bag.List())
		}
	}
}

// stateOf returns the text of a state with one object.
func stateOf(lineage string, serial int) string {
	return fmt.Sprintf(`{"version":4,"terraform_version":"1.9.0","serial":%d,"lineage":%q,"outputs":{},"resources":[{"mode":"managed","type":"b","name":"y","provider":"provider[\"registry.opentofu.org/hashicorp/b\"]","instances":[{"attributes":{"id":%q}}]}]}`, serial, lineage, lineage)
}

// unrecorded is a file system that cannot write the record of init.
type unrecorded struct{ disk.FS }

func (f unrecorded) Rename(from, to string) error {
	if filepath.Base(filepath.Dir(to)) == ".terraform" && filepath.Base(to) == "terraform.tfstate" {
		return os.ErrPermission
	}
	return f.FS.Rename(from, to)
}

// TestInitSelectsLast checks that init selects another workspace only when the new backend is recorded. Otherwise the
// next init would move the state of another workspace.
func TestInitSelectsLast(t *testing.T) {
	b, server := newBench(t), httptest.NewServer(&storetest.HTTP{})
	t.Cleanup(server.Close)
	b.write("terraform.tfstate", stateOf("default", 3))
	b.write("terraform.tfstate.d/w/terraform.tfstate", stateOf("w", 3))
	if err := b.Env.Select("w"); err != nil {
		t.Fatal(err)
	}
	b.configure(fmt.Sprintf("backend \"http\" { address = %q }", server.URL))
	b.Env.FS = unrecorded{disk.OS}
	req := InitRequest{ForceCopy: true, Lock: workspace.Request{Lock: true}}
	if _, ok := b.Init(ctx, req); ok || b.Env.Selected() != "w" {
		t.Errorf("%t, selected %s", ok, b.Env.Selected())
	}
	b.reported("Workspaces left behind", "Failed to remember the backend")
	b.Env.FS = disk.OS
	if _, ok := b.Init(ctx, req); !ok || b.Env.Selected() != store.Default {
		t.Errorf("selected %s: %v", b.Env.Selected(), b.Env.Bag.List())
	}
	o, ok := b.Open(ctx, Files{})
	if !ok {
		t.Fatal(b.Env.Bag.List())
	}
	if s, ok := workspace.Read(ctx, b.Env, o.Store, store.Default); !ok || s.Lineage != "w" {
		t.Errorf("the new backend has the state of %s", s.Lineage)
	}
}

// TestReplaced checks that an opened store reports that init has set up another backend since, and that it is in use as
// long as init or another command records the same place.
func TestReplaced(t *testing.T) {
	b := newBench(t)
	opened := func() *Opened {
		t.Helper()
		o, ok := b.Open(ctx, Files{})
		if !ok {
			t.Fatal(b.Env.Bag.List())
		}
		return o
	}
	replaced := func(o *Opened) bool {
		_, is := o.Replaced()
		return is
	}
	files := opened()
	b.save()
	if replaced(files) {
		t.Error("replaced, although nothing was recorded")
	}
	b.configure(`backend "local" { path = "one/s" }`)
	if _, ok := b.Init(ctx, InitRequest{ForceCopy: true, Lock: workspace.Request{Lock: true}}); !ok {
		t.Fatal(b.Env.Bag.List())
	}
	one := opened()
	if !replaced(files) || replaced(one) {
		t.Error("init has moved the state into a backend")
	}
	if named, ok := b.Open(ctx, Files{In: filepath.Join(b.Env.Dir, "s"), Alone: true}); !ok || named.Replaced != nil {
		t.Error("a named file belongs to no backend")
	}
	b.configure("")
	if _, ok := b.Init(ctx, InitRequest{Migrate: true, ForceCopy: true, Lock: workspace.Request{Lock: true}, Unset: func(string) {}}); !ok {
		t.Fatal(b.Env.Bag.List())
	}
	if !replaced(one) {
		t.Error("init has moved the state out of the backend")
	}
	b.configure(`backend "local" { path = "two/s" }`)
	if err := os.Remove(filepath.Join(b.Env.Dir, "terraform.tfstate")); err != nil {
		t.Fatal(err)
	}
	two := opened()
	b.save() // another command records the place
	if replaced(two) {
		t.Error("replaced by the same place")
	}
}

// TestMigrationKeepsNotes checks that init -migrate-state takes along the notes about interrupted runs, also if a killed
// init has copied the state already: without them, an apply would create an object again without asking.
func TestMigrationKeepsNotes(t *testing.T) {
	for name, prepare := range map[string]func(b *bench){
		"a state":  func(b *bench) { b.save() },
		"no state": func(*bench) {},
		"interrupted": func(b *bench) {
			b.save()
			data, err := os.ReadFile(filepath.Join(b.Env.Dir, "one/s"))
			if err != nil {
				b.Fatal(err)
			}
			b.write("two/s", string(data))
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.configure(`backend "local" { path = "one/s" }`)
			if _, ok := b.Init(ctx, InitRequest{Lock: workspace.Request{Lock: true}}); !ok {
				t.Fatal(b.Env.Bag.List())
			}
			prepare(b)
			o, ok := b.Open(ctx, Files{})
			if !ok {
				t.Fatal(b.Env.Bag.List())
			}
			s, ok := workspace.Lock(ctx, b.Env, workspace.Request{Store: o.Store, Name: store.Default, Lock: true})
			if !ok {
				t.Fatal(b.Env.Bag.List())
			}
			i, err := addr.ParseInstance("a.unknown")
			if err != nil {
				t.Fatal(err)
			}
			s.Note(journal.Notes{Unknown: []journal.Unknown{{Intent: journal.Intent{Object: i.Current(), Action: "create"}, Run: "killed", Time: time.Unix(1, 0)}}})
			s.Unlock()
			b.configure(`backend "local" { path = "two/s" }`)
			for range 2 { // the second init has nothing to do
				if _, ok := b.Init(ctx, InitRequest{Migrate: true, ForceCopy: true, Lock: workspace.Request{Lock: true}}); !ok {
					t.Fatal(b.Env.Bag.List())
				}
			}
			if o, ok = b.Open(ctx, Files{}); !ok {
				t.Fatal(b.Env.Bag.List())
			}
			notes, ok := workspace.ReadNotes(ctx, b.Env, o.Store, store.Default)
			if !ok || len(notes.Unknown) != 1 || notes.Unknown[0].Run != "killed" || !b.exists("two/s.journal") {
				t.Errorf("%+v %v", notes, b.Env.Bag.List())
			}
		})
	}
}
