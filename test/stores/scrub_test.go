package stores

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// canary is the value that scrubbing must remove.
const canary = "canary-5c7ab-first"

// storing is a configuration that stores the value of the variable password in an object, in Base64 in another object,
// and in an output. Further objects do not have it.
const storing = `
variable "password" {
  sensitive = true
  default   = ""
}
variable "note" {
  default = "none"
}
resource "terraform_data" "a" {
  for_each = { x = var.note }
  input    = { login = var.password, note = each.value }
}
resource "terraform_data" "b" {
  input = nonsensitive("db://u:${base64encode(var.password)}@h")
}
resource "terraform_data" "same" {
  count = 3
  input = count.index
}
output "dsn" {
  value     = var.password
  sensitive = true
}
`

// keyed has instances whose keys contain the secret.
const keyed = `
resource "terraform_data" "keyed" {
  for_each = toset([nonsensitive(var.password), "other-${nonsensitive(var.password)}"])
  input    = each.key
}
`

// later is the configuration storing without the secret.
const later = `
resource "terraform_data" "a" {
  for_each = { x = "" }
  input    = { login = "none", note = "" }
}
resource "terraform_data" "b" {
  input = "none"
}
resource "terraform_data" "same" {
  count = 3
  input = count.index
}
`

// scrubbed returns a directory whose current state does not have the secret. Two former states and the plan file stale
// have it.
func scrubbed(t *testing.T, p place) *directory {
	t.Helper()
	ours, err := lethe()
	check(t, err)
	u := newDirectory(t, ours, place{p.backend, append(append([]string{}, p.env...), "TF_VAR_password="+canary)})
	u.configure(storing + keyed + p.backend)
	u.run(0, "apply", "-auto-approve")
	u.run(0, "apply", "-auto-approve", "-var=note=more")
	u.run(0, "plan", "-var=note=still", "-out=stale")
	u.configure(later + p.backend)
	u.run(0, "apply", "-auto-approve")
	return u
}

// noCanary checks that no file in a directory contains the secret.
func (u *directory) noCanary() {
	u.Helper()
	check(u.T, filepath.WalkDir(u.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), canary) {
			u.Errorf("%s has the secret", path)
		}
		return err
	}))
}

// scrubResult is the document of `secrets scrub -json`.
type scrubResult struct {
	Outcome string
	Secrets []struct {
		Earlier []int  `json:"earlier_versions"`
		Since   string `json:"readable_since"`
		Last    bool   `json:"last_copy"` // only the copies that scrub removes have the secret
	}
	Changed  int `json:"copies_changed"`
	Commands []string
	Not      []string `json:"not_cleaned"`
}

// scrub runs `secrets scrub` with further arguments, and decodes its document. The command must succeed, and its output
// must not contain the secret.
func (u *directory) scrub(args ...string) scrubResult {
	u.Helper()
	var r scrubResult
	out := u.run(0, append([]string{"secrets", "scrub", "-auto-approve", "-json"}, args...)...)
	_, document, _ := strings.Cut(out, "{") // skip lines about the lock, which are on standard error on a slow machine
	if err := json.NewDecoder(strings.NewReader("{" + document)).Decode(&r); err != nil {
		u.Fatalf("%v:\n%s", err, out)
	}
	if strings.Contains(out, canary) {
		u.Error("the output has the secret")
	}
	return r
}

