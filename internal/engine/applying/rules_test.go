package applying_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/applying"
	"github.com/lethe-iac/lethe/internal/engine/enginetest/world"
	"github.com/lethe-iac/lethe/internal/engine/planning"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/zclconf/go-cty/cty"
)

func destroy(r *planning.Request) { r.Mode = plan.Destroy }

const createFirst = "lifecycle {\n  create_before_destroy = true\n }"

// fails makes the provider fail to create, or to destroy, objects with this name.
func fails(w *world.World, name string, creates bool) {
	w.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		v, making := w.Value(r.Planned), true
		if v.IsNull() {
			v, making = w.Value(r.Prior), false
		}
		if world.Text(v, "name") == name && making == creates {
			return provider.ApplyResponse{}, provider.Diags{diag.Errorf("failed", "")}
		}
		return w.Made(r), nil
	}
}

// applies plans and applies the configuration text. It fails the test unless the apply succeeds. done has the expected
// changes, and objects has the expected objects in the state after the apply.
func applies(t *testing.T, w *world.World, text string, change func(*planning.Request), done, objects string) *applying.Result {
	t.Helper()
	r, ok := w.Apply(text, change, nil)
	if !ok {
		t.Fatal(w.Bag.List())
	}
	if got := w.Done(); got != done {
		t.Errorf("did %q, not %q", got, done)
	}
	if got := w.Objects(); got != objects {
		t.Errorf("has %q, not %q", got, objects)
	}
	return r
}

// notes is a journal in memory. If err is set, the calls of the journal return err.
type notes struct {
	mu    sync.Mutex
	lines []string
	err   error
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notes) Intent(i journal.Intent) (journal.Op, error) {
	n.add("intent " + i.Action + " " + i.Object.String())
	return 1, n.err
}

func (n *notes) Later(finish func(error), _ journal.Op, changed ...journal.Change) {
	for _, c := range changed {
		n.add("record " + c.Object.String())
	}
	finish(n.err)
}

func TestObjectsAreCreatedInTheOrderOfTheirReferences(t *testing.T) {
	applies(t, world.New(t), world.TestObject("b", "note = fake_thing.a.id")+world.TestObject("a"), nil, "create a, create b", "fake_thing.a, fake_thing.b")
}

func TestObjectsAreDestroyedInTheOppositeOrder(t *testing.T) {
	w := world.New(t)
	text := world.TestObject("b", "note = fake_thing.a.id") + world.TestObject("a")
	applies(t, w, text, nil, "create a, create b", "fake_thing.a, fake_thing.b")
	applies(t, w, text, destroy, "delete b, delete a", "")
}

// Objects that only the state has are destroyed in the order of their recorded dependencies.
func TestRecordedDependenciesOrderDestruction(t *testing.T) {
	w := world.New(t)
	applies(t, w, world.TestObject("b", "note = fake_thing.a.id")+world.TestObject("a"), nil, "create a, create b", "fake_thing.a, fake_thing.b")
	applies(t, w, "", nil, "delete b, delete a", "")
}

func TestReplacementDeletesFirstUnlessTheLifecycleSaysOtherwise(t *testing.T) {
	for life, want := range map[string]string{"": "delete a, create new", createFirst: "create new, delete a"} {
		w := world.New(t)
		w.Has("fake_thing.a")
		applies(t, w, "resource \"fake_thing\" \"a\" {\n name = \"new\"\n "+life+"\n}", nil, want, "fake_thing.a")
	}
}

func TestFailedCreateFirstKeepsTheOldObject(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a")
	fails(w, "new", true)
	if _, ok := w.Apply("resource \"fake_thing\" \"a\" {\n name = \"new\"\n "+createFirst+"\n}", nil, nil); ok {
		t.Error("succeeded")
	}
	if got := w.Objects(); got != "fake_thing.a" || w.Done() != "" {
		t.Error(got)
	}
}

func TestFailedDestroyOfADeposedObjectKeepsIt(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a")
	fails(w, "a", false)
	text := "resource \"fake_thing\" \"a\" {\n name = \"new\"\n " + createFirst + "\n}"
	if _, ok := w.Apply(text, nil, nil); ok {
		t.Error("succeeded")
	}
	if got := w.Objects(); got != "fake_thing.a, fake_thing.a (deposed)" {
		t.Error(got)
	}
	fails(w, "nothing", false)
	w.Done()
	applies(t, w, text, nil, "delete a", "fake_thing.a")
}

func TestFailureKeepsDependentsFromBeingMade(t *testing.T) {
	w := world.New(t)
	fails(w, "a", true)
	r, ok := w.Apply(world.TestObject("a")+world.TestObject("b", "note = fake_thing.a.id")+world.TestObject("c"), nil, nil)
	if ok || w.Done() != "create c" || w.Objects() != "fake_thing.c" || w.Bag.Len() != 1 {
		t.Errorf("%v: %s: %v", ok, w.Objects(), w.Bag.List())
	}
	if len(r.Summary.NotStarted) != 1 || r.Summary.NotStarted[0].String() != "fake_thing.b" {
		t.Error(r.Summary.NotStarted)
	}
}

func TestFailedDestroyKeepsWhatTheObjectNeeds(t *testing.T) {
	w := world.New(t)
	text := world.TestObject("a") + world.TestObject("b", "note = fake_thing.a.id")
	applies(t, w, text, nil, "create a, create b", "fake_thing.a, fake_thing.b")
	fails(w, "b", false)
	if _, ok := w.Apply(text, destroy, nil); ok || w.Objects() != "fake_thing.a, fake_thing.b" {
		t.Error(ok, w.Objects())
	}
}

