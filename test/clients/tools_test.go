package clients

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/test/providers/source"
)

// These tests build published programs and run them as users do. Building takes minutes: LETHE_LONG=1 builds them. A
// variable can name an existing program instead.

// tool returns the path of a program: the value of the environment variable, or a build of the module if the variable
// is not set. It skips the test if LETHE_LONG is not set either, or if the module is not available.
func tool(t *testing.T, variable string, m source.Module) string {
	t.Helper()
	if bin := os.Getenv(variable); bin != "" {
		return bin
	}
	if os.Getenv("LETHE_LONG") == "" {
		t.Skip("to build the program takes minutes: LETHE_LONG=1 does it, " + variable + " names one")
	}
	base, err := dir()
	must(t, "a directory", err)
	src, err := m.Copy(base)
	if errors.Is(err, source.ErrAbsent) {
		t.Skip(err)
	}
	must(t, "copying", err)
	path := filepath.Join(base, filepath.Base(m.Path))
	must(t, "building", source.Go(src, "build", "-o", path, "."))
	must(t, "removing", os.RemoveAll(src))
	return path
}

// other runs another program in the directory, and returns its output and its exit code.
func (r *reader) other(program string, args ...string) (string, int) {
	r.Helper()
	own := r.program
	defer func() { r.program = own }()
	r.program = program
	return r.run(args...)
}

const toolsConfig = `terraform {
  required_version = ">= 1.0"
}
module "named" {
  source = "./m"
  name   = "n"
}
module "again" {
  source = "./m"
  name   = "m"
}
resource "terraform_data" "a" {
  input = 1
}
variable "unused" {
  type        = string
  default     = "u"
  description = "It is used nowhere."
}
output "named" {
  value = module.named.name
}
`

func toolsFiles() map[string]string {
	return map[string]string{"main.tf": toolsConfig, "m/main.tf": "variable \"name\" {\n  type = string\n}\noutput \"name\" {\n  value = var.name\n}\n"}
}

// TestTflint checks that tflint reads the modules that init installed, and reports the same after init by both
// programs.
func TestTflint(t *testing.T) {
	bin := tool(t, "TFLINT_BIN", source.Module{Path: "github.com/terraform-linters/tflint", Version: "v0.64.0"})
	said := map[string]string{}
	for _, name := range []string{"lethe", "terraform"} {
		r := newReader(t, "lethe", toolsFiles())
		if name == "terraform" {
			program, err := exec.LookPath(name)
			if err != nil {
				continue
			}
			r.program = program
		}
		if out, code := r.run("init"); code != 0 {
			t.Fatal(out)
		}
		must(t, "writing", os.WriteFile(filepath.Join(r.dir, ".tflint.hcl"), []byte("config {\n  call_module_type = \"all\"\n}\nplugin \"terraform\" {\n  enabled = true\n  preset  = \"all\"\n}\n"), 0o644))
		out, _ := r.other(bin, "--format=json", "--force")
		said[name] = out
	}
	var doc struct {
		Issues []struct{ Rule struct{ Name string } }
		Errors []any
	}
	must(t, "decoding", json.Unmarshal([]byte(said["lethe"]), &doc))
	found := map[string]bool{}
	for _, i := range doc.Issues {
		found[i.Rule.Name] = true
	}
	if !found["terraform_unused_declarations"] || !found["terraform_documented_outputs"] || len(doc.Errors) > 0 {
		t.Error(said["lethe"])
	}
	if other, there := said["terraform"]; there && other != said["lethe"] {
		t.Errorf("after Terraform's init it says:\n%s\nand after ours:\n%s", other, said["lethe"])
	}
}

