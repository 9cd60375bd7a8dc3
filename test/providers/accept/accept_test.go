// Package accept runs the playground providers with a terraform on PATH, as a user does. It shows that the providers
// follow the protocol, so a failure of a test with Lethe is a fault of Lethe. Without terraform, the tests are skipped.
package accept

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/test/providers/calls"
)

const canary = "accept-canary-0123456789"

var plugins string // the directory of the built providers

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if _, err := exec.LookPath("terraform"); err != nil {
		fmt.Println("skipped: there is no terraform on PATH")
		return 0
	}
	dir, err := os.MkdirTemp("", "accept")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir, "../cmd/...")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("%s\n%v\n", out, err)
		return 1
	}
	plugins = dir
	return m.Run()
}

// stage is one working directory with a cloud and a log.
type stage struct {
	*testing.T
	dir string
	env []string
}

// newStage returns a stage with a copy of a directory of testdata, or an empty stage if testdata is "". It makes the
// test parallel.
func newStage(t *testing.T, testdata string) *stage {
	t.Helper()
	t.Parallel()
	s := &stage{T: t, dir: t.TempDir()}
	if testdata != "" {
		if err := os.CopyFS(s.dir, os.DirFS(filepath.Join("testdata", testdata))); err != nil {
			t.Fatal(err)
		}
	}
	rc := "provider_installation {\n  dev_overrides {\n"
	for _, name := range []string{"playground", "playground5", "rogue", "strict"} {
		rc += fmt.Sprintf("    %q = %q\n", "registry.opentofu.org/lethe/"+name, plugins)
	}
	s.write("rc", rc+"  }\n  direct {}\n}\n")
	s.env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+s.path("rc"), "CHECKPOINT_DISABLE=1", "TF_CLI_ARGS=-no-color", "TF_IN_AUTOMATION=1",
		"PLAYGROUND_CLOUD="+s.path("cloud"), "PLAYGROUND_LOG="+s.path("log"), "PLAYGROUND_CANARY="+canary)
	return s
}

func (s *stage) path(name string) string { return filepath.Join(s.dir, name) }

func (s *stage) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// config writes main.tf. It declares the providers playground and playground5 before the text.
func (s *stage) config(text string) {
	s.Helper()
	s.write("main.tf", `
terraform {
  required_providers {
    playground = { source = "registry.opentofu.org/lethe/playground" }
    playground5 = { source = "registry.opentofu.org/lethe/playground5" }
  }
}
`+text)
}

