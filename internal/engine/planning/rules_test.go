package planning_test

import (
	"context"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/engine/enginetest/world"
	"github.com/lethe-iac/lethe/internal/engine/planning"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

func destroy(r *planning.Request)     { r.Mode = plan.Destroy }
func refreshOnly(r *planning.Request) { r.Mode = plan.RefreshOnly }

// drifts makes the provider return another value of the attribute note than the stored value.
func drifts(w *world.World) {
	w.OnRead = func(_ context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
		return provider.ReadResponse{State: w.Wire(world.With(w.Value(r.State), "note", cty.StringVal("drift")))}, nil
	}
}

// gone makes the provider find no object.
func gone(w *world.World) {
	w.OnRead = func(context.Context, provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
		return provider.ReadResponse{State: providerNull}, nil
	}
}

var providerNull = provider.Dynamic{Msgpack: []byte("\xc0")}

func target(t *testing.T, text string) addr.Target {
	t.Helper()
	a, err := addr.ParseTarget(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestDeclaredObjectIsCreated(t *testing.T) {
	world.New(t).Plans(world.TestObject("a"), nil, "create fake_thing.a")
}

func TestUnchangedObjectIsLeftAlone(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a")
	w.Plans(world.TestObject("a"), nil)
}

func TestObjectThatNothingDeclaresIsDeleted(t *testing.T) {
	for text, want := range map[string]struct {
		stored string
		why    plan.Reason
	}{
		"":                                     {"fake_thing.a", plan.DeleteNoResource},
		world.TestObject("a", "count = 0"):     {"fake_thing.a[0]", plan.DeleteCountIndex},
		world.TestObject("a", "for_each = {}"): {"fake_thing.a[\"k\"]", plan.DeleteEachKey},
		world.TestObject("a", "count = 0\n"):   {"fake_thing.a[\"k\"]", plan.DeleteWrongRepetition},
	} {
		w := world.New(t)
		w.Has(want.stored)
		p := w.Plans(text, nil, "delete "+want.stored)
		if got := p.Changes[0].Why; got != want.why {
			t.Errorf("%s: %v, not %v", text, got, want.why)
		}
	}
}

func TestPreventDestroyRefusesDestroyAndReplacement(t *testing.T) {
	const title = "Instance cannot be destroyed"
	protected := world.TestObject("a", "lifecycle {\n  prevent_destroy = true\n }")
	w := world.New(t)
	w.Has("fake_thing.a")
	w.Refuses(protected, destroy, title)
	w.Refuses(protected, func(r *planning.Request) { r.Replace = []addr.Instance{enginetest.Instance(t, "fake_thing.a")} }, title)
	w.Plans(protected, nil)
}

func TestTaintedObjectIsReplaced(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a")
	w.Change("fake_thing.a", func(e *state.Entry) { e.Tainted = true })
	p := w.Plans(world.TestObject("a"), nil, "delete-create fake_thing.a")
	if p.Changes[0].Why != plan.ReplaceTainted {
		t.Error(p.Changes[0].Why)
	}
}

func TestCreateBeforeDestroySpreadsToWhatItNeeds(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a", "fake_thing.b")
	for _, o := range []string{"fake_thing.a", "fake_thing.b"} {
		w.Change(o, func(e *state.Entry) { e.Tainted = true })
	}
	w.Plans(world.TestObject("a")+world.TestObject("b", "note = fake_thing.a.id", "lifecycle {\n  create_before_destroy = true\n }"), nil,
		"create-delete fake_thing.a", "create-delete fake_thing.b")
}

func TestTargetLeavesOthersOut(t *testing.T) {
	text := world.TestObject("a") + world.TestObject("b", "note = fake_thing.a.id") + world.TestObject("c")
	only := func(r *planning.Request) { r.Targets = []addr.Target{target(t, "fake_thing.b")} }
	without := func(r *planning.Request) { r.Excludes = []addr.Target{target(t, "fake_thing.a")} }
	p := world.New(t).Plans(text, only, "create fake_thing.a", "create fake_thing.b")
	if p.Complete {
		t.Error("the plan is complete")
	}
	world.New(t).Plans(text, without, "create fake_thing.c")
}

func TestRefreshOnlyChangesNothing(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a")
	drifts(w)
	p := w.Plans(world.TestObject("a")+world.TestObject("new"), refreshOnly)
	if len(p.Drift) != 1 || p.Refreshed.Len() != 1 {
		t.Errorf("drift %v", p.Drift)
	}
}

func TestDriftIsPutRight(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a")
	drifts(w)
	w.Plans(world.TestObject("a", "note = \"x\""), nil, "update fake_thing.a")
	w.Plans(world.TestObject("a"), func(r *planning.Request) { r.Refresh = false })
}

func TestObjectThatIsGoneIsCreatedAgain(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a", "fake_thing.b")
	gone(w)
	w.Plans(world.TestObject("a"), nil, "create fake_thing.a")
	w.Plans(world.TestObject("a"), destroy)
}

func TestMovedObjectIsKept(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a")
	p := w.Plans("moved {\n from = fake_thing.a\n to = fake_thing.b\n}\nresource \"fake_thing\" \"b\" {\n name = \"a\"\n}", nil)
	if len(p.Changes) != 1 || p.Changes[0].Was.String() != "fake_thing.a" || p.Changes[0].Object.String() != "fake_thing.b" {
		t.Errorf("%+v", p.Changes)
	}
}

func TestRemovedBlockForgets(t *testing.T) {
	for destroys, want := range map[string]string{"false": "forget fake_thing.a", "true": "delete fake_thing.a"} {
		w := world.New(t)
		w.Has("fake_thing.a")
		w.Plans("removed {\n from = fake_thing.a\n lifecycle {\n  destroy = "+destroys+"\n }\n}", nil, want)
	}
}

func TestImportedObjectIsUpdatedNotCreated(t *testing.T) {
	w := world.New(t)
	w.OnImport = func(_ context.Context, r provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
		v := cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(r.ID), "name": cty.StringVal("a"), "note": cty.NullVal(cty.String)})
		return provider.ImportResponse{Objects: []provider.Imported{{Type: "fake_thing", State: w.Wire(v)}}}, nil
	}
	p := w.Plans("import {\n to = fake_thing.a\n id = \"i\"\n}\n"+world.TestObject("a", "note = \"x\""), nil, "update fake_thing.a")
	if p.Changes[0].Importing == nil || p.Changes[0].Importing.ID != "i" {
		t.Errorf("%+v", p.Changes[0])
	}
}

func TestTriggerReplaces(t *testing.T) {
	for note, want := range map[string][]string{"null": nil, "\"x\"": {"update fake_thing.a", "delete-create fake_thing.b"}} {
		w := world.New(t)
		w.Has("fake_thing.a", "fake_thing.b")
		w.Plans(world.TestObject("a", "note = "+note)+world.TestObject("b", "lifecycle {\n  replace_triggered_by = [fake_thing.a]\n }"), nil, want...)
	}
}

func TestDataOfAChangingResourceIsReadLater(t *testing.T) {
	text := world.TestObject("a") + "data \"fake_data\" \"d\" {\n name = fake_thing.a.name\n}\n"
	w := world.New(t)
	w.Plans(text, nil, "create fake_thing.a", "read data.fake_data.d")
	w.Has("fake_thing.a")
	w.Done()
	w.Plans(text, nil)
	if got := w.Done(); got != "read a" {
		t.Error(got)
	}
}

func TestFailedPreconditionKeepsAnObjectFromBeingPlanned(t *testing.T) {
	w := world.New(t)
	w.Refuses("locals { no = false }\n"+world.TestObject("a", "lifecycle {\n  precondition {\n   condition = local.no\n   error_message = \"No.\"\n  }\n }"), nil, "Resource precondition failed")
	if n := w.Count("Plan fake_thing"); n > 0 {
		t.Errorf("planned %d times", n)
	}
}

// The failure of an object is reported once, and its dependents are not planned.
func TestFailureKeepsDependentsFromBeingPlanned(t *testing.T) {
	w := world.New(t)
	w.OnPlan = func(context.Context, provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		return provider.PlanResponse{}, provider.Diags{diag.Errorf("failed", "")}
	}
	w.Refuses(world.TestObject("a")+world.TestObject("b", "note = fake_thing.a.id"), nil, "failed")
	if n := w.Count("Plan fake_thing"); n != 1 || w.Bag.Len() != 1 {
		t.Errorf("planned %d times: %v", n, w.Bag.List())
	}
}

func TestInvalidConfigurationIsNotPlanned(t *testing.T) {
	w := world.New(t)
	w.OnValidate = func(context.Context, addr.Mode, string, provider.Dynamic) provider.Diags {
		return provider.Diags{diag.Errorf("invalid", "")}
	}
	w.Refuses(world.TestObject("a"), nil, "invalid")
	if n := w.Count("Plan fake_thing"); n > 0 {
		t.Errorf("planned %d times", n)
	}
}

func TestReplaceIsForManagedResources(t *testing.T) {
	replace := func(r *planning.Request) { r.Replace = []addr.Instance{enginetest.Instance(t, "data.fake_data.d")} }
	world.New(t).Refuses("data \"fake_data\" \"d\" {}", replace, "Invalid force-replace address")
}