// TestScrubRows removes secrets from former states in rows. They can be restored, other rows stay, and damage stays
// visible.
func TestScrubRows(t *testing.T) {
	port := startPostgres(t)
	u := scrubbed(t, rowsPlace(port, "scrubbing"))
	const find = `SELECT (SELECT count(*) FROM scrubbing.states_objects x WHERE x::text LIKE '%[1]s') + (SELECT count(*) FROM scrubbing.states_outputs x WHERE x::text LIKE '%[1]s') + (SELECT count(*) FROM scrubbing.states_versions x WHERE x::text LIKE '%[1]s')`
	found := func() string {
		return query(t, port, fmt.Sprintf(find, "%"+canary+"%")) + "+" + query(t, port, fmt.Sprintf(find, "%Y2FuYXJ5LTVjN2FiLWZpcnN0%"))
	}
	if found() == "0+0" {
		t.Fatal("no row has the secret")
	}
	kept := query(t, port, `SELECT string_agg(id || ' ' || since || ' ' || coalesce(until, 0) || ' ' || encode(digest, 'hex'), ',' ORDER BY id) FROM scrubbing.states_objects WHERE name = 'same'`)
	if out := u.run(1, "secrets", "scrub", "-auto-approve", "-var=password="); !strings.Contains(out, "Last copy of a secret") {
		t.Errorf("the last copy is removed:\n%s", out)
	}
	if r := u.scrub("-dry-run"); r.Outcome != "dry-run" || len(r.Secrets) == 0 || r.Secrets[0].Last != true || found() == "0+0" {
		t.Errorf("%+v", r)
	}
	r := u.scrub("-last-copy")
	if r.Outcome != "changed" || r.Changed != 3 || len(r.Secrets[0].Earlier) != 2 || r.Secrets[0].Since == "" { // three changed copies: two versions of the state and the plan file
		t.Errorf("%+v", r)
	}
	if f := found(); f != "0+0" {
		t.Errorf("%s rows have the secret", f)
	}
	if now := query(t, port, `SELECT string_agg(id || ' ' || since || ' ' || coalesce(until, 0) || ' ' || encode(digest, 'hex'), ',' ORDER BY id) FROM scrubbing.states_objects WHERE name = 'same'`); now != kept {
		t.Error("other rows were changed")
	}
	u.noCanary()
	if r := u.scrub(); r.Outcome != "nothing-found" {
		t.Errorf("%+v", r)
	}
	for _, serial := range []string{"1", "2"} {
		u.run(0, "state", "diff", serial)
		u.run(0, "state", "restore", "-auto-approve", serial)
	}
	if out := u.run(0, "state", "list"); !strings.Contains(out, `keyed["(sensitive value)"]`) || !strings.Contains(out, `keyed["other-(sensitive value)"]`) {
		t.Errorf("the instances with masked keys are not in the restored state:\n%s", out)
	}
	u.run(0, "state", "check")
	u.run(0, "apply", "-auto-approve")

	// Damage of a former row stays visible.
	query(t, port, `UPDATE scrubbing.states_objects SET attributes = '{"id":"i-77","input":"`+canary+`"}' WHERE until IS NOT NULL AND name = 'b' AND since = 1`)
	u.run(1, "state", "diff", "1")
}

// TestScrubRowsOfOneSerial searches and changes each of several former states with the same serial.
func TestScrubRowsOfOneSerial(t *testing.T) {
	port := startPostgres(t)
	u := scrubbed(t, rowsPlace(port, "serials"))
	query(t, port, `UPDATE serials.states_versions SET serial = 2 WHERE serial = 1`)                                                   // equal serials, as after a forced push
	if r := u.scrub("-last-copy"); r.Outcome != "changed" || r.Changed != 3 || len(r.Secrets) == 0 || len(r.Secrets[0].Earlier) != 1 { // one serial, because both versions have the serial 2
		t.Errorf("%+v", r)
	}
	if n := query(t, port, `SELECT count(*) FROM serials.states_objects x WHERE x::text LIKE '%`+canary+`%'`); n != "0" {
		t.Errorf("%s rows have the secret", n)
	}
	st := opener(t, port, "serials", "rows")()
	past, err := st.Capabilities().History.History(ctx, store.Default)
	check(t, err)
	seen := map[string]bool{}
	for _, p := range past[1:] {
		text, err := st.Capabilities().History.Former(ctx, store.Default, p)
		if check(t, err); len(text) == 0 || seen[string(text)] {
			t.Errorf("writing %d is not a separate state", p.Writing)
		}
		seen[string(text)] = true
	}
	u.noCanary()
}