// terraform runs a command and returns its whole output and exit status.
func (s *stage) terraform(args ...string) (string, int) {
	s.Helper()
	cmd := exec.Command("terraform", args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		s.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// fine runs a command that must succeed, and returns its output.
func (s *stage) fine(args ...string) string {
	s.Helper()
	out, code := s.terraform(args...)
	if code != 0 {
		s.Fatalf("terraform %s: exit %d\n%s", strings.Join(args, " "), code, out)
	}
	return out
}

// fails runs a command that must fail. Its output must contain the text want, with any white space between the words.
func (s *stage) fails(want string, args ...string) {
	s.Helper()
	out, code := s.terraform(args...)
	if plain := strings.Join(strings.Fields(out), " "); code == 0 || !strings.Contains(plain, want) {
		s.Errorf("terraform %s: exit %d, wanted %q in\n%s", strings.Join(args, " "), code, want, out)
	}
}

// settled checks that a plan has no changes.
func (s *stage) settled(args ...string) {
	s.Helper()
	if out, code := s.terraform(append([]string{"plan", "-detailed-exitcode"}, args...)...); code != 0 {
		s.Errorf("there is still something to do: exit %d\n%s", code, out)
	}
}

func (s *stage) apply(args ...string) string {
	s.Helper()
	return s.fine(append([]string{"apply", "-auto-approve"}, args...)...)
}

// destroyed destroys everything and checks that the cloud has no objects and no leases.
func (s *stage) destroyed(args ...string) {
	s.Helper()
	s.fine(append([]string{"destroy", "-auto-approve"}, args...)...)
	if o, l := s.objects(), s.leases(); len(o)+len(l) > 0 {
		s.Errorf("left behind: %v %v", o, l)
	}
}

func (s *stage) objects() []string {
	list, _ := filepath.Glob(s.path("cloud/*.json"))
	return list
}

func (s *stage) leases() []string {
	list, _ := filepath.Glob(s.path("cloud/leases/*.json"))
	return list
}

// log returns the calls of one kind so far, in the order of their ends.
func (s *stage) log(call string) []*calls.Call {
	s.Helper()
	list, err := calls.Read(s.path("log"))
	if err != nil {
		s.Fatal(err)
	}
	return slices.DeleteFunc(list, func(c *calls.Call) bool { return c.Call != call })
}

// clean checks that no file of the stage contains a secret. It does not search configuration files.
func (s *stage) clean(secret string) {
	s.Helper()
	err := filepath.Walk(s.dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || strings.HasSuffix(path, ".tf") {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) {
			s.Errorf("%s holds %q", path, secret)
		}
		return err
	})
	if err != nil {
		s.Error(err)
	}
}

func TestSix(t *testing.T) {
	s := newStage(t, "six")
	s.fine("validate")
	s.apply()
	s.settled()
	if n := len(s.objects()); n != 6 {
		t.Errorf("%d objects, want 6", n)
	}
	s.apply("-var", "size=4")
	s.settled("-var", "size=4")
	for _, secret := range []string{canary, "code-canary", "config-canary", "provider-canary"} {
		s.clean(secret)
	}
	for _, c := range s.log("ApplyResourceChange") {
		for which := range c.Secrets {
			if !strings.HasPrefix(which, "config:") {
				t.Errorf("%s of %s was given %s", c.Action, c.Type, which)
			}
		}
	}
	if n := len(s.leases()); n > 0 {
		t.Errorf("%d leases open", n)
	}
	s.destroyed("-var", "size=4")
}

func TestFive(t *testing.T) {
	s := newStage(t, "five")
	s.apply()
	s.settled()
	if out := s.fine("plan", "-var", "email=a@B.C", "-var", "generation=2"); !strings.Contains(out, "must be replaced") {
		t.Errorf("a lower generation does not replace:\n%s", out)
	}
	s.settled("-var", "email=a@B.C")
	s.clean(canary)
	s.clean("nested-canary")
	s.destroyed()
}

func TestRogueBehaves(t *testing.T) {
	for _, protocol := range []string{"6", "5"} {
		t.Run(protocol, func(t *testing.T) {
			s := newStage(t, "rogue")
			s.env = append(s.env, "PLAYGROUND_ROGUE_PROTOCOL="+protocol)
			if protocol == "5" { // protocol 5 has no nested attributes
				data, err := os.ReadFile(s.path("main.tf"))
				if err != nil {
					t.Fatal(err)
				}
				s.write("main.tf", regexp.MustCompile(`(?m)^  (login|one|many|bag|by) +=.*$`).ReplaceAllString(string(data), ""))
			}
			s.apply()
			s.settled()
			s.apply("-var", "size=2")
			s.clean(canary)
			s.destroyed()
		})
	}
}

func TestRogueMisbehaves(t *testing.T) {
	for _, c := range []struct{ rule, want string }{
		{"PlanCreate/a=contradict", "Provider produced invalid plan"},
		{"PlanCreate/a=wo", "Provider produced invalid plan"},
		{"PlanCreate/a=defer", "Invalid Deferred Response"},
		{"Create/a=set:size=7", "Provider produced inconsistent result after apply"},
		{"Create/a=wo", "Provider produced invalid object"},
		{"Create/a=set-unknown:value", "Provider returned invalid result object after apply"},
		{"Create/a=after-kill", "GRPCProvider).ApplyResourceChange"}, // the message varies, because the client closes the connection meanwhile
		{"Create/a=malformed", "an object is required"},
		{"Create/a=leak-error", canary},
		{"Open=contradict", "Provider produced invalid ephemeral resource instance"},
		{"Call=func-error:0", "Invalid function argument"},
		{"ReadData=null", "Provider produced null object"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			s := newStage(t, "rogue")
			s.env = append(s.env, "PLAYGROUND_ROGUE="+c.rule)
			s.fails(c.want, "apply", "-auto-approve")
		})
	}
	for _, start := range []string{"exit:3", "garbage", "protocol:7", "core:9", "refuse", "babble", "noise:5"} {
		t.Run(start, func(t *testing.T) {
			s := newStage(t, "rogue")
			s.env = append(s.env, "PLAYGROUND_ROGUE_START="+start)
			s.fails("Failed to load plugin schemas", "validate")
		})
	}
	for _, fault := range []string{"wo-set-block", "wo-set-nested", "no-flags", "required-extra"} {
		t.Run(fault, func(t *testing.T) {
			s := newStage(t, "rogue")
			s.env = append(s.env, "PLAYGROUND_ROGUE_SCHEMA="+fault)
			s.fails("rogue_"+strings.ReplaceAll(fault, "-", "_"), "validate")
		})
	}
}

