package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"
)

// TestPlanDocuments decodes the golden plans of package view, which contain every kind of change.
func TestPlanDocuments(t *testing.T) {
	files, err := filepath.Glob("../../internal/view/testdata/plans/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no documents", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var p tfjson.Plan
		p.UseJSONNumber(true)
		if err := p.UnmarshalJSON(data); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if err := p.Validate(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if p.Complete == nil || p.Timestamp == "" || p.TerraformVersion == "" {
			t.Errorf("%s: members are missing", file)
		}
		for _, c := range p.ResourceChanges {
			checkActions(t, file, c)
		}
	}
}

// checkActions checks that the library knows the actions of a change, and that the values before and after agree with
// them. The library does not know a replacement that forgets the object.
func checkActions(t *testing.T, file string, c *tfjson.ResourceChange) {
	a := c.Change.Actions
	known := a.NoOp() || a.Create() || a.Read() || a.Update() || a.Delete() || a.Replace() || a.Forget()
	if !known && !(len(a) == 2 && string(a[0]) == "forget") {
		t.Errorf("%s: %s: unknown actions %v", file, c.Address, a)
	}
	if a.Delete() && c.Change.After != nil || a.Create() && c.Change.Before != nil && c.Change.Importing == nil {
		t.Errorf("%s: %s: %v from %v to %v", file, c.Address, a, c.Change.Before, c.Change.After)
	}
}

// TestValidateDocument decodes the golden diagnostics of package view.
func TestValidateDocument(t *testing.T) {
	data, err := os.ReadFile("../../internal/view/testdata/diagnostics/validate.json")
	if err != nil {
		t.Fatal(err)
	}
	var v tfjson.ValidateOutput
	if err := v.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	if v.Valid || v.ErrorCount == 0 || len(v.Diagnostics) != v.ErrorCount+v.WarningCount {
		t.Errorf("%+v", v)
	}
	for _, d := range v.Diagnostics {
		if s := d.Snippet; s != nil && (s.HighlightEndOffset > len(s.Code) || s.HighlightStartOffset > s.HighlightEndOffset) {
			t.Errorf("%+v", s)
		}
	}
}

// checkStream decodes every line of a JSON stream, and returns the number of lines by type.
func checkStream(t *testing.T, stream []byte) map[string]int {
	t.Helper()
	types := map[string]int{}
	for i, l := range bytes.Split(bytes.TrimSpace(stream), []byte("\n")) {
		msg, err := tfjson.UnmarshalLogMessage(l)
		if err != nil {
			t.Fatalf("line %d: %v: %s", i, err, l)
		}
		if msg.Message() == "" || msg.Timestamp().IsZero() || msg.Level() == "" {
			t.Errorf("line %d: %s", i, l)
		}
		var m struct{ Type string }
		if err := json.Unmarshal(l, &m); err != nil {
			t.Fatal(err)
		}
		if v, ok := msg.(tfjson.VersionLogMessage); i == 0 && (!ok || v.Terraform == nil || v.UI == nil || !strings.HasPrefix(v.UI.String(), "1.2")) {
			t.Errorf("the first line is %s", l)
		}
		types[m.Type]++
	}
	return types
}

// TestStreams decodes the JSON lines about all events of objects: drift, failures, leases, imports, moves, checks,
// warnings.
func TestStreams(t *testing.T) {
	dir := workspace(t, map[string]string{"main.tf": `terraform {
  required_providers { playground = { source = "registry.opentofu.org/lethe/playground" } }
}
variable "fail" { default = "" }
variable "size" { default = 1 }
ephemeral "playground_lease" "l" {
  name        = "l"
  renew_after = "1s"
}
resource "playground_secret" "s" {
  name      = "s"
  secret_wo = ephemeral.playground_lease.l.token
}
resource "playground_thing" "a" {
  name    = "a"
  size    = var.size
  warn    = "careful"
  fail_on = var.fail == "" ? null : var.fail
  lifecycle {
    ignore_changes = [note]
  }
}
data "playground_null" "d" { inputs = { id = playground_thing.a.id } }
resource "terraform_data" "b" {
  count = 2
  input = playground_thing.a.note
  provisioner "local-exec" { command = "echo from the provisioner" }
}
check "c" {
  assert {
    condition     = var.size == 1
    error_message = "the size is ${var.size}"
  }
}
output "d" {
  value     = data.playground_null.d.outputs
  sensitive = true
}
`})
	cloud := filepath.Join(dir, "cloud")
	must(t, "making", os.Mkdir(cloud, 0o755))
	tf := client(t, dir)
	withPlayground(t, tf, dir, map[string]string{"PLAYGROUND_CLOUD": cloud, "PLAYGROUND_CANARY": "streams-canary-", "PLAYGROUND_IDS": "name"})
	ctx := context.Background()
	seen := map[string]int{}
	step := func(what string, fails bool, run func(io.Writer) error) {
		t.Helper()
		var b bytes.Buffer
		if err := run(&b); (err != nil) != fails {
			t.Fatalf("%s: %v\n%s", what, err, b.Bytes())
		}
		if bytes.Contains(b.Bytes(), []byte("streams-canary-")) {
			t.Errorf("%s shows a secret:\n%s", what, b.Bytes())
		}
		for typ, n := range checkStream(t, b.Bytes()) {
			seen[typ] += n
		}
	}
	step("apply", false, func(w io.Writer) error { return tf.ApplyJSON(ctx, w) })
	file := filepath.Join(cloud, "playground_thing.thing-a.json")
	object, err := os.ReadFile(file)
	must(t, "reading", err)
	object = bytes.Replace(object, []byte(`"none"`), []byte(`"by hand"`), 1)
	must(t, "writing", os.WriteFile(file, object, 0o600))
	step("plan with drift", false, func(w io.Writer) error { _, err := tf.PlanJSON(ctx, w, tfexec.Var("size=2")); return err })
	step("apply that fails", true, func(w io.Writer) error {
		return tf.ApplyJSON(ctx, w, tfexec.Var("size=3"), tfexec.Var("fail=update"))
	})
	step("refresh", false, func(w io.Writer) error { return tf.RefreshJSON(ctx, w) })
	main, err := os.ReadFile(filepath.Join(dir, "main.tf"))
	must(t, "reading", err)
	moved := strings.ReplaceAll(string(main), "terraform_data\" \"b\"", "terraform_data\" \"moved\"") + "moved {\n  from = terraform_data.b\n  to   = terraform_data.moved\n}\nimport {\n  to = terraform_data.i\n  id = \"i\"\n}\nresource \"terraform_data\" \"i\" {}\n"
	must(t, "writing", os.WriteFile(filepath.Join(dir, "main.tf"), []byte(moved), 0o644))
	step("apply of moves and imports", false, func(w io.Writer) error { return tf.ApplyJSON(ctx, w) })
	step("destroy", false, func(w io.Writer) error { return tf.DestroyJSON(ctx, w) })
	for _, typ := range []string{
		"version", "planned_change", "change_summary", "outputs", "diagnostic", "resource_drift", "refresh_start", "refresh_complete",
		"apply_start", "apply_complete", "apply_errored", "provision_start", "provision_progress", "provision_complete",
		"ephemeral_op_start", "ephemeral_op_complete",
	} {
		if seen[typ] == 0 {
			t.Errorf("no line of the type %s: %v", typ, seen)
		}
	}
}

// TestWorkspaceList decodes a document that the library requests only from later versions.
func TestWorkspaceList(t *testing.T) {
	cmd := exec.Command(binary(t, lethe), "workspace", "list", "-json")
	cmd.Dir = workspace(t, map[string]string{"main.tf": ""})
	out, err := cmd.Output()
	must(t, "workspace list -json", err)
	var list tfjson.WorkspaceListOutput
	must(t, "decoding", json.Unmarshal(out, &list))
	if w := list.CurrentWorkspace(); w == nil || w.Name != "default" || list.FormatVersion != "1.0" {
		t.Errorf("%s", out)
	}
}
