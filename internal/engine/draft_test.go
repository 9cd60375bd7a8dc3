package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/ordering"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
)

// Two examples of the order of steps: a provider that is configured with a lease (an opened ephemeral resource), and a
// provisioner that receives a lease. This provisioner is a separate step, so that its lease is opened after the object
// is created.
func TestOrderOfLeasesAndTheirReceivers(t *testing.T) {
	const lease = "ephemeral \"plant_key\" \"example\" {\n}\n"
	for name, c := range map[string]struct{ config, want string }{
		"provider": {lease + `
provider "plant" {
  alias = "x"
  token = ephemeral.plant_key.example.token
}
resource "plant_item" "example" {
  provider = plant.x
  name     = "n"
}
`, `+plant_item.example; needs +provider["registry.opentofu.org/hashicorp/plant"].x
+provider["registry.opentofu.org/hashicorp/plant"].x late; needs +ephemeral.plant_key.example
-provider["registry.opentofu.org/hashicorp/plant"].x closer; waits +plant_item.example +provider["registry.opentofu.org/hashicorp/plant"].x
+ephemeral.plant_key.example late; needs +provider["registry.opentofu.org/hashicorp/plant"]
-ephemeral.plant_key.example closer; waits -provider["registry.opentofu.org/hashicorp/plant"].x +ephemeral.plant_key.example
+provider["registry.opentofu.org/hashicorp/plant"] late
-provider["registry.opentofu.org/hashicorp/plant"] closer; waits -ephemeral.plant_key.example +provider["registry.opentofu.org/hashicorp/plant"]
`},
		"provisioner": {lease + `
resource "plant_item" "example" {
  name = "n"
  provisioner "local-exec" {
    command     = "true"
    environment = { TOKEN = ephemeral.plant_key.example.token }
  }
}
`, `+plant_item.example; needs +provider["registry.opentofu.org/hashicorp/plant"]
+plant_item.example.1; needs +plant_item.example +ephemeral.plant_key.example
+provider["registry.opentofu.org/hashicorp/plant"] late
-provider["registry.opentofu.org/hashicorp/plant"] closer; waits +plant_item.example +provider["registry.opentofu.org/hashicorp/plant"] -ephemeral.plant_key.example
+ephemeral.plant_key.example late; needs +provider["registry.opentofu.org/hashicorp/plant"]
-ephemeral.plant_key.example closer; waits +plant_item.example.1 +ephemeral.plant_key.example
`},
	} {
		w, _ := newPlantWorld(t)
		prog := w.compile(map[string]string{"main.tf": c.config})
		p := w.plan(prog, nil)
		var bag diag.Bag
		received := receivers.Analyse(prog, nil)
		frame, ok := frame.New(prog, frame.Options{Workspace: "default", Applying: true, Steady: received.Steady}, &bag)
		if !ok {
			t.Fatal(bag.List())
		}
		filling.Applied(prog, frame, p)
		o := ordering.New(ordering.Source{Program: prog, Frame: frame, Receivers: received, Removals: declared.NewRemovals(prog.Tree().Root), Plan: p})
		if diff := cmp.Diff(c.want, enginetest.Steps(&o.Input)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