func TestPostconditionFailsAfterTheObjectIsRecorded(t *testing.T) {
	w := world.New(t)
	_, ok := w.Apply(world.TestObject("a", "lifecycle {\n  postcondition {\n   condition = self.id == \"no\"\n   error_message = \"No.\"\n  }\n }")+world.TestObject("b", "note = fake_thing.a.id"), nil, nil)
	if ok || !w.Reports("Resource postcondition failed") || w.Objects() != "fake_thing.a" {
		t.Error(ok, w.Objects(), w.Bag.List())
	}
}

// A call is announced in the journal before it starts, and its result is recorded after it.
func TestCallsAreAnnouncedAndRecorded(t *testing.T) {
	w, j := world.New(t), &notes{}
	w.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		j.add("call")
		return w.Made(r), nil
	}
	if _, ok := w.Apply(world.TestObject("a"), nil, func(r *applying.Request) { r.Journal = j }); !ok {
		t.Fatal(w.Bag.List())
	}
	if !slices.Equal(j.lines, []string{"intent create fake_thing.a", "call", "record fake_thing.a"}) {
		t.Errorf("%q", j.lines)
	}
}

func TestNothingIsChangedWithoutAJournal(t *testing.T) {
	w := world.New(t)
	_, ok := w.Apply(world.TestObject("a"), nil, func(r *applying.Request) { r.Journal = &notes{err: errors.New("full")} })
	if ok || w.Done() != "" || w.Objects() != "" || !w.Reports("Failed to record progress") {
		t.Error(ok, w.Objects(), w.Bag.List())
	}
}

// If a value was not known during planning, the provider plans again during apply. The second plan must agree with the
// approved plan.
func TestFinalPlanKeepsToTheApprovedOne(t *testing.T) {
	w := world.New(t)
	planned := w.OnPlan
	w.OnPlan = func(ctx context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		resp, ds := planned(ctx, r)
		if v := w.Value(resp.Planned); strings.HasPrefix(world.Text(v, "note"), "id-") {
			resp.Planned = w.Wire(world.With(v, "id", cty.StringVal("early")))
		} else if world.Text(v, "note") == "?" {
			resp.Planned = w.Wire(world.With(v, "id", cty.StringVal("planned")))
		}
		return resp, ds
	}
	_, ok := w.Apply(world.TestObject("a")+world.TestObject("b", "note = fake_thing.a.id"), nil, nil)
	if ok || w.Done() != "create a" || !w.Reports("Provider produced inconsistent final plan") {
		t.Error(ok, w.Bag.List())
	}
}

func TestForgottenObjectIsNotDestroyed(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a")
	r := applies(t, w, "removed {\n from = fake_thing.a\n lifecycle {\n  destroy = false\n }\n}", nil, "", "")
	if r.Summary.Forgotten != 1 || r.Summary.Destroyed != 0 {
		t.Errorf("%+v", r.Summary)
	}
}

// A replacement that forgets the old object (the state drops it, and it still exists) keeps the new object, also with
// create_before_destroy.
func TestForgottenByReplacement(t *testing.T) {
	for _, first := range []string{"", "create_before_destroy = true\n  "} {
		w := world.New(t)
		w.Has("fake_thing.a")
		r := applies(t, w, "resource \"fake_thing\" \"a\" {\n name = \"new\"\n lifecycle {\n  "+first+"destroy = false\n }\n}", nil, "create new", "fake_thing.a")
		if r.Summary.Forgotten != 1 || r.Summary.Added != 1 || r.Summary.Destroyed != 0 {
			t.Errorf("%+v", r.Summary)
		}
	}
}

// If the creation in a replacement that forgets the old object fails, the old object stays and does not count as
// forgotten. The next apply creates the new object and forgets the old object.
func TestFailedReplacementForgetsNothing(t *testing.T) {
	for _, first := range []string{"", "create_before_destroy = true\n  "} {
		w := world.New(t)
		w.Has("fake_thing.a")
		text := "resource \"fake_thing\" \"a\" {\n name = \"new\"\n lifecycle {\n  " + first + "destroy = false\n }\n}"
		fails(w, "new", true)
		if r, ok := w.Apply(text, nil, nil); ok || r.Summary.Forgotten != 0 || w.Objects() != "fake_thing.a" {
			t.Errorf("%v: %+v, %s", ok, r.Summary, w.Objects())
		}
		fails(w, "nothing", false)
		w.Done()
		if r := applies(t, w, text, nil, "create new", "fake_thing.a"); r.Summary.Forgotten != 1 {
			t.Errorf("%+v", r.Summary)
		}
	}
}

func TestSummaryCountsReplacementsTwice(t *testing.T) {
	w := world.New(t)
	w.Has("fake_thing.a", "fake_thing.b")
	w.Change("fake_thing.a", func(e *state.Entry) { e.Tainted = true })
	r := applies(t, w, world.TestObject("a")+world.TestObject("b", "note = \"x\"")+world.TestObject("c"), nil, "delete a, create a, update b, create c", "fake_thing.a, fake_thing.b, fake_thing.c")
	if s := r.Summary; s.Added != 2 || s.Changed != 1 || s.Destroyed != 1 {
		t.Errorf("%+v", s)
	}
}
