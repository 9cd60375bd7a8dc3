package stores

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// builtinTypes uses every built-in type of Terraform, with the settings that change the stored form.
const builtinTypes = `
resource "terraform_data" "empty" {}
resource "terraform_data" "full" {
  input            = { a = [1, "x", null], b = true }
  triggers_replace = [1, "two"]
}
resource "terraform_data" "sensitive" {
  input = sensitive("s")
}
data "terraform_remote_state" "plain" {
  backend = "local"
  config  = { path = "net/terraform.tfstate" }
}
data "terraform_remote_state" "full" {
  backend   = "local"
  workspace = "default"
  config    = { path = "net/terraform.tfstate" }
  defaults  = { other = 1 }
}
data "terraform_remote_state" "empty" {
  backend   = "local"
  workspace = ""
  config    = { path = "net/terraform.tfstate" }
}
output "o" {
  value = data.terraform_remote_state.plain.outputs.zone
}
`

// TestStoredForm compares the stored form of built-in types with Terraform's, and lets Terraform show the state that
// Lethe wrote.
func TestStoredForm(t *testing.T) {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	ours, err := lethe()
	check(t, err)
	var forms []map[string]string
	var dirs []*directory
	for _, program := range []string{terraform, ours} {
		u := &directory{t, program, t.TempDir(), append(os.Environ(), "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE="+os.DevNull)}
		net := &directory{t, program, filepath.Join(u.dir, "net"), u.env}
		check(t, os.Mkdir(net.dir, 0o755))
		check(t, os.WriteFile(filepath.Join(net.dir, "main.tf"), []byte("output \"zone\" {\n  value = { a = [1, true] }\n}\n"), 0o600))
		check(t, os.WriteFile(filepath.Join(u.dir, "main.tf"), []byte(builtinTypes), 0o600))
		for _, d := range []*directory{net, u} {
			d.run(0, "init")
			d.run(0, "apply", "-auto-approve")
		}
		dirs = append(dirs, u)
		forms = append(forms, storedForms(u))
	}
	if !maps.Equal(forms[0], forms[1]) {
		for _, name := range slices.Sorted(maps.Keys(forms[0])) {
			if forms[0][name] != forms[1][name] {
				t.Errorf("%s:\nTerraform: %s\nLethe:     %s", name, forms[0][name], forms[1][name])
			}
		}
	}
	after := dirs[1]
	after.program = terraform
	check(t, os.RemoveAll(filepath.Join(after.dir, ".terraform")))
	check(t, os.RemoveAll(filepath.Join(after.dir, ".terraform.lock.hcl")))
	after.run(0, "init")
	after.run(0, "show")
	after.run(0, "show", "-json")
	for name := range forms[1] {
		after.run(0, "state", "show", name)
	}
	console := after.cmd("console")
	console.Stdin = strings.NewReader("data.terraform_remote_state.full.outputs.zone\nterraform_data.full.output\n")
	if out, err := console.CombinedOutput(); err != nil {
		t.Errorf("console: %s: %s", err, out)
	}
	after.run(0, "plan", "-detailed-exitcode")
}

// storedForms returns the instances in the local state of a directory in their stored form, keyed by the address of the
// resource. The ID, which is random, is replaced by "some".
func storedForms(u *directory) map[string]string {
	text, err := os.ReadFile(filepath.Join(u.dir, "terraform.tfstate"))
	check(u.T, err)
	var state struct {
		Resources []struct {
			Mode, Type, Name, Provider string
			Instances                  []map[string]any
		}
	}
	check(u.T, json.Unmarshal(text, &state))
	out := map[string]string{}
	for _, r := range state.Resources {
		for _, i := range r.Instances {
			if attributes := i["attributes"].(map[string]any); attributes["id"] != nil {
				attributes["id"] = "some"
			}
			form, err := json.Marshal([]any{r.Provider, i})
			check(u.T, err)
			name := r.Type + "." + r.Name
			if r.Mode == "data" {
				name = "data." + name
			}
			out[name] = string(form)
		}
	}
	return out
}