// TestMoveInRows moves a secret of a state in rows. The plan of the command claims nothing, so that others may work on
// the state. After an apply and scrub, no row has the secret.
func TestMoveInRows(t *testing.T) {
	ours, err := lethe()
	check(t, err)
	bin, err := playground()
	check(t, err)
	port := startPostgres(t)
	p := rowsPlace(port, "moving")
	rc := filepath.Join(t.TempDir(), "rc")
	check(t, os.WriteFile(rc, []byte("provider_installation {\n  dev_overrides {\n    \"registry.opentofu.org/lethe/playground\" = \""+bin+"\"\n  }\n}\n"), 0o600))
	u := newDirectory(t, ours, place{p.backend, append(p.env, "TF_CLI_CONFIG_FILE="+rc, "PLAYGROUND_CLOUD="+t.TempDir(), "TF_VAR_password="+canary, "LETHE_VERSION_KEY=0123456789abcdef")})
	u.configure(`
terraform {
  required_providers {
    playground = { source = "lethe/playground" }
  }
}
variable "password" {
  sensitive = true
}
resource "playground_ssm_parameter" "t" {
  name  = "t"
  type  = "SecureString"
  value = var.password
}
resource "terraform_data" "other" {
  input = "x"
}
` + p.backend)
	u.run(0, "apply", "-auto-approve")
	moved := u.run(0, "secrets", "move", "-all")
	if !strings.Contains(moved, "1 file was edited: main.tf.") || strings.Contains(moved, canary) {
		t.Error(moved)
	}
	u.run(0, "apply", "-auto-approve")
	u.run(0, "apply", "-refresh-only", "-auto-approve") // until the provider has read the object, the value is unknown to Lethe
	if r := u.scrub(); r.Outcome != "changed" {
		t.Errorf("%+v", r)
	}
	if n := query(t, port, `SELECT count(*) FROM moving.states_objects x WHERE x::text LIKE '%`+canary+`%'`); n != "0" {
		t.Errorf("%s rows have the secret", n)
	}
	u.run(0, "plan", "-detailed-exitcode")
	u.run(0, "secrets")
	u.noCanary()
}

// TestForgottenDataInRows reads results of data sources that are not stored again, and prints this, if a plan of the
// changed resources needs them.
func TestForgottenDataInRows(t *testing.T) {
	ours, err := lethe()
	check(t, err)
	bin, err := playground()
	check(t, err)
	p := rowsPlace(startPostgres(t), "forgotten")
	rc := filepath.Join(t.TempDir(), "rc")
	check(t, os.WriteFile(rc, []byte("provider_installation {\n  dev_overrides {\n    \"registry.opentofu.org/lethe/playground\" = \""+bin+"\"\n  }\n}\n"), 0o600))
	u := newDirectory(t, ours, place{p.backend, append(p.env, "LETHE_FORGET_DATA=all", "TF_CLI_CONFIG_FILE="+rc)})
	configure := func(server, other string) {
		u.configure(`
terraform {
  required_providers {
    playground = {
      source = "lethe/playground"
    }
  }
}
data "playground_null" "d" {
  inputs = { k = "` + canary + `" }
}
resource "terraform_data" "server" {
  input = "` + server + `${length(data.playground_null.d.outputs.k)}"
}
resource "terraform_data" "other" {
  input = "` + other + `"
}
` + p.backend)
	}
	configure("", "1")
	u.run(0, "apply", "-auto-approve")
	if out := u.run(0, "state", "list"); strings.HasPrefix(out, "data.") {
		t.Errorf("the result is stored:\n%s", out)
	}
	const reads = "Reading data sources although -refresh=false is set"
	for _, c := range []struct {
		server, other, flag, want string
		reads                     bool
	}{
		{"", "1", "-changed", "No changes", false},
		{"", "2", "-changed", "Plan: 0 to add, 1 to change, 0 to destroy", false},
		{"a-", "2", "-changed", "a-18", false},
		{"a-", "2", "-refresh=false", "a-18", true},
		{"a-", "2", "-changed=false", "a-18", false},
	} {
		configure(c.server, c.other)
		out := u.run(0, "plan", c.flag)
		if !strings.Contains(out, c.want) || strings.Contains(out, reads) != c.reads {
			t.Errorf("%+v:\n%s", c, out)
		}
	}
	u.run(0, "apply", "-changed", "-auto-approve")
	if out := u.run(0, "plan", "-changed"); !strings.Contains(out, "No changes") {
		t.Error(out)
	}
	if out := u.run(0, "state", "pull"); strings.Contains(out, canary) || !strings.Contains(out, "a-18") {
		t.Errorf("the state is:\n%s", out)
	}
}

