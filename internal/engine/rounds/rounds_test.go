package rounds

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/plan"
)

func change(t *testing.T, address string, a plan.Action) *plan.Change {
	t.Helper()
	i, err := addr.ParseInstance(address)
	if err != nil {
		t.Fatal(err)
	}
	return &plan.Change{Object: i.Current(), Was: i.Current(), Action: a}
}

// The approval of the first plan covers reads in later rounds (plans of the same command). It also covers creations of
// the resources that the plan lists as deferred, up to a number.
func TestApprovalCoversCreations(t *testing.T) {
	first := &plan.Plan{Deferred: []*plan.Change{change(t, "test_thing.b", plan.Create), change(t, "module.m.test_thing.c", plan.Create)}}
	for name, c := range map[string]struct {
		most    int
		changes []*plan.Change
		want    int
	}{
		"creations":         {2, []*plan.Change{change(t, `test_thing.b["x"]`, plan.Create), change(t, `module.m["y"].test_thing.c[0]`, plan.Create)}, 0},
		"too many":          {1, []*plan.Change{change(t, `test_thing.b["x"]`, plan.Create), change(t, `test_thing.b["y"]`, plan.Create)}, 1},
		"none":              {0, []*plan.Change{change(t, `test_thing.b["x"]`, plan.Create)}, 1},
		"not listed":        {2, []*plan.Change{change(t, "test_thing.other", plan.Create)}, 1},
		"read and no-op":    {0, []*plan.Change{change(t, "data.test_thing.d", plan.Read), change(t, "test_thing.a", plan.NoOp)}, 0},
		"update, deletion":  {2, []*plan.Change{change(t, "test_thing.b", plan.Update), change(t, "test_thing.b[1]", plan.Delete)}, 2},
		"import and forget": {2, []*plan.Change{{Action: plan.NoOp, Importing: &plan.Importing{ID: "i"}}, change(t, "test_thing.b", plan.Forget)}, 2},
	} {
		if got := Approve(first, c.most).Uncovered(&plan.Plan{Changes: c.changes}); len(got) != c.want {
			t.Errorf("%s: %d changes are not covered, want %d", name, len(got), c.want)
		}
	}
}

// The limit for creations counts over all later rounds. The approval of a later plan adds the resources that this plan
// lists as deferred.
func TestApprovalCountsOverRounds(t *testing.T) {
	b := []*plan.Change{change(t, "test_thing.b", plan.Create)}
	a := Approve(&plan.Plan{Deferred: b}, 1)
	if more := a.Uncovered(&plan.Plan{Changes: b}); len(more) != 0 {
		t.Errorf("the first creation is covered, got %v", more)
	}
	if more := a.Uncovered(&plan.Plan{Changes: b}); len(more) != 1 {
		t.Errorf("the second creation is not covered, got %v", more)
	}
	a = Approve(&plan.Plan{}, 1)
	a.Extend(&plan.Plan{Deferred: b})
	if more := a.Uncovered(&plan.Plan{Changes: b}); len(more) != 0 {
		t.Errorf("the second approval lists the resource, got %v", more)
	}
}

// The approval of a replacement with create_before_destroy covers the destruction of the old object in a later round,
// but no other destruction.
func TestApprovalCoversOldObjects(t *testing.T) {
	replaced := change(t, "test_thing.a", plan.CreateDelete)
	whole := change(t, "test_thing.b", plan.CreateDelete)
	replaced.Deferral = &plan.Deferral{Reason: plan.DeferredPrereq}
	for name, want := range map[string]int{"test_thing.a": 0, "test_thing.b": 1} {
		old := change(t, name, plan.Delete)
		old.Object.Deposed = "01234567"
		if got := Approve(&plan.Plan{Changes: []*plan.Change{replaced, whole}}, 0).Uncovered(&plan.Plan{Changes: []*plan.Change{old}}); len(got) != want {
			t.Errorf("%s: %d changes are not covered, want %d", name, len(got), want)
		}
	}
}

// The approval of a plan covers the invocations of actions that the plan lists with a deferred resource, and no other
// invocations.
func TestApprovalCoversListedInvocations(t *testing.T) {
	i, err := addr.ParseInstance("action.test_act.a")
	if err != nil {
		t.Fatal(err)
	}
	b, made := change(t, "test_thing.b", plan.Create), change(t, "test_thing.b[0]", plan.Create)
	by := func(c *plan.Change, e config.Event) []*plan.Invocation {
		return []*plan.Invocation{{Action: i, Trigger: plan.Trigger{Object: c.Object, Event: e}}}
	}
	first := &plan.Plan{Deferred: []*plan.Change{b}, Evaluation: plan.Evaluation{LaterInvocations: by(b, config.AfterCreate)}}
	for e, want := range map[config.Event]int{config.AfterCreate: 0, config.BeforeCreate: 1} {
		later := &plan.Plan{Changes: []*plan.Change{made}, Evaluation: plan.Evaluation{Invocations: by(made, e)}}
		if got := Approve(first, 1).Uncovered(later); len(got) != want {
			t.Errorf("%s: %d changes are not covered, want %d", e, len(got), want)
		}
	}
}
