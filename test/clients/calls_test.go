package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"
)

// madeIn maps calls of terraform-exec to the test that makes the call. TestEveryCallIsMade fails if a method of the
// library is neither in madeIn nor in notMade, so that a new version of the library adds no untested call.
var madeIn = map[string]string{
	"Apply": "TestWalk", "ApplyJSON": "TestStream", "Destroy": "TestWalk", "DestroyJSON": "TestStream",
	"FormatString": "TestFormat", "Format": "TestFormat", "FormatWrite": "TestFormat", "FormatCheck": "TestFormat",
	"ForceUnlock": "TestForceUnlock", "Get": "TestInit", "Graph": "TestWalk", "Import": "TestImport",
	"Init": "TestInit", "InitJSON": "TestInit", "MetadataFunctions": "TestDescriptions", "Output": "TestWalk",
	"Plan": "TestPlanOptions", "PlanJSON": "TestStream", "ProvidersSchema": "TestDescriptions",
	"ProvidersLock": "TestExecSuite", "ProvidersMirror": "TestExecSuite",
	"Refresh": "TestRefresh", "RefreshJSON": "TestRefresh", "Show": "TestWalk", "ShowStateFile": "TestStateFiles",
	"ShowPlanFile": "TestWalk", "ShowPlanFileRaw": "TestWalk", "StateMv": "TestStateFiles", "StatePull": "TestWalk",
	"StatePush": "TestStateFiles", "StateRm": "TestStateFiles", "Test": "TestExecSuite", "Taint": "TestWalk", "Untaint": "TestWalk",
	"Validate": "TestWalk", "Version": "TestVersion", "WorkspaceDelete": "TestWorkspaces", "WorkspaceList": "TestWorkspaces",
	"WorkspaceNew": "TestWorkspaces", "WorkspaceSelect": "TestWorkspaces", "WorkspaceShow": "TestWorkspaces",
	"SetEnv": "TestDescriptions", "SetLog": "TestLogs", "SetLogCore": "TestLogs", "SetLogPath": "TestLogs",
	"SetLogProvider": "TestLogs", "SetStdout": "TestInterrupted", "SetWaitDelay": "TestInterrupted",
}

// notMade maps calls that no test makes to the reason: Lethe has no command for them, or the program cannot observe
// them.
var notMade = map[string]string{
	"QueryJSON": "asks for 1.14", "StateMigrateJSON": "asks for 1.18", "WorkspaceListJSON": "asks for 1.17",
	"Upgrade012": "asks for 0.12", "Upgrade013": "asks for 0.13",
	"SetLogger": "of the library itself", "SetStderr": "of the library itself", "SetAppendUserAgent": "nothing is fetched",
	"SetDisablePluginTLS": "of the plugins", "SetSkipProviderVerify": "long gone", "SetEnableLegacyPipeClosing": "of the library itself",
	"WorkingDir": "of the library itself", "ExecPath": "of the library itself",
}

func TestEveryCallIsMade(t *testing.T) {
	typ := reflect.TypeFor[*tfexec.Terraform]()
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		if (madeIn[name] == "") == (notMade[name] == "") {
			t.Errorf("%s is made in %q, and not made because %q", name, madeIn[name], notMade[name])
		}
	}
}

func TestVersion(t *testing.T) {
	ctx := context.Background()
	tf := client(t, workspace(t, nil))
	v, providers, err := tf.Version(ctx, true)
	must(t, "version", err)
	if v.String() != "1.12.0" || len(providers) != 0 {
		t.Errorf("%s %v", v, providers)
	}
	// The library itself refuses calls that need a later version of the language.
	if _, err := tf.WorkspaceListJSON(ctx); err == nil {
		t.Error("workspace list -json is not gated")
	}
}

func TestInit(t *testing.T) {
	ctx := context.Background()
	dir := workspace(t, map[string]string{
		"main.tf":   "terraform {\n  backend \"local\" {}\n}\nmodule \"m\" {\n  source = \"./m\"\n}\n",
		"m/main.tf": "resource \"terraform_data\" \"a\" {}\n", "plugins/x": "",
	})
	tf := client(t, dir)
	must(t, "get", tf.Get(ctx, tfexec.Update(true)))
	if _, err := os.Stat(filepath.Join(dir, ".terraform/modules/modules.json")); err != nil {
		t.Error(err)
	}
	must(t, "init with options", tf.Init(ctx, tfexec.Backend(true), tfexec.BackendConfig("path=s/other.tfstate"), tfexec.Get(true),
		tfexec.Upgrade(true), tfexec.Reconfigure(true), tfexec.PluginDir(filepath.Join(dir, "plugins"))))
	must(t, "apply", tf.Apply(ctx))
	if _, err := os.Stat(filepath.Join(dir, "s/other.tfstate")); err != nil {
		t.Errorf("-backend-config is not kept: %v", err)
	}
	must(t, "init -backend=false", tf.Init(ctx, tfexec.Backend(false)))
	must(t, "init -force-copy", tf.Init(ctx, tfexec.ForceCopy(true), tfexec.BackendConfig("path=s/other.tfstate")))
	var b bytes.Buffer
	must(t, "init -json", tf.InitJSON(ctx, &b, tfexec.Reconfigure(true)))
	if n := checkStream(t, b.Bytes()); n["init_output"] == 0 {
		t.Errorf("%v", n)
	}
}