// TestScrubRowsInterrupted interrupts the connection at each request. Then all former states are the old or the new
// ones.
func TestScrubRowsInterrupted(t *testing.T) {
	port := startPostgres(t)
	u := scrubbed(t, rowsPlace(port, "cut"))
	count := func() string {
		return query(t, port, `SELECT count(*) FROM cut.states_objects x WHERE x::text LIKE '%`+canary+`%'`)
	}
	st := opener(t, port, "cut", "rows")()
	rewrite := func(stop int) func(uint64, []byte) ([]byte, error) {
		n := 0
		return func(_ uint64, text []byte) ([]byte, error) {
			if n++; n == stop {
				return nil, fmt.Errorf("stopped")
			}
			if next := strings.ReplaceAll(string(text), canary, "none"); next != string(text) {
				return []byte(next), nil
			}
			return nil, nil
		}
	}
	before := count()
	for stop := 1; ; stop++ {
		n, err := st.Capabilities().Rewriter.RewriteFormer(ctx, store.Default, rewrite(stop))
		if err != nil {
			if n != 0 || count() != before {
				t.Fatalf("stopped at %d, %d changed", stop, n)
			}
			continue
		}
		if n == 0 || count() != "0" {
			t.Errorf("%d changed, and %s rows remain", n, count())
		}
		break
	}
	for _, serial := range []string{"1", "2"} {
		u.run(0, "state", "diff", serial)
	}
}

// TestScrubVersions lists and deletes the versions that services keep by themselves.
func TestScrubVersions(t *testing.T) {
	backend := s3mem.New()
	check(t, backend.CreateBucket("states"))
	check(t, backend.SetVersioningConfiguration("states", gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled}))
	bucket := httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	t.Cleanup(bucket.Close)
	google := &gcs{objects: map[string]*gcsObject{}, former: map[string][]*gcsObject{}}
	googleServer := httptest.NewServer(google)
	t.Cleanup(googleServer.Close)
	account := &azure{blobs: map[string]*azureBlob{}, former: map[string][]azureVersion{}}
	for name, c := range map[string]struct {
		place
		command string
	}{
		"s3":         {s3Place(bucket.URL, "a", ""), "aws s3api delete-object --bucket states --key a --version-id "},
		"s3 journal": {s3Place(bucket.URL, "j", "    journal = true\n"), "aws s3api delete-object --bucket states --key j.journal/"},
		"gcs": {place{"terraform {\n  backend \"gcs\" {\n    bucket = \"states\"\n    prefix = \"a\"\n  }\n}\n", []string{"GOOGLE_OAUTH_ACCESS_TOKEN=canary-4711", "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT=" + googleServer.URL + "/storage/v1/"}},
			"gcloud storage rm 'gs://states/a/default.tfstate#"},
		"azurerm": {place{"terraform {\n  backend \"azurerm\" {\n    storage_account_name = \"acct\"\n    container_name = \"states\"\n    key = \"a\"\n  }\n}\n", serveAzure(t, account)},
			"az storage blob delete --account-name acct --container-name states --name a --version-id "},
	} {
		t.Run(name, func(t *testing.T) {
			u := scrubbed(t, c.place)
			if out := u.run(2, "secrets"); !strings.Contains(out, "2 earlier versions") {
				t.Errorf("earlier versions are not listed:\n%s", out)
			}
			r := u.scrub()
			if r.Outcome != "changed" || r.Changed != 1 || len(r.Commands) < 2 || !strings.Contains(strings.Join(r.Commands, "\n"), c.command) { // one changed copy: the plan file
				t.Errorf("%+v", r)
			}
			if len(r.Secrets[0].Earlier) < 2 || r.Secrets[0].Last {
				t.Errorf("%+v", r.Secrets)
			}
			r = u.scrub("-versions", "-last-copy")
			if r.Outcome != "changed" || r.Changed < 2 || len(r.Commands) > 0 {
				t.Errorf("%+v", r)
			}
			if r := u.scrub(); r.Outcome != "nothing-found" {
				t.Errorf("%+v", r)
			}
			u.noCanary()
			u.run(0, "plan", "-detailed-exitcode")
		})
	}
	for name, all := range google.former {
		for _, o := range all {
			if strings.Contains(string(o.data), canary) {
				t.Errorf("a generation of %s has the secret", name)
			}
		}
	}
	for name, all := range account.former {
		for _, v := range all {
			if strings.Contains(string(v.data), canary) {
				t.Errorf("a version of %s has the secret", name)
			}
		}
	}
}

