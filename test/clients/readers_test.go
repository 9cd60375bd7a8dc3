package clients

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// These tests apply the regular expressions of other programs to the output of Lethe. The expressions come from the
// versions that docs/clients.md names.

// reader is a directory in which the program runs in the way that other programs run it. program is a link to Lethe.
type reader struct {
	*testing.T
	program, dir string
	env          []string
}

// newReader returns a reader with files in its directory, by path. Its program has the name.
func newReader(t *testing.T, name string, files map[string]string) *reader {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	must(t, "linking", os.Symlink(binary(t, lethe), program))
	dir := workspace(t, files)
	return &reader{t, program, dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TF_CLI_CONFIG_FILE=" + os.DevNull, "TF_INPUT=0"}}
}

// playground makes the configuration use the playground provider, and returns the directory of its objects.
func (r *reader) playground() string {
	r.Helper()
	rc, cloud := filepath.Join(r.dir, "rc"), filepath.Join(r.dir, "cloud")
	text := "provider_installation {\n  dev_overrides { \"registry.opentofu.org/lethe/playground\" = \"" + filepath.Dir(binary(r.T, playground)) + "\" }\n  direct {}\n}\n"
	must(r.T, "writing", os.WriteFile(rc, []byte(text), 0o644))
	must(r.T, "making", os.Mkdir(cloud, 0o755))
	r.env = append(r.env, "TF_CLI_CONFIG_FILE="+rc, "PLAYGROUND_CLOUD="+cloud, "PLAYGROUND_IDS=name")
	return cloud
}

// run returns the output of both streams, and the exit code.
func (r *reader) run(args ...string) (string, int) {
	r.Helper()
	cmd := exec.Command(r.program, args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// wants checks that each regular expression matches a part of the output.
func (r *reader) wants(out string, expressions ...string) {
	r.Helper()
	for _, e := range expressions {
		if !regexp.MustCompile(e).MatchString(out) {
			r.Errorf("nothing matches %s in:\n%s", e, out)
		}
	}
}

const readConfig = `terraform {
  required_providers { playground = { source = "registry.opentofu.org/lethe/playground" } }
}
resource "terraform_data" "created" {}
resource "terraform_data" "updated" { input = 2 }
resource "terraform_data" "replaced" { triggers_replace = 2 }
resource "terraform_data" "tainted" {}
resource "terraform_data" "requested" {}
resource "terraform_data" "triggered" {
  lifecycle { replace_triggered_by = [terraform_data.updated] }
}
resource "terraform_data" "here" {}
moved {
  from = terraform_data.there
  to   = terraform_data.here
}
resource "terraform_data" "imported" {}
import {
  to = terraform_data.imported
  id = "the-id"
}
resource "playground_thing" "drifts" { name = "drifts" }
output "o" { value = terraform_data.updated.output }
`

const readBefore = `terraform {
  required_providers { playground = { source = "registry.opentofu.org/lethe/playground" } }
}
resource "terraform_data" "updated" { input = 1 }
resource "terraform_data" "replaced" { triggers_replace = 1 }
resource "terraform_data" "tainted" {}
resource "terraform_data" "requested" {}
resource "terraform_data" "triggered" {}
resource "terraform_data" "there" {}
resource "terraform_data" "gone" {}
resource "playground_thing" "drifts" { name = "drifts" }
`

// TestReadPlan checks the text of plans that tfcmt, Atlantis and infracost read.
func TestReadPlan(t *testing.T) {
	for name, product := range map[string]string{"lethe": "Lethe", "terraform": "Terraform", "tofu-lethe": "OpenTofu"} {
		t.Run(name, func(t *testing.T) {
			r := newReader(t, name, map[string]string{"main.tf": readBefore})
			cloud := r.playground()
			out, code := r.run("apply", "-auto-approve", "-no-color")
			if code != 0 {
				t.Fatal(out)
			}
			r.wants(out, `(?m)^(Apply complete!)`, `(?m)^(Plan: \d|No changes.)`)
			for _, file := range mustGlob(t, filepath.Join(cloud, "*.json")) {
				must(t, "removing", os.Remove(file))
			}
			lines(t, r, []string{"plan", "-refresh-only", "-no-color"}, "Note: Objects have changed outside of "+product) // the line that Atlantis and tfcmt search for
			if out, code := r.run("taint", "terraform_data.tainted"); code != 0 {
				t.Fatal(out)
			}
			must(t, "writing", os.WriteFile(filepath.Join(r.dir, "main.tf"), []byte(readConfig), 0o644))
			out, code = lines(t, r, []string{"plan", "-input=false", "-no-color", "-detailed-exitcode", "-replace=terraform_data.requested", "-out", "p"}, product+" will perform the following actions:")
			if code != 2 {
				t.Errorf("exit code %d", code)
			}
			r.wants(out,
				// the expressions of tfcmt
				`(?m)^(Plan: \d|No changes.)`, `(?m)^Changes to Outputs:`,
				`(?m)^ *# terraform_data\.created will be created$`, `(?m)^ *# terraform_data\.updated will be updated in-place$`, `(?m)^ *# terraform_data\.gone will be destroyed$`,
				`(?m)^ *# terraform_data\.replaced must be replaced$`, `(?m)^ *# terraform_data\.tainted is tainted, so must be replaced$`,
				`(?m)^ *# terraform_data\.requested will be replaced, as requested$`, `(?m)^ *# terraform_data\.triggered will be replaced due to changes in replace_triggered_by$`,
				`(?m)^ *# terraform_data\.there has moved to terraform_data\.here$`, `(?m)^ *# terraform_data\.imported will be imported$`,
				`(?m)^─────`,
				// the expressions of Atlantis
				`Plan: (?:(\d+) to import, )?(\d+) to add, (\d+) to change, (\d+) to destroy(?:, (\d+) to forget)?\.`,
				`(?m)^( +)([-+~]\s)((?:resource|data|module)\s+.+\{.*)`,
			)
			out, code = r.run("apply", "-input=false", "-no-color", "p")
			r.wants(out, `(?m)^(Apply complete!)`)
			if code != 0 {
				t.Errorf("exit code %d", code)
			}
			out, code = r.run("plan", "-input=false", "-no-color", "-detailed-exitcode")
			r.wants(out, `No changes. (Infrastructure is up-to-date|Your infrastructure matches the configuration).`)
			if code != 0 {
				t.Errorf("exit code %d:\n%s", code, out)
			}
		})
	}
}

// lines runs a command whose output must contain the whole line, and returns the output and the exit code.
func lines(t *testing.T, r *reader, args []string, line string) (string, int) {
	t.Helper()
	out, code := r.run(args...)
	if !slices.Contains(strings.Split(out, "\n"), line) {
		t.Errorf("there is no line %q in:\n%s", line, out)
	}
	return out, code
}

// TestReadVersion checks the version, which programs read first.
func TestReadVersion(t *testing.T) {
	terragrunt := regexp.MustCompile(`^(\S+)\s(v?\d+\.\d+\.\d+)`)
	for name, word := range map[string]string{"lethe": "Lethe", "terraform": "Terraform", "tofu": "OpenTofu", "tofu-lethe": "OpenTofu", "terraform-bin": "Terraform"} {
		r := newReader(t, name, nil)
		for _, args := range []string{"version", "-version", "--version", "-v"} {
			out, code := r.run(args)
			if m := terragrunt.FindStringSubmatch(out); m == nil || m[1] != word || code != 0 {
				t.Errorf("%s %s: %q", name, args, out)
			}
			r.wants(out, `(?:Terraform|OpenTofu) v(.*?)(\s.*)?\n`, `v?(\d+\.\d+\.\d+)`, `(?:Terraform|OpenTofu|Lethe) v?(\d+(\.\d+)*(-[A-Za-z0-9.]+)?)`) // the expressions of Atlantis, terramate and terraform-exec
		}
		out, _ := r.run("version", "-json") // out has standard output and errors, because hc-install reads both together
		var doc map[string]any
		if err := json.Unmarshal([]byte(out), &doc); err != nil || doc["terraform_version"] == nil || doc["platform"] == nil || doc["provider_selections"] == nil {
			t.Errorf("%v: %s", err, out)
		}
	}
}

// TestReadPlanFile checks how checkov, trivy, infracost and terramate recognize a plan, as JSON and as a file.
func TestReadPlanFile(t *testing.T) {
	r := newReader(t, "lethe", map[string]string{"main.tf": "module \"m\" {\n  source = \"./m\"\n}\nresource \"terraform_data\" \"a\" { input = 9007199254740993 }\n", "m/main.tf": "resource \"terraform_data\" \"b\" {}\n"})
	r.run("init")
	if out, code := r.run("plan", "-input=false", "-lock=false", "-no-color", "-out", "p"); code != 0 {
		t.Fatal(out)
	}
	out, _ := r.run("show", "-no-color", "-json", "p")
	var doc struct {
		Terraform string `json:"terraform_version"`
		Format    string `json:"format_version"`
		Planned   struct {
			Root struct {
				Resources []struct{ Address string }
				Children  []struct {
					Resources []struct{ Address string }
				} `json:"child_modules"`
			} `json:"root_module"`
		} `json:"planned_values"`
		Changes []struct {
			Address string
			Change  struct{ Actions []string }
		} `json:"resource_changes"`
		Configuration map[string]any
	}
	must(t, "decoding", json.Unmarshal([]byte(out), &doc))
	root := doc.Planned.Root
	if doc.Terraform == "" || doc.Format == "" || len(root.Resources) != 1 || len(root.Children) != 1 || root.Children[0].Resources[0].Address != "module.m.terraform_data.b" || len(doc.Changes) != 2 || doc.Changes[0].Change.Actions[0] != "create" || doc.Configuration["root_module"] == nil {
		t.Errorf("%+v", doc)
	}
	if !strings.Contains(out, "9007199254740993") {
		t.Error("a number lost digits")
	}
	z, err := zip.OpenReader(filepath.Join(r.dir, "p"))
	must(t, "opening the plan", err)
	defer z.Close()
	if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == "tfplan" }) {
		t.Error("the plan has no member tfplan")
	}
	if out, _ := r.run("show", "-no-color", "p"); !strings.Contains(out, "# terraform_data.a will be created") {
		t.Error(out)
	}
	r.run("apply", "-auto-approve")
	out, _ = r.run("show", "-json")
	var state map[string]any
	if err := json.Unmarshal([]byte(out), &state); err != nil || state["format_version"] == nil || state["values"] == nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestReadErrors checks titles that wrappers search for, in text and in JSON.
func TestReadErrors(t *testing.T) {
	r := newReader(t, "lethe", map[string]string{
		"variable/main.tf": "variable \"v\" {}\n",
		"module/main.tf":   "module \"m\" {\n  source = \"git::https://127.0.0.1/m.git\"\n}\n",
		"core/main.tf":     "terraform {\n  required_version = \">= 99\"\n}\n",
		"provider/main.tf": "resource \"random_pet\" \"a\" {}\n",
		"fine/main.tf":     "variable \"v\" { default = 1 }\nresource \"terraform_data\" \"a\" { input = var.v }\n",
	})
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"-chdir=variable", "plan", "-input=false", "-no-color"}, []string{`(?m)^(│ )?Error: No value for required variable`, `The root module input variable "`, `(?m)^([│|] )?(Error: )`}}, // the expressions of infracost, cdktn and tfcmt
		{[]string{"-chdir=variable", "plan", "-var-file=missing", "-no-color"}, []string{`Error: Failed to read variables file`}},
		{[]string{"-chdir=core", "plan", "-no-color"}, []string{`Error: Unsupported Terraform Core version`}},
		{[]string{"-chdir=fine", "workspace", "select", "nowhere"}, []string{`Workspace "nowhere" doesn't exist`}},
		{[]string{"-chdir=module", "validate", "-json"}, []string{`"summary":\s*"Module not installed"`}}, // the expression of pre-commit-terraform
		{[]string{"-chdir=provider", "validate", "-json"}, []string{`"summary":\s*"Missing required provider"`}},
	} {
		out, code := r.run(c.args...)
		if code != 1 {
			t.Errorf("%v: exit code %d", c.args, code)
		}
		r.wants(out, c.want...)
	}
	r.env = append(r.env, "TF_LOG=info")
	out, _ := r.run("-chdir=fine", "apply", "-auto-approve", "-no-color")
	r.wants(out, `(?mi)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\S*\s*\[(trace|debug|warn|info|error)\]\s*\S+`) // the expression of terragrunt for a log line
	r.env = r.env[:len(r.env)-1]
	if out, code := r.run("-chdir=fine", "workspace", "list"); code != 0 || out != "* default\n\n" {
		t.Errorf("%q", out)
	}
	if out, code := r.run("-chdir=fine", "fmt", "-check"); code != 0 {
		t.Errorf("fmt -check of what is formatted: %d %s", code, out)
	}
	must(t, "writing", os.WriteFile(filepath.Join(r.dir, "fine/b.tf"), []byte("locals {\na=1\n}\n"), 0o644))
	if out, code := r.run("-chdir=fine", "fmt", "-check"); code != 3 || !bytes.Contains([]byte(out), []byte("b.tf")) {
		t.Errorf("fmt -check: %d %s", code, out)
	}
}
