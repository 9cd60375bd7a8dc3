package clients

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"
)

const builtinConfig = `variable "n" { default = 1 }
resource "terraform_data" "a" {
  input = 9007199254740993 + var.n - 1
}
resource "terraform_data" "b" {
  for_each         = { x = 1, y = 2 }
  input            = { v = each.value, of = terraform_data.a.output }
  triggers_replace = var.n
}
module "m" {
  source = "./m"
  v      = terraform_data.a.output
}
check "c" {
  assert {
    condition     = var.n == 1
    error_message = "n is ${var.n}"
  }
}
output "o" { value = terraform_data.a.output }
output "s" {
  value     = "secret"
  sensitive = true
}
`

const moduleConfig = "variable \"v\" {}\nresource \"terraform_data\" \"inner\" { input = var.v }\noutput \"o\" { value = terraform_data.inner.output }\n"

// client returns a client of terraform-exec that runs Lethe in a directory.
func client(t *testing.T, dir string) *tfexec.Terraform {
	t.Helper()
	tf, err := tfexec.NewTerraform(dir, binary(t, lethe))
	if err != nil {
		t.Fatal(err)
	}
	return tf
}

// must ends the test if err is not nil. The parameter what names the call in the message.
func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestWalk makes calls of terraform-exec in the order of a tool: from init through plan, apply and commands on the
// state to destroy.
func TestWalk(t *testing.T) {
	ctx := context.Background()
	dir := workspace(t, map[string]string{"main.tf": builtinConfig, "m/main.tf": moduleConfig})
	tf := client(t, dir)

	v, _, err := tf.Version(ctx, true)
	must(t, "version", err)
	if v.Segments()[0] != 1 || v.Segments()[1] < 11 {
		t.Errorf("version %s", v)
	}
	must(t, "init", tf.Init(ctx))
	valid, err := tf.Validate(ctx)
	must(t, "validate", err)
	if !valid.Valid || valid.FormatVersion == "" {
		t.Errorf("%+v", valid)
	}
	changes, err := tf.Plan(ctx, tfexec.Out("p.out"))
	must(t, "plan", err)
	if !changes {
		t.Error("the first plan has no changes")
	}
	p, err := tf.ShowPlanFile(ctx, "p.out")
	must(t, "show -json PLAN", err)
	checkPlan(t, p)
	raw, err := tf.ShowPlanFileRaw(ctx, "p.out")
	must(t, "show PLAN", err)
	if !strings.Contains(raw, "# terraform_data.b[\"x\"] will be created") || !strings.Contains(raw, "Plan: 4 to add, 0 to change, 0 to destroy.") {
		t.Error(raw)
	}
	must(t, "apply", tf.Apply(ctx, tfexec.DirOrPlan("p.out")))
	checkState(t, tf)
	checkOutputs(t, tf)

	changes, err = tf.Plan(ctx)
	must(t, "plan", err)
	if changes {
		t.Error("the second plan has changes")
	}
	changes, err = tf.Plan(ctx, tfexec.Var("n=2"), tfexec.Out("p2.out"))
	must(t, "plan -var", err)
	p, err = tf.ShowPlanFile(ctx, "p2.out")
	must(t, "show -json PLAN", err)
	replaced := 0
	for _, c := range p.ResourceChanges {
		if c.Change.Actions.DestroyBeforeCreate() && len(c.Change.ReplacePaths) == 1 && c.ActionReason == "replace_because_cannot_update" {
			replaced++
		}
	}
	if !changes || replaced != 2 {
		t.Errorf("%d replaced", replaced)
	}
	must(t, "refresh", tf.Refresh(ctx))
	must(t, "taint", tf.Taint(ctx, `terraform_data.b["x"]`))
	s, err := tf.Show(ctx)
	must(t, "show", err)
	if !tainted(s) {
		t.Error("nothing is tainted")
	}
	must(t, "untaint", tf.Untaint(ctx, `terraform_data.b["x"]`))
	must(t, "state mv", tf.StateMv(ctx, "terraform_data.a", "terraform_data.c"))
	must(t, "state mv back", tf.StateMv(ctx, "terraform_data.c", "terraform_data.a"))
	pulled, err := tf.StatePull(ctx)
	must(t, "state pull", err)
	if !strings.Contains(pulled, `"version": 4`) {
		t.Error(pulled)
	}
	must(t, "state rm", tf.StateRm(ctx, `terraform_data.b["y"]`))
	g, err := tf.Graph(ctx, tfexec.DrawCycles(true), tfexec.GraphType("plan"), tfexec.GraphPlan("p2.out"))
	must(t, "graph", err)
	if !strings.HasPrefix(g, "digraph") || !strings.Contains(g, "terraform_data.b") {
		t.Error(g)
	}
	must(t, "destroy", tf.Destroy(ctx))
}

