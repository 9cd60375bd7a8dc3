package planning_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/engine/enginetest/world"
	"github.com/lethe-iac/lethe/internal/engine/planning"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// exists returns an import function for the fake provider that finds an object for each ID.
func exists(w *world.World) func(context.Context, provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
	return func(_ context.Context, r provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
		v := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(r.ID), "name": cty.StringVal("a"), "note": cty.NullVal(cty.String)})
		return provider.ImportResponse{Objects: []provider.Imported{{Type: "fake_thing", State: w.Wire(v)}}}, nil
	}
}

func TestTearDownDestroysProtectedObjects(t *testing.T) {
	protected := world.TestObject("a", "lifecycle {\n  prevent_destroy = true\n }")
	w := world.New(t)
	w.Has("fake_thing.a")
	w.Plans(protected, func(r *planning.Request) { r.Operation, r.Mode = operation.TearDown, plan.Destroy }, "delete fake_thing.a")
	w.Refuses(protected, func(r *planning.Request) { r.Operation, r.Mode = operation.Apply, plan.Destroy }, "Instance cannot be destroyed")
}

// The command import does not compare the imported object with the configuration, and a failed precondition does not
// stop it.
func TestImportDecidesNothing(t *testing.T) {
	text := "locals {\n no = false\n}\nresource \"fake_thing\" \"a\" {\n name = \"a\"\n lifecycle {\n  precondition {\n   condition = local.no\n   error_message = \"No.\"\n  }\n }\n}\n"
	imports := func(r *planning.Request) {
		r.Operation, r.Origin = operation.Import, targeting.Imports
		r.Imports = []planning.Import{{To: enginetest.Instance(t, "fake_thing.a"), ID: "id-a"}}
		r.Targets = []addr.Target{target(t, "fake_thing.a")}
	}
	w := world.New(t)
	w.OnImport = exists(w)
	p, ok := w.Plan(text, imports)
	if !ok || len(p.Changes) != 1 || p.Changes[0].Importing == nil || p.Changes[0].Action != plan.NoOp {
		t.Fatalf("%v: %+v", w.Bag.List(), p)
	}
	if w.Bag.HasErrors() {
		t.Error(w.Bag.List())
	}
}

// Plan refuses an import to a resource without configuration. Generate writes this configuration, and its plan has no
// change of the resource.
func TestGenerateWritesBlocksForImportsWithoutConfiguration(t *testing.T) {
	text := world.TestObject("b") + "import {\n to = fake_thing.a\n id = \"id-a\"\n}\n"
	w := world.New(t)
	w.OnImport = exists(w)
	w.Refuses(text, nil, "Configuration for import target does not exist")
	made, ok := w.Generate(text)
	if !ok || len(made.Blocks) != 1 || !strings.Contains(made.Blocks[addr.Resource{Mode: addr.Managed, Type: "fake_thing", Name: "a"}], `resource "fake_thing" "a" {`) {
		t.Fatalf("%v: %v, %v", ok, made.Blocks, w.Bag.List())
	}
	if len(made.Rest.Plan.Changes) != 1 || made.Rest.Plan.Changes[0].Object.Name != "b" {
		t.Errorf("%+v", made.Rest.Plan.Changes)
	}
	if made, ok = w.Generate(world.TestObject("b")); !ok || len(made.Blocks) != 0 {
		t.Errorf("%v: %v", ok, made.Blocks)
	}
}