// TestRFC runs the two configurations of the RFC on ephemerality, with the types renamed.
func TestRFC(t *testing.T) {
	s := newStage(t, "rfc")
	s.fine("-chdir=store", "get")
	out := s.fine("-chdir=store", "apply", "-auto-approve")
	for _, line := range []string{
		"secret_retrieval[0]: Configuration unknown, deferring...",
		"secret_retrieval[0]: Opening complete after 0s",
		"secret_retrieval[0]: Closing complete after 0s",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("store: no line %q in\n%s", line, out)
		}
	}
	arn := s.fine("-chdir=store", "output", "-raw", "secret_manager_arn")
	s.fine("-chdir=read", "get")
	out = s.fine("-chdir=read", "apply", "-auto-approve", "-var", "secret_manager_arn="+arn)
	for _, line := range []string{
		"+ value = (sensitive value)",
		"+ value_wo = (write-only attribute)",
		"Creation complete after 0s [id=parameter_from_ephemeral_value]",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), line) {
			t.Errorf("read: no line %q in\n%s", line, out)
		}
	}
	configured := s.log("ConfigureProvider")
	last := configured[len(configured)-1]
	if want := calls.Hash("AKCANARY12345"); last.Label != "dev" || last.Secrets["config:access_key"] != want {
		t.Errorf("the provider got %v, want %s", last.Secrets, want)
	}
	s.clean("AKCANARY12345")
}

func TestLeaseLife(t *testing.T) {
	s := newStage(t, "")
	s.config(`
ephemeral "playground_lease" "l" {
  name        = "l"
  renew_after = "1s"
}
resource "playground_secret" "s" {
  name      = "s"
  secret_wo = ephemeral.playground_lease.l.token
  delay     = "2500ms"
}`)
	s.apply()
	if n := len(s.log("RenewEphemeralResource")); n < 1 {
		t.Error("never renewed")
	}
	opened, closed := s.log("OpenEphemeralResource"), s.log("CloseEphemeralResource")
	if len(opened) != 2 || len(closed) != 2 || len(s.leases()) != 0 {
		t.Errorf("%d opened, %d closed, %v left", len(opened), len(closed), s.leases())
	}
}

func TestFailing(t *testing.T) {
	for _, c := range []struct {
		at, want string
		objects  int
		state    string // a part of the output of terraform show about the thing after the apply
	}{
		{"validate", "validate of \"x\" failed", 0, ""},
		{"plan", "plan of \"x\" failed", 0, ""},
		{"create", "create of \"x\" failed", 0, ""},
		{"create-lost", "create-lost of \"x\" failed", 1, ""},
		{"create-after", "create-after of \"x\" failed", 1, "(tainted)"},
	} {
		t.Run(c.at, func(t *testing.T) {
			s := newStage(t, "")
			s.config(`resource "playground_thing" "x" {
  name    = "x"
  fail_on = "` + c.at + `"
}`)
			s.fails(c.want, "apply", "-auto-approve")
			if n := len(s.objects()); n != c.objects {
				t.Errorf("%d objects, want %d", n, c.objects)
			}
			if out := s.fine("show"); !strings.Contains(out, c.state) {
				t.Errorf("state is\n%s", out)
			}
		})
	}
	t.Run("by environment", func(t *testing.T) {
		s := newStage(t, "")
		s.config(`variable "size" { default = 1 }
resource "playground_thing" "x" {
  name = "x"
  size = var.size
}
resource "playground5_thing" "y" {
  name = "y"
  size = var.size
}`)
		s.apply()
		env := s.env
		for _, at := range []string{"read", "update", "delete", "update-after"} {
			s.env = append(slices.Clone(env), "PLAYGROUND_FAIL=*:"+at)
			args := []string{"apply", "-auto-approve", "-var", "size=2"}
			if at == "delete" {
				args = []string{"destroy", "-auto-approve"}
			}
			s.fails(at+` of "x" failed`, args...)
			s.fails(at+` of "y" failed`, append(args, "-target=playground5_thing.y", "-var", "size=3")...)
		}
		s.env = env
		s.destroyed()
	})
	t.Run("timeout", func(t *testing.T) {
		s := newStage(t, "")
		s.config(`resource "playground_thing" "x" {
  name     = "x"
  delay    = "1h"
  timeouts = { create = "100ms" }
}
resource "playground5_thing" "y" {
  name  = "y"
  delay = "1h"
  timeouts { create = "100ms" }
}`)
		s.fails(`create of "x" was interrupted`, "apply", "-auto-approve")
		s.fails(`create of "y" was interrupted`, "apply", "-auto-approve")
	})
	for _, at := range []string{"open", "open-after", "close"} {
		t.Run("lease "+at, func(t *testing.T) {
			s := newStage(t, "")
			s.config(`ephemeral "playground_lease" "l" {
  name    = "l"
  fail_on = "` + at + `"
}`)
			s.fails(at+` of "l" failed`, "plan")
		})
	}
}