// TestScrubVersionsRefused uses a service that lists no versions, or that deletes none.
func TestScrubVersionsRefused(t *testing.T) {
	backend := s3mem.New()
	check(t, backend.CreateBucket("states"))
	check(t, backend.SetVersioningConfiguration("states", gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled}))
	b := &bucket{}
	server := httptest.NewServer(b.around(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()))
	t.Cleanup(server.Close)
	u := scrubbed(t, s3Place(server.URL, "a", ""))
	b.denies(func(r *http.Request) bool { return r.Method == http.MethodDelete && r.URL.Query().Has("versionId") })
	out := u.run(1, "secrets", "scrub", "-auto-approve", "-versions", "-last-copy")
	if !strings.Contains(out, "Copy not changed") || !strings.Contains(out, "aws s3api delete-object") || strings.Contains(out, canary) {
		t.Errorf("a refused deletion:\n%s", out)
	}
	b.denies(func(r *http.Request) bool { return r.URL.Query().Has("versions") })
	if out := u.run(0, "secrets"); !strings.Contains(out, "Not examined: The service of the backend does not list its earlier versions:") {
		t.Errorf("a refused list:\n%s", out)
	}
}

// TestScrubInterrupted interrupts the command during a deletion. The command begins no other deletion, and the next run
// deletes the rest.
func TestScrubInterrupted(t *testing.T) {
	backend := s3mem.New()
	check(t, backend.CreateBucket("states"))
	check(t, backend.SetVersioningConfiguration("states", gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled}))
	b := &bucket{}
	server := httptest.NewServer(b.around(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()))
	t.Cleanup(server.Close)
	u := scrubbed(t, s3Place(server.URL, "a", ""))
	out := filepath.Join(t.TempDir(), "out")
	f, err := os.Create(out)
	check(t, err)
	defer f.Close()
	cmd := u.cmd("secrets", "scrub", "-auto-approve", "-versions", "-last-copy")
	cmd.Stdout, cmd.Stderr = f, f
	deletions := 0
	b.denies(func(r *http.Request) bool {
		if r.Method == http.MethodDelete && r.URL.Query().Has("versionId") {
			if deletions++; deletions == 1 {
				check(t, cmd.Process.Signal(os.Interrupt))
				waittest.Until(t, "the interrupt is received", func() bool {
					text, err := os.ReadFile(out)
					return err == nil && strings.Contains(string(text), "Interrupt received")
				})
			}
		}
		return false
	})
	err = cmd.Run()
	text, _ := os.ReadFile(out)
	if err == nil || deletions != 1 || !strings.Contains(string(text), "Not all copies were changed") || !strings.Contains(string(text), "Rotate these secrets") {
		t.Errorf("%d deletions, %v:\n%s", deletions, err, text)
	}
	if _, err := os.Stat(filepath.Join(u.dir, "stale")); err != nil {
		t.Error("the plan was deleted after the interrupt")
	}
	b.denies(nil)
	u.scrub("-versions", "-last-copy")
	if r := u.scrub(); r.Outcome != "nothing-found" {
		t.Errorf("%+v", r)
	}
	u.noCanary()
}