// tainted reports whether an object in the root module is tainted.
func tainted(s *tfjson.State) bool {
	return slices.ContainsFunc(s.Values.RootModule.Resources, func(r *tfjson.StateResource) bool { return r.Tainted })
}

// checkPlan checks the first plan of builtinConfig.
func checkPlan(t *testing.T, p *tfjson.Plan) {
	t.Helper()
	must(t, "validating the plan", p.Validate())
	if n := len(p.ResourceChanges); n != 4 {
		t.Errorf("%d changes", n)
	}
	for _, c := range p.ResourceChanges {
		if !c.Change.Actions.Create() || c.Change.AfterUnknown == nil {
			t.Errorf("%s: %+v", c.Address, c.Change)
		}
	}
	if p.PlannedValues.RootModule.ChildModules[0].Address != "module.m" {
		t.Errorf("%+v", p.PlannedValues.RootModule)
	}
	root := p.Config.RootModule
	if root.Outputs["s"] == nil || !root.Outputs["s"].Sensitive || root.ModuleCalls["m"].Module.Resources[0].Name != "inner" {
		t.Errorf("%+v", root)
	}
	for _, r := range root.Resources {
		if r.Name == "b" && (r.ForEachExpression == nil || !slices.Contains(r.Expressions["input"].References, "terraform_data.a.output")) {
			t.Errorf("%+v", r)
		}
	}
	if p.Variables["n"] == nil || len(p.Checks) == 0 || p.Checks[0].Address.ToDisplay != "check.c" {
		t.Errorf("%+v %+v", p.Variables, p.Checks)
	}
}

// checkState checks the state after the first apply of builtinConfig.
func checkState(t *testing.T, tf *tfexec.Terraform) {
	t.Helper()
	s, err := tf.Show(context.Background(), tfexec.JSONNumber(true))
	must(t, "show", err)
	must(t, "validating the state", s.Validate())
	for _, r := range s.Values.RootModule.Resources {
		if r.Address == "terraform_data.a" {
			if got, ok := r.AttributeValues["input"].(interface{ String() string }); !ok || got.String() != "9007199254740993" {
				t.Errorf("a number lost digits: %v", r.AttributeValues["input"])
			}
		}
		if strings.HasPrefix(r.Address, "terraform_data.b") && !slices.Contains(r.DependsOn, "terraform_data.a") {
			t.Errorf("%s depends on %v", r.Address, r.DependsOn)
		}
	}
	if o := s.Values.Outputs["s"]; o == nil || !o.Sensitive || o.Value != "secret" {
		t.Errorf("%+v", s.Values.Outputs)
	}
}

// checkOutputs checks the outputs after the first apply of builtinConfig.
func checkOutputs(t *testing.T, tf *tfexec.Terraform) {
	t.Helper()
	outs, err := tf.Output(context.Background())
	must(t, "output", err)
	if string(outs["o"].Value) != "9007199254740993" || string(outs["o"].Type) != `"number"` || !outs["s"].Sensitive {
		t.Errorf("%s %s", outs["o"].Value, outs["o"].Type)
	}
}