func TestDrift(t *testing.T) {
	s := newStage(t, "")
	s.config(`resource "playground_thing" "x" {
  name = "x"
  size = 1
}
resource "playground5_thing" "y" { name = "y" }`)
	s.apply()
	for _, path := range s.objects() {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		edited := regexp.MustCompile(`"size": \d+`).ReplaceAll(data, []byte(`"size": 77`))
		if err := os.WriteFile(path, edited, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out := s.fine("plan"); strings.Count(out, "77") < 2 || !strings.Contains(out, "0 to add, 2 to change") {
		t.Errorf("drift not seen:\n%s", out)
	}
	for _, path := range s.objects() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if out := s.fine("plan"); !strings.Contains(out, "2 to add, 0 to change") {
		t.Errorf("disappearance not seen:\n%s", out)
	}
}

func TestImport(t *testing.T) {
	s := newStage(t, "")
	s.env = append(s.env, "PLAYGROUND_IDS=name")
	text := `
resource "playground_thing" "x" {
  name = "x"
  size = 4
}
resource "playground5_thing" "y" { name = "y" }
resource "playground_blocks" "b" {
  name = "b"
  rule { port = 1 }
}`
	s.config(text)
	s.apply()
	if err := os.Remove(s.path("terraform.tfstate")); err != nil {
		t.Fatal(err)
	}
	s.fine("import", "playground_blocks.b", "blocks-b")
	s.config(text + `
import {
  to = playground_thing.x
  id = "thing-x"
}
import {
  to = playground5_thing.y
  id = "thing-y"
}
import {
  to = playground_thing.generated
  id = "thing-x"
}`)
	if out := s.fine("plan", "-generate-config-out=generated.tf"); !strings.Contains(out, "3 to import, 0 to add") {
		t.Errorf("plan:\n%s", out)
	}
	generated, err := os.ReadFile(s.path("generated.tf"))
	if err != nil || !bytes.Contains(generated, []byte(`name        = "x"`)) {
		t.Errorf("generated:\n%s\n%v", generated, err)
	}
	s.apply()
}

func TestMoved(t *testing.T) {
	s := newStage(t, "")
	s.config(`
resource "playground_old_thing" "x" {
  name = "x"
  size = 4
}
resource "playground5_thing" "y" { name = "y" }`)
	s.apply()
	s.config(`
resource "playground_thing" "x" {
  name = "x"
  size = 4
}
resource "playground_thing" "y" {
  name = "y"
  size = 10
}
moved {
  from = playground_old_thing.x
  to   = playground_thing.x
}
moved {
  from = playground5_thing.y
  to   = playground_thing.y
}`)
	if out := s.apply(); !strings.Contains(out, "0 added, 0 changed, 0 destroyed") {
		t.Errorf("moving did something:\n%s", out)
	}
	s.settled()
	if n := len(s.log("MoveResourceState")); n != 2 {
		t.Errorf("%d moves", n)
	}
	s.destroyed()
}

// oldState contains a thing of each provider in the form of schema version 0.
const oldState = `{"version": 4, "terraform_version": "1.11.4", "serial": 1, "lineage": "l", "outputs": {}, "resources": [
{"mode": "managed", "type": "playground_thing", "name": "x", "provider": "provider[\"registry.opentofu.org/lethe/playground\"]",
 "instances": [{"schema_version": 0, "attributes": {"id": "i", "title": "x", "size": "5"}}]},
{"mode": "managed", "type": "playground5_thing", "name": "y", "provider": "provider[\"registry.opentofu.org/lethe/playground5\"]",
 "instances": [{"schema_version": 0, "attributes": {"id": "j", "title": "y", "size": 10}}]}
]}`

func TestUpgraded(t *testing.T) {
	s := newStage(t, "")
	s.config(`
resource "playground_thing" "x" {
  name = "x"
  size = 5
}
resource "playground5_thing" "y" { name = "y" }`)
	s.write("terraform.tfstate", oldState)
	s.env = append(s.env, "PLAYGROUND_CLOUD=")
	s.apply()
	s.settled()
	s.write("terraform.tfstate", oldState)
	s.env = append(s.env, "PLAYGROUND_FAIL=*:upgrade")
	s.fails(`upgrade of "x" failed`, "plan")
	s.fails(`upgrade of "y" failed`, "plan")
}

func TestStrict(t *testing.T) {
	s := newStage(t, "")
	s.write("main.tf", `
terraform {
  required_providers {
    strict = { source = "registry.opentofu.org/lethe/strict" }
  }
}
data "strict_region" "r" {}
resource "strict_thing" "t" { name = "t" }
output "region" { value = data.strict_region.r.name }`)
	s.fails("region", "apply", "-auto-approve", "-input=false")
	s.write("provider.tf", `provider "strict" { region = "north" }`)
	if out := s.apply(); !strings.Contains(out, `region = "north"`) {
		t.Errorf("applied:\n%s", out)
	}
	s.settled()
	s.destroyed()
}