// TestConftest checks that policies for a plan see its changes.
func TestConftest(t *testing.T) {
	bin := tool(t, "CONFTEST_BIN", source.Module{Path: "github.com/open-policy-agent/conftest", Version: "v0.71.1"})
	files := toolsFiles()
	files["policy/p.rego"] = `package main

import rego.v1

deny contains msg if {
	some c in input.resource_changes
	"delete" in c.change.actions
	msg := sprintf("%s is destroyed", [c.address])
}

deny contains msg if {
	some name, v in input.planned_values.outputs
	not v.sensitive
	v.value == "secret"
	msg := sprintf("%s is seen", [name])
}

warn contains msg if {
	some c in input.resource_changes
	"create" in c.change.actions
	input.configuration.root_module.module_calls.named.source == "./m"
	msg := sprintf("%s is created from %v", [c.address, c.change.after.input])
}
`
	r := newReader(t, "lethe", files)
	document := func(args ...string) {
		for _, args := range [][]string{append([]string{"plan", "-out=p"}, args...), {"show", "-json", "p"}} {
			out, code := r.run(args...)
			if code != 0 {
				t.Fatal(out)
			}
			must(t, "writing", os.WriteFile(filepath.Join(r.dir, "p.json"), []byte(out), 0o644))
		}
	}
	document()
	out, code := r.other(bin, "test", "--no-color", "p.json")
	if r.wants(out, `WARN - p.json - main - terraform_data.a is created from 1`, `1 warning, 0 failures`); code != 0 {
		t.Errorf("exit code %d", code)
	}
	r.run("apply", "-auto-approve")
	document("-destroy")
	out, code = r.other(bin, "test", "--no-color", "p.json")
	if r.wants(out, `FAIL - p.json - main - terraform_data.a is destroyed`); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// TestTerraformDocs checks that terraform-docs reads values of outputs from output -json, and the lock file.
func TestTerraformDocs(t *testing.T) {
	bin := tool(t, "TERRAFORM_DOCS_BIN", source.Module{Path: "github.com/terraform-docs/terraform-docs", Version: "v0.20.0"})
	r := newReader(t, "lethe", toolsFiles())
	for _, args := range [][]string{{"init"}, {"apply", "-auto-approve"}} {
		if out, code := r.run(args...); code != 0 {
			t.Fatal(out)
		}
	}
	values, _ := r.run("output", "-json")
	must(t, "writing", os.WriteFile(filepath.Join(r.dir, "values.json"), []byte(values), 0o644))
	out, code := r.other(bin, "json", "--output-values", "--output-values-from=values.json", ".")
	var doc struct {
		Outputs []struct {
			Name  string
			Value any
		}
		Modules []struct{ Name, Source string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 || len(doc.Outputs) != 1 || doc.Outputs[0].Value != "n" || len(doc.Modules) != 2 {
		t.Errorf("%v, exit code %d: %s", err, code, out)
	}
}

// TestTerragrunt applies a stack of two units, with the server that stores providers for all units. One unit uses the
// outputs of the other.
func TestTerragrunt(t *testing.T) {
	bin := tool(t, "TERRAGRUNT_BIN", source.Module{Path: "github.com/gruntwork-io/terragrunt", Version: "v1.1.3"})
	for _, name := range []string{"tofu-lethe", "lethe"} {
		t.Run(name, func(t *testing.T) {
			r := newReader(t, name, map[string]string{
				"root.hcl":              "inputs = { suffix = \"!\" }\n",
				"first/terragrunt.hcl":  "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n",
				"first/main.tf":         "variable \"suffix\" { default = \"\" }\nresource \"terraform_data\" \"a\" { input = \"first${var.suffix}\" }\noutput \"name\" { value = terraform_data.a.output }\n",
				"second/terragrunt.hcl": "dependency \"first\" {\n  config_path  = \"../first\"\n  mock_outputs = { name = \"mock\" }\n}\ninputs = { name = dependency.first.outputs.name }\n",
				"second/main.tf":        "variable \"name\" {}\nresource \"terraform_data\" \"b\" { input = var.name }\noutput \"name\" { value = \"${terraform_data.b.output} and second\" }\n",
			})
			r.env = append(r.env, "TG_TF_PATH="+r.program, "TG_NON_INTERACTIVE=true", "TG_NO_COLOR=true", "XDG_CACHE_HOME="+t.TempDir())
			terragrunt := func(want string, args ...string) string {
				t.Helper()
				out, code := r.other(bin, args...)
				if code != 0 || !strings.Contains(out, want) {
					t.Fatalf("terragrunt %v: exit code %d, want %q in:\n%s", args, code, want, out)
				}
				return out
			}
			out := terragrunt("Plan: 1 to add", "run", "--all", "plan")
			if warned := strings.Contains(out, "Failed to identify"); warned != (name == "lethe") {
				t.Errorf("warned of an unknown program: %t\n%s", warned, out)
			}
			terragrunt("Apply complete!", "run", "--all", "apply")
			terragrunt("first! and second", "run", "--working-dir", "second", "--", "output", "-raw", "name")
			terragrunt("No changes.", "run", "--all", "plan")
			terragrunt("Destroy complete!", "run", "--all", "destroy")
		})
	}
}

// TestTerragruntCache checks the cache server of Terragrunt, which stores providers and answers 423 while it downloads
// them.
func TestTerragruntCache(t *testing.T) {
	bin := tool(t, "TERRAGRUNT_BIN", source.Module{Path: "github.com/gruntwork-io/terragrunt", Version: "v1.1.3"})
	for _, name := range []string{"tofu-lethe", "terraform", "lethe"} {
		t.Run(name, func(t *testing.T) { terragruntCache(t, bin, name) })
	}
}

// terragruntCache applies two units that need the same provider, and then checks the content of the cache.
func terragruntCache(t *testing.T, bin, name string) {
	r := newReader(t, name, map[string]string{
		"a/terragrunt.hcl": "", "a/main.tf": "resource \"null_resource\" \"a\" {}\n",
		"b/terragrunt.hcl": "", "b/main.tf": "resource \"null_resource\" \"b\" {}\n",
	})
	asked := execRegistry(t, r.dir)
	r.env = append(r.env, "TF_CLI_CONFIG_FILE="+filepath.Join(r.dir, ".terraformrc"), "SSL_CERT_FILE="+asked.CA,
		"TG_TF_PATH="+r.program, "TG_NON_INTERACTIVE=true", "TG_NO_COLOR=true", "TG_PROVIDER_CACHE=true", "TG_PROVIDER_CACHE_DIR="+filepath.Join(r.dir, "cache"), "XDG_CACHE_HOME="+t.TempDir())
	out, code := r.other(bin, "run", "--all", "apply")
	if code != 0 || strings.Count(out, "Apply complete!") != 2 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	kept, _ := filepath.Glob(filepath.Join(r.dir, "cache", "*", "hashicorp", "null", "3.1.0", runtime.GOOS+"_"+runtime.GOARCH))
	if len(kept) != 1 {
		t.Errorf("kept in the cache: %v\n%s", kept, out)
	}
}

// cdktnProgram is a stack of one resource and an output, which a variable can change.
const cdktnProgram = `const { App, TerraformStack, TerraformOutput, TerraformResource } = require("cdktn");
const app = new App();
const stack = new TerraformStack(app, "one");
const resource = new TerraformResource(stack, "a", { terraformResourceType: "terraform_data" });
resource.addOverride("input", "made by a program");
new TerraformOutput(stack, "o", { value: resource.getStringAttribute("output") });
app.synth();
`

// TestCdktn checks that cdktn generates configuration in JSON and runs the program in a separate terminal.
func TestCdktn(t *testing.T) {
	modules := os.Getenv("CDKTN_MODULES") // the path of a directory node_modules that contains the packages of cdktn
	npm, err := exec.LookPath("npm")
	switch {
	case modules != "":
	case os.Getenv("LETHE_LONG") == "":
		t.Skip("to install the program takes minutes: LETHE_LONG=1 does it, CDKTN_MODULES names where it is")
	case err != nil:
		t.Skip("there is no npm on PATH")
	default:
		base := t.TempDir()
		must(t, "writing", os.WriteFile(filepath.Join(base, "package.json"), []byte(`{"private": true}`), 0o644))
		cmd := exec.Command(npm, "install", "--no-audit", "--no-fund", "node@22.23.3", "cdktn-cli@0.24.0", "cdktn@0.24.0")
		cmd.Dir = base
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		modules = filepath.Join(base, "node_modules")
	}
	r := newReader(t, "lethe", map[string]string{
		"main.js":    cdktnProgram,
		"cdktf.json": `{"language": "typescript", "app": "node main.js", "projectId": "x", "sendCrashReports": "false"}`,
	})
	must(t, "linking", os.Symlink(modules, filepath.Join(r.dir, "node_modules")))
	bin := filepath.Join(modules, ".bin")
	r.env = append(r.env, "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"), "TERRAFORM_BINARY_NAME="+r.program, "CHECKPOINT_DISABLE=1")
	cdktn := filepath.Join(bin, "cdktn")
	out, code := r.other(cdktn, "deploy", "one", "--auto-approve")
	if r.wants(out, `Apply complete! Resources: 1 added`, `o = "?made by a program`); code != 0 {
		t.Errorf("exit code %d", code)
	}
	out, code = r.other(cdktn, "output", "one")
	if r.wants(out, `made by a program`); code != 0 {
		t.Errorf("exit code %d", code)
	}
	out, code = r.other(cdktn, "destroy", "one", "--auto-approve")
	if r.wants(out, `Destroy complete! Resources: 1 destroyed`); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