// TestStream decodes the JSON streams of plan, apply and destroy.
func TestStream(t *testing.T) {
	ctx := context.Background()
	tf := client(t, workspace(t, map[string]string{"main.tf": builtinConfig, "m/main.tf": moduleConfig}))
	must(t, "init", tf.Init(ctx))
	var b bytes.Buffer
	_, err := tf.PlanJSON(ctx, &b)
	must(t, "plan -json", err)
	if n := checkStream(t, b.Bytes()); n["planned_change"] != 4 || n["change_summary"] != 1 || n["outputs"] != 1 {
		t.Errorf("%v", n)
	}
	b.Reset()
	must(t, "apply -json", tf.ApplyJSON(ctx, &b))
	if n := checkStream(t, b.Bytes()); n["apply_start"] != 4 || n["apply_complete"] != 4 || n["change_summary"] != 2 || n["outputs"] != 2 {
		t.Errorf("%v", n)
	}
	b.Reset()
	must(t, "destroy -json", tf.DestroyJSON(ctx, &b))
	if n := checkStream(t, b.Bytes()); n["refresh_start"] != 4 || n["apply_complete"] != 4 {
		t.Errorf("%v", n)
	}
}

// TestInvalid checks that mistakes are reported as a document although the command fails.
func TestInvalid(t *testing.T) {
	tf := client(t, workspace(t, map[string]string{"main.tf": "resource \"terraform_data\" \"a\" {\n  inputt = 1\n}\n"}))
	must(t, "init", tf.Init(context.Background()))
	v, err := tf.Validate(context.Background())
	must(t, "validate", err)
	if v.Valid || v.ErrorCount != 1 || v.Diagnostics[0].Snippet == nil || *v.Diagnostics[0].Snippet.Context != `resource "terraform_data" "a"` {
		t.Errorf("%+v", v)
	}
}

// TestDescriptions decodes the descriptions of providers and functions.
func TestDescriptions(t *testing.T) {
	ctx := context.Background()
	dir := workspace(t, map[string]string{"main.tf": `terraform {
  required_providers { playground = { source = "registry.opentofu.org/lethe/playground" } }
}
resource "playground_thing" "a" { name = "a" }
ephemeral "playground_random" "r" { length = 5 }
resource "terraform_data" "a" {}
`})
	tf := client(t, dir)
	withPlayground(t, tf, dir, nil)
	ps, err := tf.ProvidersSchema(ctx)
	must(t, "providers schema", err)
	must(t, "validating the schemas", ps.Validate())
	p := ps.Schemas["registry.opentofu.org/lethe/playground"]
	switch {
	case p == nil || ps.Schemas["terraform.io/builtin/terraform"] == nil:
		t.Fatalf("%v", ps.Schemas)
	case p.ResourceSchemas["playground_thing"].Version != 2, p.ResourceSchemas["playground_thing"].Block.Attributes["disks"].AttributeNestedType == nil:
		t.Errorf("%+v", p.ResourceSchemas["playground_thing"])
	case !p.ResourceSchemas["playground_secret"].Block.Attributes["secret_wo"].WriteOnly:
		t.Error("write-only attributes are not told of")
	case p.EphemeralResourceSchemas["playground_random"] == nil || p.Functions["echo"] == nil || p.ResourceIdentitySchemas["playground_thing"] == nil:
		t.Error("ephemeral resources, functions or identities are missing")
	}
	fs, err := tf.MetadataFunctions(ctx)
	must(t, "metadata functions", err)
	must(t, "validating the functions", fs.Validate())
	if fs.Signatures["jsonencode"] == nil || fs.Signatures["format"].VariadicParameter == nil {
		t.Error("functions are missing")
	}
	plan := filepath.Join(dir, "p.out")
	_, err = tf.Plan(ctx, tfexec.Out(plan))
	must(t, "plan", err)
	doc, err := tf.ShowPlanFile(ctx, plan)
	must(t, "show", err)
	must(t, "validating the plan", doc.Validate())
	if !slices.ContainsFunc(doc.Config.RootModule.Resources, func(r *tfjson.ConfigResource) bool { return r.Mode == "ephemeral" }) {
		t.Error("the ephemeral resource is not in the configuration")
	}
	if slices.ContainsFunc(doc.ResourceChanges, func(c *tfjson.ResourceChange) bool { return c.Mode == "ephemeral" }) {
		t.Error("an ephemeral resource is among the changes")
	}
}