// TestPlanOptions checks that every option of planning reaches the planner.
func TestPlanOptions(t *testing.T) {
	ctx := context.Background()
	dir := workspace(t, map[string]string{
		"main.tf": `variable "n" {}
variable "m" { default = {} }
resource "terraform_data" "a" { input = var.n }
resource "terraform_data" "b" { input = 1 }
output "m" { value = var.m }
`, "n.tfvars": "n = 7\n",
	})
	tf := client(t, dir)
	must(t, "apply", tf.Apply(ctx, tfexec.VarFile("n.tfvars"), tfexec.Parallelism(3), tfexec.Refresh(true), tfexec.Lock(true), tfexec.LockTimeout("1s")))
	for _, c := range []struct {
		name string
		opts []tfexec.PlanOption
		want map[string]string // the actions of each changed object, by address
	}{
		{"target", []tfexec.PlanOption{tfexec.Var("n=8"), tfexec.Target("terraform_data.b")}, map[string]string{}},
		{"replace", []tfexec.PlanOption{tfexec.VarFile("n.tfvars"), tfexec.Replace("terraform_data.b")}, map[string]string{"terraform_data.b": "delete create"}},
		{"destroy", []tfexec.PlanOption{tfexec.VarFile("n.tfvars"), tfexec.Destroy(true)}, map[string]string{"terraform_data.a": "delete", "terraform_data.b": "delete"}},
		{"refresh-only", []tfexec.PlanOption{tfexec.VarFile("n.tfvars"), tfexec.RefreshOnly(true)}, map[string]string{}},
		{"refresh", []tfexec.PlanOption{tfexec.Var("n=8"), tfexec.Refresh(false), tfexec.Parallelism(1), tfexec.Lock(false)}, map[string]string{"terraform_data.a": "update"}},
		{"values of all kinds", []tfexec.PlanOption{tfexec.Var("n=9"), tfexec.Var(`m={ a = [1, "x=y"] }`)}, map[string]string{"terraform_data.a": "update"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "p")
			_, err := tf.Plan(ctx, append(c.opts, tfexec.Out(out))...)
			must(t, "plan", err)
			p, err := tf.ShowPlanFile(ctx, out)
			must(t, "show", err)
			must(t, "validating", p.Validate())
			got := map[string]string{}
			for _, rc := range p.ResourceChanges {
				if !rc.Change.Actions.NoOp() {
					var words []string
					for _, a := range rc.Change.Actions {
						words = append(words, string(a))
					}
					got[rc.Address] = strings.Join(words, " ")
				}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	_, err := tf.Plan(ctx)
	if err == nil || !strings.Contains(err.Error(), "No value for required variable") {
		t.Errorf("without a value: %v", err)
	}
}

func TestFormat(t *testing.T) {
	ctx := context.Background()
	dir := workspace(t, map[string]string{"main.tf": "locals { a=1 }\n", "sub/x.tfvars": "a=1\n", "good.tf": "locals {}\n"})
	tf := client(t, dir)
	ok, files, err := tf.FormatCheck(ctx, tfexec.Recursive(true))
	must(t, "fmt -check", err)
	slices.Sort(files)
	if ok || !slices.Equal(files, []string{"main.tf", "sub/x.tfvars"}) {
		t.Errorf("%v %q", ok, files)
	}
	text, err := tf.FormatString(ctx, "a=1\n")
	must(t, "fmt -", err)
	if text != "a = 1\n" {
		t.Errorf("%q", text)
	}
	var b bytes.Buffer
	must(t, "fmt -", tf.Format(ctx, strings.NewReader("b  =  [ 1,2 ]\n"), &b))
	if b.String() != "b = [1, 2]\n" {
		t.Errorf("%q", b.String())
	}
	if _, err := tf.FormatString(ctx, "a = {"); err == nil {
		t.Error("what cannot be read is formatted")
	}
	must(t, "fmt", tf.FormatWrite(ctx, tfexec.Recursive(true), tfexec.Dir(".")))
	if ok, files, err = tf.FormatCheck(ctx); err != nil || !ok {
		t.Errorf("after fmt: %v %v %v", ok, files, err)
	}
}

func TestWorkspaces(t *testing.T) {
	ctx := context.Background()
	tf := client(t, workspace(t, map[string]string{"main.tf": "resource \"terraform_data\" \"a\" {}\n"}))
	must(t, "init", tf.Init(ctx))
	must(t, "apply", tf.Apply(ctx))
	must(t, "workspace new", tf.WorkspaceNew(ctx, "w2", tfexec.LockTimeout("1s"), tfexec.Lock(true)))
	must(t, "workspace new -state", tf.WorkspaceNew(ctx, "w3", tfexec.CopyState("terraform.tfstate")))
	list, current, err := tf.WorkspaceList(ctx)
	must(t, "workspace list", err)
	if !slices.Equal(list, []string{"default", "w2", "w3"}) || current != "w3" {
		t.Errorf("%v %q", list, current)
	}
	if shown, err := tf.WorkspaceShow(ctx); err != nil || shown != "w3" {
		t.Errorf("%q %v", shown, err)
	}
	s, err := tf.Show(ctx)
	must(t, "show", err)
	if s.Values == nil || len(s.Values.RootModule.Resources) != 1 {
		t.Error("the state was not copied into the workspace")
	}
	err = tf.WorkspaceNew(ctx, "w2")
	if err == nil || !strings.Contains(err.Error(), `Workspace "w2" already exists`) {
		t.Errorf("a second w2: %v", err)
	}
	must(t, "workspace select", tf.WorkspaceSelect(ctx, "default"))
	err = tf.WorkspaceSelect(ctx, "w9")
	if err == nil || !strings.Contains(err.Error(), `Workspace "w9" doesn't exist`) {
		t.Errorf("a missing workspace: %v", err)
	}
	must(t, "workspace delete", tf.WorkspaceDelete(ctx, "w2"))
	if err := tf.WorkspaceDelete(ctx, "w3"); err == nil {
		t.Error("a workspace with objects was deleted")
	}
	must(t, "workspace delete -force", tf.WorkspaceDelete(ctx, "w3", tfexec.Force(true), tfexec.Lock(false)))
}

func TestRefresh(t *testing.T) {
	ctx := context.Background()
	tf := client(t, workspace(t, map[string]string{"main.tf": "variable \"n\" {\n  type = number\n  default = 1\n}\nresource \"terraform_data\" \"a\" {}\noutput \"n\" { value = var.n }\n"}))
	must(t, "apply", tf.Apply(ctx))
	must(t, "refresh", tf.Refresh(ctx, tfexec.Var("n=2"), tfexec.Lock(true), tfexec.Target("terraform_data.a")))
	var b bytes.Buffer
	must(t, "refresh -json", tf.RefreshJSON(ctx, &b, tfexec.Var("n=2")))
	if n := checkStream(t, b.Bytes()); n["refresh_start"] != 1 || n["outputs"] == 0 {
		t.Errorf("%v", n)
	}
	outs, err := tf.Output(ctx)
	must(t, "output", err)
	if string(outs["n"].Value) != "2" {
		t.Errorf("%s", outs["n"].Value)
	}
}

// stateFile returns the deprecated option -state, which users still give.
//
//lint:ignore SA1019 it must go on working
func stateFile(path string) *tfexec.StateOption { return tfexec.State(path) }

// TestStateFiles checks the commands that read and change states, with every option about files.
func TestStateFiles(t *testing.T) {
	ctx := context.Background()
	dir := workspace(t, map[string]string{"main.tf": "resource \"terraform_data\" \"a\" {\n  count = 3\n}\nmodule \"m\" {\n  source = \"./m\"\n}\n", "m/m.tf": "resource \"terraform_data\" \"b\" {}\n"})
	tf := client(t, dir)
	must(t, "init", tf.Init(ctx))
	must(t, "apply", tf.Apply(ctx, tfexec.StateOut("one.tfstate"), tfexec.Backup("first.backup")))
	s, err := tf.ShowStateFile(ctx, "one.tfstate")
	must(t, "show FILE", err)
	must(t, "validating", s.Validate())
	if len(s.Values.RootModule.Resources) != 3 || len(s.Values.RootModule.ChildModules) != 1 {
		t.Errorf("%+v", s.Values.RootModule)
	}
	files := func(in, out string) []tfexec.StateMvCmdOption {
		return []tfexec.StateMvCmdOption{stateFile(in), tfexec.StateOut(out), tfexec.Backup(in + ".b1"), tfexec.BackupOut(out + ".b2"), tfexec.Lock(true), tfexec.LockTimeout("1s")}
	}
	must(t, "state mv -dry-run", tf.StateMv(ctx, "terraform_data.a[0]", "terraform_data.z", stateFile("one.tfstate"), tfexec.DryRun(true)))
	must(t, "state mv between files", tf.StateMv(ctx, "terraform_data.a[0]", "terraform_data.z", files("one.tfstate", "two.tfstate")...))
	must(t, "state mv of a module", tf.StateMv(ctx, "module.m", "module.n", files("one.tfstate", "two.tfstate")...))
	for file, want := range map[string][]string{"one.tfstate": {"terraform_data.a[1]", "terraform_data.a[2]"}, "two.tfstate": {"module.n.terraform_data.b", "terraform_data.z"}} {
		s, err := tf.ShowStateFile(ctx, file)
		must(t, "show "+file, err)
		if got := addresses(s.Values.RootModule); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", file, got, want)
		}
	}
	must(t, "state rm", tf.StateRm(ctx, "terraform_data.a[1]", stateFile("one.tfstate"), tfexec.Backup("rm.backup"), tfexec.Lock(true)))
	must(t, "state rm -dry-run", tf.StateRm(ctx, "terraform_data.a[2]", stateFile("one.tfstate"), tfexec.DryRun(true)))
	must(t, "state push", tf.StatePush(ctx, "one.tfstate", tfexec.Lock(true), tfexec.LockTimeout("1s")))
	text, err := tf.StatePull(ctx)
	must(t, "state pull", err)
	var pulled struct {
		Version   int
		Resources []any
	}
	if err := json.Unmarshal([]byte(text), &pulled); err != nil || pulled.Version != 4 || len(pulled.Resources) != 1 {
		t.Errorf("%v: %s", err, text)
	}
	if err := tf.StatePush(ctx, "two.tfstate"); err == nil {
		t.Error("a state of another lineage was pushed")
	}
	must(t, "state push -force", tf.StatePush(ctx, "two.tfstate", tfexec.Force(true)))
	must(t, "taint", tf.Taint(ctx, "terraform_data.a[2]", stateFile("one.tfstate"), tfexec.AllowMissing(true), tfexec.Lock(true)))
	must(t, "untaint", tf.Untaint(ctx, "terraform_data.a[2]", stateFile("one.tfstate"), tfexec.AllowMissing(true)))
	must(t, "taint -allow-missing", tf.Taint(ctx, "terraform_data.a[77]", tfexec.AllowMissing(true)))
	if err := tf.Taint(ctx, "terraform_data.a[77]"); err == nil {
		t.Error("what is not there was tainted")
	}
	must(t, "destroy", tf.Destroy(ctx, stateFile("one.tfstate"), tfexec.StateOut("gone.tfstate"), tfexec.DisableBackup(), tfexec.Parallelism(2), tfexec.Refresh(true)))
	s, err = tf.ShowStateFile(ctx, "gone.tfstate")
	must(t, "show", err)
	if s.Values != nil {
		t.Errorf("after destroy there is %v", addresses(s.Values.RootModule))
	}
}

// addresses returns the addresses in a module and its children, sorted.
func addresses(m *tfjson.StateModule) []string {
	var out []string
	for _, r := range m.Resources {
		out = append(out, r.Address)
	}
	for _, c := range m.ChildModules {
		out = append(out, addresses(c)...)
	}
	slices.Sort(out)
	return out
}

func TestForceUnlock(t *testing.T) {
	ctx := context.Background()
	dir := workspace(t, map[string]string{"main.tf": "resource \"terraform_data\" \"a\" {}\n"})
	tf := client(t, dir)
	must(t, "init", tf.Init(ctx))
	must(t, "writing", os.WriteFile(filepath.Join(dir, ".terraform.tfstate.lock.info"), []byte(`{"ID":"6e1e6e2a-0000-4000-8000-000000000000","Operation":"x","Who":"a@b","Version":"1.11.4","Created":"2026-01-01T00:00:00Z","Path":"terraform.tfstate"}`), 0o600))
	if err := tf.ForceUnlock(ctx, "another"); err == nil {
		t.Error("a lock of another ID was broken")
	}
	must(t, "force-unlock", tf.ForceUnlock(ctx, "6e1e6e2a-0000-4000-8000-000000000000"))
	must(t, "apply", tf.Apply(ctx))
}

func TestImport(t *testing.T) {
	ctx := context.Background()
	dir := workspace(t, map[string]string{"conf/main.tf": "variable \"v\" {}\nresource \"terraform_data\" \"a\" {}\n"})
	tf := client(t, dir)
	must(t, "init", tf.Init(ctx))
	must(t, "import", tf.Import(ctx, "terraform_data.a", "the-id", tfexec.Config("conf"), tfexec.Var("v=1"), tfexec.Lock(true), tfexec.Backup("b"), stateFile("i.tfstate"), tfexec.StateOut("i.tfstate")))
	s, err := tf.ShowStateFile(ctx, "i.tfstate")
	must(t, "show", err)
	if got := s.Values.RootModule.Resources[0].AttributeValues["id"]; got != "the-id" {
		t.Errorf("imported %v", got)
	}
	err = tf.Import(ctx, "terraform_data.missing", "x", tfexec.Config("conf"), tfexec.Var("v=1"))
	if err == nil || !strings.Contains(err.Error(), "does not exist in the configuration") {
		t.Errorf("%v", err)
	}
}

func TestLogs(t *testing.T) {
	ctx := context.Background()
	dir := workspace(t, map[string]string{"main.tf": "resource \"terraform_data\" \"a\" {}\n"})
	tf := client(t, dir)
	log := filepath.Join(dir, "log")
	must(t, "log", tf.SetLog("TRACE"))
	must(t, "log", tf.SetLogCore("DEBUG"))
	must(t, "log", tf.SetLogProvider("INFO"))
	must(t, "log", tf.SetLogPath(log))
	must(t, "apply", tf.Apply(ctx))
	if text, err := os.ReadFile(log); err != nil || !bytes.Contains(text, []byte("[INFO]")) {
		t.Errorf("%v: %s", err, text)
	}
}

// TestInterrupted checks that the library sends one interrupt when its context ends. Finished changes are in the state,
// the provider is asked to stop its call, no further change is started, and the lock is released.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir := workspace(t, map[string]string{"main.tf": `terraform {
  required_providers { playground = { source = "registry.opentofu.org/lethe/playground" } }
}
resource "playground_thing" "first" { name = "first" }
resource "playground_thing" "slow" {
  depends_on = [playground_thing.first]
  name       = "slow"
  delay      = "5s"
}
resource "playground_thing" "never" {
  depends_on = [playground_thing.slow]
  name       = "never"
}
`})
	log := filepath.Join(dir, "calls")
	tf := client(t, dir)
	withPlayground(t, tf, dir, map[string]string{"PLAYGROUND_LOG": log, "PLAYGROUND_LOG_BEGIN": "1"})
	must(t, "wait", tf.SetWaitDelay(time.Minute))
	var out bytes.Buffer
	tf.SetStdout(&out)
	done := make(chan error)
	go func() { done <- tf.Apply(ctx) }()
	waitFor(t, log, `"key":"slow","action":"create","phase":"begin"`)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if !strings.Contains(out.String(), "Interrupt received.") {
		t.Errorf("the interrupt is not told of:\n%s", out.String())
	}
	s, err := tf.ShowStateFile(context.Background(), "terraform.tfstate")
	must(t, "show", err)
	if got := addresses(s.Values.RootModule); !slices.Equal(got, []string{"playground_thing.first"}) {
		t.Errorf("the state has %v", got)
	}
	must(t, "apply", tf.Apply(context.Background()))
}

// waitFor waits until the log of provider calls contains an apply call with the text. It ends the test after a minute.
func waitFor(t *testing.T, log, text string) {
	t.Helper()
	for range 3000 {
		data, _ := os.ReadFile(log)
		for _, line := range strings.Split(string(data), "\n") {
			if strings.Contains(line, `"ApplyResourceChange"`) && strings.Contains(line, text) {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	data, _ := os.ReadFile(log)
	t.Fatalf("never called: %s in\n%s", text, data)
}

// withPlayground makes the client use the built playground provider. It replaces the environment of the program, to
// which it adds env.
func withPlayground(t *testing.T, tf *tfexec.Terraform, dir string, env map[string]string) {
	t.Helper()
	rc := filepath.Join(dir, "rc")
	text := "provider_installation {\n  dev_overrides { \"registry.opentofu.org/lethe/playground\" = \"" + filepath.Dir(binary(t, playground)) + "\" }\n  direct {}\n}\n"
	must(t, "writing", os.WriteFile(rc, []byte(text), 0o644))
	all := map[string]string{"TF_CLI_CONFIG_FILE": rc, "PATH": os.Getenv("PATH"), "HOME": dir}
	for name, value := range env {
		all[name] = value
	}
	must(t, "environment", tf.SetEnv(all))
}
