package clients

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"
	tfjson "github.com/hashicorp/terraform-json"
)

// TestActionDocuments decodes the parts of documents about actions: the plan with invocations by a trigger and by
// -invoke, and the schemas. The library rejects no unknown member, so the test compares the members of the plan with
// the members of the library.
func TestActionDocuments(t *testing.T) {
	ctx := context.Background()
	dir := workspace(t, map[string]string{"main.tf": `terraform {
  required_providers { playground = { source = "registry.opentofu.org/lethe/playground" } }
}
resource "terraform_data" "a" {
  lifecycle {
    action_trigger {
      events  = [before_create, after_create]
      actions = [action.playground_act.other, action.playground_act.a["k"]]
    }
  }
}
action "playground_act" "a" {
  for_each = toset(["k"])
  config { text = caller.id == null ? "none" : "id" }
}
action "playground_act" "other" {
  config { text = "other" }
}
`})
	tf := client(t, dir)
	withPlayground(t, tf, dir, nil)
	changes, err := tf.Plan(ctx, tfexec.Out("p"))
	if must(t, "plan", err); !changes {
		t.Error("the plan has no changes")
	}
	p, err := tf.ShowPlanFile(ctx, "p")
	must(t, "show", err)
	var got []tfjson.LifecycleActionTrigger
	for _, i := range p.ActionInvocations {
		if i.Type != "playground_act" || i.ConfigValues == nil || i.ProviderName != "registry.opentofu.org/lethe/playground" || i.InvokeActionTrigger != nil || i.LifecycleActionTrigger == nil {
			t.Fatalf("%+v", i)
		}
		got = append(got, *i.LifecycleActionTrigger)
	}
	want := []tfjson.LifecycleActionTrigger{
		{TriggeringResourceAddress: "terraform_data.a", ActionTriggerEvent: "BeforeCreate"},
		{TriggeringResourceAddress: "terraform_data.a", ActionTriggerEvent: "BeforeCreate", ActionsListIndex: 1},
		{TriggeringResourceAddress: "terraform_data.a", ActionTriggerEvent: "AfterCreate"},
		{TriggeringResourceAddress: "terraform_data.a", ActionTriggerEvent: "AfterCreate", ActionsListIndex: 1},
	}
	if !slices.Equal(got, want) || p.ActionInvocations[1].Address != `action.playground_act.a["k"]` {
		t.Errorf("%+v", got)
	}

	// The library has no option for -invoke yet.
	cmd := exec.Command(binary(t, lethe), "plan", "-invoke=action.playground_act.other", "-out=q")
	cmd.Dir, cmd.Env = dir, []string{"TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "rc"), "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if must(t, "plan -invoke", err); !strings.Contains(string(out), "Actions: 1 to invoke.") {
		t.Errorf("%s", out)
	}
	p, err = tf.ShowPlanFile(ctx, "q")
	must(t, "show", err)
	if len(p.ResourceChanges) > 0 || len(p.ActionInvocations) != 1 || p.ActionInvocations[0].InvokeActionTrigger == nil || p.ActionInvocations[0].LifecycleActionTrigger != nil {
		t.Errorf("%+v", p)
	}
	cmd = exec.Command(binary(t, lethe), "show", "-json", "q")
	cmd.Dir, cmd.Env = dir, []string{"TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "rc"), "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	text, err := cmd.Output()
	must(t, "show -json", err)
	var all struct {
		Invocations []map[string]json.RawMessage `json:"action_invocations"`
	}
	must(t, "decoding", json.Unmarshal(text, &all))
	known, err := json.Marshal(p.ActionInvocations[0])
	must(t, "encoding", err)
	var members map[string]json.RawMessage
	must(t, "decoding", json.Unmarshal(known, &members))
	for name := range all.Invocations[0] {
		if _, ok := members[name]; !ok {
			t.Errorf("the library does not have the member %q", name)
		}
	}

	schemas, err := tf.ProvidersSchema(ctx)
	must(t, "providers schema", err)
	s := schemas.Schemas["registry.opentofu.org/lethe/playground"].ActionSchemas["playground_act"]
	if s == nil || s.Block == nil || s.Block.Attributes["text"] == nil || !s.Block.Attributes["secret_wo"].WriteOnly {
		t.Errorf("%+v", s)
	}
}
