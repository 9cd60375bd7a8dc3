package object

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

const canary = "canary-canary"

var (
	bg     = context.Background()
	failed = provider.Diags{diag.Errorf("failed", "")}
)

// applies makes the provider answer apply requests with f(planned object) and the diagnostics ds.
func (b *bench) applies(legacy bool, ds provider.Diags, f func(cty.Value) cty.Value) {
	b.far.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		return provider.ApplyResponse{State: b.wire(f(b.value(r.Planned))), LegacyTypes: legacy}, ds
	}
}

// reads makes the provider answer read requests with f(stored object).
func (b *bench) reads(f func(cty.Value) cty.Value) {
	b.far.OnRead = func(_ context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
		return provider.ReadResponse{State: b.wire(f(b.value(r.State))), Private: r.Private}, nil
	}
}

// finds makes the provider answer import requests with one object.
func (b *bench) finds(v cty.Value) {
	b.far.OnImport = func(context.Context, provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
		return provider.ImportResponse{Objects: []provider.Imported{{Type: "fake_thing", State: b.wire(v)}}}, nil
	}
}

// up plans a configuration for the object cur, applies the plan, and returns the results of Up.
func (b *bench) up(config mark.Value, cur Current) (mark.Value, *state.Entry, bool) {
	b.Helper()
	p, ok := b.propose(config, cur, Forced{})
	if !ok {
		b.Fatal(b.Bag.List())
	}
	return b.Up(bg, p, cur.Entry, Stored{})
}

// plain returns an object of the type without marks.
func (b *bench) plain(attrs map[string]string) mark.Value { return mark.Plain(b.object(attrs)) }

// guarded registers the text canary as a secret of the run.
func (b *bench) guarded() {
	b.Walk.Guard.Secrets.AddValue(cty.StringVal(canary), secret.Origin{Kind: secret.Setting})
}

// free fails the test if the text canary is in the entry or in a diagnostic.
func (b *bench) free(e *state.Entry) {
	b.Helper()
	if e != nil && strings.Contains(string(e.Attrs)+string(e.Private)+string(e.Identity), canary) {
		b.Error("the canary is in the entry")
	}
	for _, d := range b.Bag.List() {
		if strings.Contains(d.Summary+d.Detail, canary) {
			b.Errorf("the canary is in %q", d.Detail)
		}
	}
}

// calc returns a function that sets the computed attribute of an object, to a known or unknown value.
func calc(v cty.Value) func(cty.Value) cty.Value {
	return func(o cty.Value) cty.Value { return with(o, map[string]cty.Value{"calc": v}) }
}

// A provider of the current type system (not legacy) must return the planned values after an apply. The answer is
// recorded in any case.
func TestApplyKeepsToThePlan(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		b := newBench(t)
		b.plans(legacy, nil, same)
		b.applies(legacy, nil, set("note", "other"))
		_, entry, ok := b.up(b.plain(map[string]string{"note": "a"}), Current{})
		if ok != legacy || !strings.Contains(string(entry.Attrs), `"note":"other"`) || entry.Tainted == legacy {
			t.Errorf("legacy %v: %v, %+v", legacy, ok, entry)
		}
		if !legacy {
			b.reported("unexpected new value: fake_thing.a.note")
		}
	}
}

// A create that fails with an object in its answer leaves a tainted object.
func TestFailedCreateIsTainted(t *testing.T) {
	for _, ds := range []provider.Diags{nil, failed} {
		b := newBench(t)
		b.applies(false, ds, same)
		_, entry, ok := b.up(b.plain(map[string]string{"note": "a"}), Current{})
		if ok != (ds == nil) || entry == nil || entry.Tainted != (ds != nil) {
			t.Errorf("%v: %v, %+v", ds, ok, entry)
		}
	}
}

// A failed update keeps the taint of the object, and does not taint another object.
func TestFailedUpdateKeepsTaint(t *testing.T) {
	for _, tainted := range []bool{false, true} {
		b := newBench(t)
		b.applies(false, failed, same)
		cur := b.stored(b.object(map[string]string{"note": "a"}))
		cur.Entry.Tainted = tainted
		if _, entry, ok := b.up(b.plain(map[string]string{"note": "b"}), cur); ok || entry.Tainted != tainted {
			t.Errorf("tainted %v: %v, %+v", tainted, ok, entry)
		}
	}
}

// A value that is unknown after a successful apply is an error, and is recorded as null.
func TestUnknownAfterApplyIsRefused(t *testing.T) {
	b := newBench(t)
	b.applies(false, nil, calc(cty.UnknownVal(cty.String)))
	_, entry, ok := b.up(b.plain(nil), Current{})
	if ok || !strings.Contains(string(entry.Attrs), `"calc":null`) {
		t.Errorf("%v, %s", ok, entry.Attrs)
	}
	if list := b.Bag.List(); len(list) == 0 || !strings.Contains(list[0].Detail, "unknown after the apply operation") {
		t.Error(list)
	}
}

// An apply that reports neither an object nor an error is an error.
func TestApplyWithoutAnswerIsRefused(t *testing.T) {
	b := newBench(t)
	b.far.OnApply = func(context.Context, provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		return provider.ApplyResponse{}, nil
	}
	if _, entry, ok := b.up(b.plain(nil), Current{}); ok || entry != nil {
		t.Errorf("%v, %+v", ok, entry)
	}
	b.reported("did not report the result for fake_thing.a")
}

// A provider call that was interrupted before the answer is recorded as unanswered, and its error explains the
// consequence.
func TestUnansweredCallIsNoted(t *testing.T) {
	b := newBench(t)
	b.far.OnApply = func(context.Context, provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		return provider.ApplyResponse{Unanswered: true}, slices.Clone(failed)
	}
	if _, _, ok := b.up(b.plain(nil), Current{}); ok || !b.Unanswered {
		t.Errorf("%v, unanswered %v", ok, b.Unanswered)
	}
	b.reported("fake_thing.a may exist, because")
}

// The caller of a run chooses the words that explain a call without an answer.
func TestAdviceOfCallerExplainsUnansweredCall(t *testing.T) {
	b := newBench(t)
	b.Walk.Unanswered = Advice{event.Create: "stays, as the caller knows."}
	b.far.OnApply = func(context.Context, provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		return provider.ApplyResponse{Unanswered: true}, slices.Clone(failed)
	}
	b.up(b.plain(nil), Current{})
	b.reported("fake_thing.a stays, as the caller knows.")
}

// After its context is cancelled, a step makes no provider calls, and the recorded object does not change.
func TestCancelledWalkMakesNoCalls(t *testing.T) {
	b := newBench(t)
	cur := b.stored(b.object(map[string]string{"id": "1"}))
	p, _ := b.propose(b.plain(map[string]string{"note": "b"}), cur, Forced{})
	before := len(b.far.Calls())
	b.Walk.Token = func(context.Context, func()) bool { return false }
	_, up, ok1 := b.Up(bg, p, cur.Entry, Stored{})
	down, ok2 := b.Down(bg, cur, nil)
	read, _, ok3 := b.Read(bg, cur.Entry, cur.Known)
	_, ok4 := b.plan(b.plain(nil), cur, Forced{})
	if ok1 || ok2 || ok3 || ok4 || up != cur.Entry || down != cur.Entry || read != cur.Entry {
		t.Error("went on")
	}
	if after := b.far.Calls()[before:]; len(after) > 0 {
		t.Error(after)
	}
}

// A value of a write-only attribute in any answer is an error, and no entry has it.
func TestWriteOnlyAnswersAreRefused(t *testing.T) {
	text := set("secret", canary)
	for name, step := range map[string]func(*bench, Current) (*state.Entry, bool){
		"plan": func(b *bench, cur Current) (*state.Entry, bool) {
			b.plans(false, nil, text)
			_, ok := b.plan(b.plain(nil), cur, Forced{})
			return nil, ok
		},
		"apply": func(b *bench, cur Current) (*state.Entry, bool) {
			b.applies(false, nil, text)
			_, e, ok := b.up(b.plain(map[string]string{"note": "b"}), cur)
			return e, ok
		},
		"read": func(b *bench, cur Current) (*state.Entry, bool) {
			b.reads(text)
			e, _, ok := b.Read(bg, cur.Entry, cur.Known)
			return e, ok
		},
		"upgrade": func(b *bench, cur Current) (*state.Entry, bool) {
			b.far.OnUpgrade = func(context.Context, provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags) {
				return provider.UpgradeResponse{State: b.wire(b.object(map[string]string{"secret": canary}))}, nil
			}
			e, _, ok := b.Upgrade(bg, cur.Entry)
			return e, ok
		},
		"import": func(b *bench, _ Current) (*state.Entry, bool) {
			b.finds(b.object(map[string]string{"id": "1", "secret": canary}))
			e, _, ok := b.Import(bg, "1", cty.NilVal, Stored{})
			return e, ok
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			e, ok := step(b, b.stored(b.object(map[string]string{"note": "a"})))
			if ok {
				t.Error("accepted")
			}
			b.free(e)
			b.reported(`write-only attribute "fake_thing.a.secret"`)
		})
	}
}

// A provider may not plan to destroy an object that the configuration declares.
func TestPlanOfNothingIsRefused(t *testing.T) {
	b := newBench(t)
	b.far.OnPlan = func(context.Context, provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		return provider.PlanResponse{Planned: guard.Send(guard.NullWire)}, nil
	}
	if _, ok := b.plan(b.plain(nil), Current{}, Forced{}); ok {
		t.Error("planned")
	}
	b.reported("planned to destroy fake_thing.a, which is in the configuration")
}

// A message about a sensitive attribute has no values.
func TestBreachOfASensitiveValueNamesNoValue(t *testing.T) {
	for _, sensitive := range []bool{false, true} {
		b := newBench(t)
		b.plans(false, nil, set("note", canary))
		config := b.plain(map[string]string{"note": "a"})
		if sensitive {
			config.Marks = mark.SensitiveAt([]cty.Path{cty.GetAttrPath("note")})
		}
		if _, ok := b.plan(config, Current{}, Forced{}); ok {
			t.Error("planned")
		}
		if text := b.Bag.List()[0].Detail; strings.Contains(text, canary) == sensitive {
			t.Error(text)
		}
	}
}

// A provider that is allowed to defer an answer may do so: the outcome has its reason, and no error is reported.
func TestAllowedDeferralsHaveAReason(t *testing.T) {
	const why = provider.Deferred("absent_prereq")
	b := newBench(t)
	b.Allow.Deferral = true
	b.far.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		return provider.PlanResponse{Planned: r.Proposed, Deferred: why}, nil
	}
	b.far.OnReadData = func(_ context.Context, r provider.DataRequest) (provider.DataResponse, provider.Diags) {
		return provider.DataResponse{State: r.Config, Deferred: why}, nil
	}
	b.far.OnOpen = func(_ context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
		return provider.OpenResponse{Result: r.Config, Deferred: why}, nil
	}
	for name, call := range map[string]func() plan.Outcome{
		"plan": func() plan.Outcome { _, out := b.Plan(bg, b.plain(nil), Current{}, Forced{}); return out },
		"data": func() plan.Outcome { _, _, out := b.ReadData(bg, b.plain(nil), Stored{}, false); return out },
		"open": func() plan.Outcome {
			_, out := b.Open(bg, b.plain(nil), nil, func(guard.Lease) { t.Error("a deferred opening has a lease") })
			return out
		},
	} {
		if got := call(); got != plan.Defer(string(why)) {
			t.Errorf("%s: %v", name, got)
		}
		b.reported()
	}
}

// A provider that was not allowed to defer an answer may not.
func TestDeferredAnswersAreRefused(t *testing.T) {
	const why = provider.Deferred("absent_prereq")
	b := newBench(t)
	b.far.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		return provider.PlanResponse{Planned: r.Proposed, Deferred: why}, nil
	}
	b.far.OnRead = func(_ context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
		return provider.ReadResponse{State: r.State, Deferred: why}, nil
	}
	b.far.OnReadData = func(_ context.Context, r provider.DataRequest) (provider.DataResponse, provider.Diags) {
		return provider.DataResponse{State: r.Config, Deferred: why}, nil
	}
	b.far.OnImport = func(context.Context, provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
		return provider.ImportResponse{Deferred: why}, nil
	}
	b.far.OnOpen = func(_ context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
		return provider.OpenResponse{Result: r.Config, Deferred: why}, nil
	}
	cur := b.stored(b.object(nil))
	for name, call := range map[string]func() bool{
		"plan":   func() bool { _, ok := b.plan(b.plain(nil), cur, Forced{}); return ok },
		"read":   func() bool { _, _, ok := b.Read(bg, cur.Entry, cur.Known); return ok },
		"data":   func() bool { _, ok := b.readData(b.plain(nil)); return ok },
		"import": func() bool { _, _, ok := b.Import(bg, "1", cty.NilVal, Stored{}); return ok },
		"open":   func() bool { _, ok := b.open(b.plain(nil), func(guard.Lease) {}); return ok },
	} {
		if call() {
			t.Errorf("%s: accepted", name)
		}
		b.reported("deferred its answer about fake_thing.a (reason: absent_prereq)")
	}
}

// An object that no longer exists has no entry.
func TestGoneObjectHasNoEntry(t *testing.T) {
	b := newBench(t)
	b.far.OnRead = func(context.Context, provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
		return provider.ReadResponse{State: guard.Send(guard.NullWire)}, nil
	}
	cur := b.stored(b.object(map[string]string{"id": "1"}))
	if e, _, ok := b.Read(bg, cur.Entry, cur.Known); !ok || e != nil {
		t.Errorf("%v, %+v", ok, e)
	}
	b.reported()
}

// A refreshed object has no unknown values. If the answer has some, the entry does not change.
func TestUnknownWhileRefreshingIsRefused(t *testing.T) {
	b := newBench(t)
	b.reads(calc(cty.UnknownVal(cty.String)))
	cur := b.stored(b.object(map[string]string{"id": "1"}))
	if e, _, ok := b.Read(bg, cur.Entry, cur.Known); ok || e != cur.Entry {
		t.Errorf("%v, %+v", ok, e)
	}
	b.reported(`left "fake_thing.a.calc" unknown while refreshing`)
}

// Reading an object keeps the other data in its state entry: taint, dependencies, sensitive paths of the configuration.
func TestReadKeepsWhatIsRecordedBeside(t *testing.T) {
	b := newBench(t)
	b.reads(set("calc", "new"))
	cur := b.stored(b.object(map[string]string{"id": "1", "note": "a"}))
	cur.Entry.Tainted, cur.Entry.CreateFirst, cur.Entry.Sensitive = true, true, []cty.Path{cty.GetAttrPath("note")}
	e, k, ok := b.Read(bg, cur.Entry, cur.Known)
	if !ok || !strings.Contains(string(e.Attrs), `"calc":"new"`) || !e.Tainted || !e.CreateFirst {
		t.Fatalf("%v, %+v", ok, e)
	}
	if v, ok := b.Value(e, k); !ok || !mark.SamePaths(v.PathsOf(mark.Sensitive), cur.Entry.Sensitive) {
		t.Error(v.Marks)
	}
}

// A state that a newer release of the provider wrote is refused without a call to the provider.
func TestStateOfANewerProviderIsRefused(t *testing.T) {
	b := newBench(t)
	if _, _, ok := b.Upgrade(bg, &state.Entry{Schema: 1, Attrs: []byte(`{}`)}); ok || len(b.far.Calls()) > 0 {
		t.Error(ok, b.far.Calls())
	}
	b.reported("has version 1 of its schema")
}

// A stored object cannot be upgraded to nothing.
func TestUpgradeToNothingIsRefused(t *testing.T) {
	b := newBench(t)
	b.far.OnUpgrade = func(context.Context, provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags) {
		return provider.UpgradeResponse{State: guard.Send(guard.NullWire)}, nil
	}
	entry := &state.Entry{Attrs: []byte(`{"id":"1"}`)}
	if e, _, ok := b.Upgrade(bg, entry); ok || e != entry {
		t.Error(ok, e)
	}
	b.reported("upgraded the stored object of fake_thing.a to null")
}

// A destroyed object stays in the state unless the provider reports success and returns no object.
func TestDestroyForgetsOnlyWhatIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		answer  bool // the answer has an object
		ds      provider.Diags
		missing bool
	}{
		"gone":                       {false, nil, true},
		"failed, no object":          {false, failed, false},
		"failed, with an object":     {true, failed, false},
		"successful, with an object": {true, nil, false},
	} {
		b := newBench(t)
		cur := b.stored(b.object(map[string]string{"id": "1"}))
		b.far.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
			if c.answer {
				return provider.ApplyResponse{State: b.wire(b.object(map[string]string{"id": "1", "calc": "half"}))}, c.ds
			}
			return provider.ApplyResponse{State: guard.Send(guard.NullWire)}, c.ds
		}
		left, ok := b.Down(bg, cur, nil)
		if ok != c.missing || (left == nil) != c.missing {
			t.Errorf("%s: %v, %+v", name, ok, left)
		}
		if c.answer && !strings.Contains(string(left.Attrs), "half") {
			t.Errorf("%s: left %s", name, left.Attrs)
		}
	}
}

// Only providers with the capability PlanDestroy plan a destruction, and such a plan must have no object.
func TestDestroyIsPlannedByCapableProviders(t *testing.T) {
	b := newBench(t)
	cur := b.stored(b.object(map[string]string{"id": "1"}))
	if c, ok := b.PlanDown(bg, cur, false); !ok || c.Action != plan.Delete || len(b.far.Calls()) > 0 || string(c.Private) != "stored" {
		t.Errorf("%+v, %v", c, b.far.Calls())
	}
	b.far.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		return provider.PlanResponse{Planned: r.Proposed, Private: []byte("planned")}, nil
	}
	if c, ok := b.PlanDown(bg, cur, true); !ok || string(c.Private) != "planned" {
		t.Errorf("%+v", c)
	}
	b.far.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		return provider.PlanResponse{Planned: r.Prior}, nil
	}
	if _, ok := b.PlanDown(bg, cur, true); ok {
		t.Error("planned")
	}
	b.reported("planned an object for the destruction")
}

// If only the sensitive marks of a configuration change, the object is updated without a call to the provider.
func TestNewMarksAreAnUpdateWithoutACall(t *testing.T) {
	b := newBench(t)
	cur := b.stored(b.object(map[string]string{"note": "a"}))
	config := b.plain(map[string]string{"note": "a"})
	config.Marks = mark.SensitiveAt([]cty.Path{cty.GetAttrPath("note")})
	c, ok := b.plan(config, cur, Forced{})
	if !ok || c.Action != plan.Update {
		t.Fatalf("%+v", c)
	}
	p, _ := b.propose(config, cur, Forced{})
	if !b.Nothing(p) {
		t.Error("the provider would be called")
	}
	if _, e, news := b.Same(p, cur.Entry); !news || !mark.SamePaths(e.Sensitive, config.PathsOf(mark.Sensitive)) || cur.Entry.Sensitive != nil {
		t.Errorf("%v, %v", news, e.Sensitive)
	}
}

// The answer to a read of a data source must be an object, not null, without unknown values.
func TestDataIsWhollyKnown(t *testing.T) {
	for text, answer := range map[string]func(*bench) provider.Dynamic{
		`left "fake_thing.a.calc" unknown in a data source`: func(b *bench) provider.Dynamic {
			return b.wire(calc(cty.UnknownVal(cty.String))(b.object(nil)))
		},
		"returned no object": func(*bench) provider.Dynamic { return guard.Send(guard.NullWire) },
	} {
		b := newBench(t)
		b.far.OnReadData = func(context.Context, provider.DataRequest) (provider.DataResponse, provider.Diags) {
			return provider.DataResponse{State: answer(b)}, nil
		}
		if e, ok := b.readData(b.plain(nil)); ok || e != nil {
			t.Errorf("%v, %+v", ok, e)
		}
		b.reported(text)
	}
}

// The stored result of a data source is used only for the same configuration and schema.
func TestStoredDataStandsForTheSameConfiguration(t *testing.T) {
	b := newBench(t)
	e := b.stored(b.object(map[string]string{"id": "1", "note": "a"})).Entry
	old := *e
	old.Schema = 7
	for name, c := range map[string]struct {
		note  string
		entry *state.Entry
		want  bool
	}{"the same": {"a", e, true}, "another": {"b", e, false}, "none": {"a", nil, false}, "of another schema": {"a", &old, false}} {
		if _, _, ok := b.StoredData(b.plain(map[string]string{"note": c.note}), c.entry); ok != c.want {
			t.Errorf("%s: %v", name, ok)
		}
	}
	if len(b.far.Calls()) > 0 {
		t.Error(b.far.Calls())
	}
}

// A secret in a provider's answer is removed: neither the state entry nor a diagnostic has it.
func TestSecretInAnAnswerIsNotRecorded(t *testing.T) {
	for name, step := range map[string]func(*bench) (*state.Entry, bool){
		"apply": func(b *bench) (*state.Entry, bool) {
			b.plans(false, nil, calc(cty.UnknownVal(cty.String)))
			b.applies(false, nil, set("calc", canary))
			_, e, ok := b.up(b.plain(map[string]string{"note": "a"}), Current{})
			return e, ok
		},
		"read": func(b *bench) (*state.Entry, bool) {
			b.reads(set("calc", canary))
			cur := b.stored(b.object(map[string]string{"id": "1"}))
			e, _, ok := b.Read(bg, cur.Entry, cur.Known)
			return e, ok
		},
		"private": func(b *bench) (*state.Entry, bool) {
			b.far.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
				return provider.ApplyResponse{State: r.Planned, Private: []byte(canary)}, nil
			}
			_, e, ok := b.up(b.plain(nil), Current{})
			return e, ok
		},
		"import": func(b *bench) (*state.Entry, bool) {
			b.finds(b.object(map[string]string{"id": "1", "calc": canary}))
			e, _, ok := b.Import(bg, "1", cty.NilVal, Stored{})
			return e, ok
		},
		"data": func(b *bench) (*state.Entry, bool) {
			b.far.OnReadData = func(_ context.Context, r provider.DataRequest) (provider.DataResponse, provider.Diags) {
				return provider.DataResponse{State: b.wire(set("calc", canary)(b.value(r.Config)))}, nil
			}
			e, ok := b.readData(b.plain(nil))
			return e, ok
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.guarded()
			e, ok := step(b)
			if ok || !b.Walk.Guard.Secrets.Found() {
				t.Errorf("accepted: %v, found: %v", ok, b.Walk.Guard.Secrets.Found())
			}
			b.free(e)
		})
	}
}

// Texts in an object's configuration outside of write-only arguments may be stored in the state, even if the text is a
// secret of another object.
func TestConfiguredTextMayBeRecorded(t *testing.T) {
	b := newBench(t)
	b.guarded()
	_, e, ok := b.up(b.plain(map[string]string{"note": canary}), Current{})
	if !ok || !strings.Contains(string(e.Attrs), canary) {
		t.Errorf("%v: %v", ok, b.Bag.List())
	}
}

// events is a sink that collects events.
type events []event.Event

// Send appends an event. It implements event.Sink.
func (e *events) Send(x event.Event) { *e = append(*e, x) }

// A sensitive id is in no event, and neither is the name beside it.
func TestSensitiveIdentifiersAreNotShown(t *testing.T) {
	for _, sensitive := range []bool{false, true} {
		b := newBench(t)
		var sent events
		b.Walk.Sink = &sent
		b.plans(false, nil, same)
		b.applies(false, nil, same)
		b.reads(set("calc", "new"))
		b.far.OnReadData = func(_ context.Context, r provider.DataRequest) (provider.DataResponse, provider.Diags) {
			return provider.DataResponse{State: r.Config}, nil
		}
		b.Type.Attr("id").Optional = true
		config := b.plain(map[string]string{"id": canary, "name": canary + "-name"})
		if sensitive {
			config.Marks = mark.SensitiveAt([]cty.Path{cty.GetAttrPath("id")})
		}
		_, e, _ := b.up(config, Current{})
		cur := b.stored(config.Raw)
		cur.Entry = e
		b.up(config, cur)
		p, _ := b.propose(config, cur, Forced{})
		b.Same(p, &state.Entry{Attrs: e.Attrs})
		b.Read(bg, e, cur.Known)
		b.readData(config)
		b.Down(bg, cur, nil)
		shown := 0
		for _, x := range sent {
			if strings.Contains(fmt.Sprintf("%+v", x), canary) {
				shown++
			}
		}
		if len(b.Bag.List()) > 0 || len(sent) < 10 || (shown == 0) != sensitive {
			t.Errorf("sensitive: %v, shown in %d of %d events: %v, %v", sensitive, shown, len(sent), sent, b.Bag.List())
		}
	}
}

// If the identifier of a new object contains a secret, which must not be stored, the object could not be found again,
// so it is destroyed.
func TestSecretInTheIdentifierUndoesTheCreate(t *testing.T) {
	b := newBench(t)
	b.guarded()
	b.plans(false, nil, func(v cty.Value) cty.Value {
		return with(v, map[string]cty.Value{"id": cty.UnknownVal(cty.String)})
	})
	b.far.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
		if isNull(r.Planned.Msgpack) {
			return provider.ApplyResponse{State: r.Planned}, nil
		}
		return provider.ApplyResponse{State: b.wire(set("id", canary)(b.value(r.Planned)))}, nil
	}
	_, e, ok := b.up(b.plain(nil), Current{})
	if ok || e != nil || b.far.Count("Apply fake_thing") != 2 {
		t.Errorf("%v, %+v, %v", ok, e, b.far.Calls())
	}
	b.free(e)
}

// An opened lease is passed to the function held before its answer is checked, so that it is closed even if the answer
// is wrong.
func TestLeaseIsHeldBeforeItsAnswerIsChecked(t *testing.T) {
	for name, result := range map[string]func(cty.Value) cty.Value{
		"good":             same,
		"an argument else": set("note", "other"),
		"unknown":          calc(cty.UnknownVal(cty.String)),
	} {
		b := newBench(t)
		due := time.Unix(1, 0)
		b.far.OnOpen = func(_ context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
			return provider.OpenResponse{Result: b.wire(result(b.value(r.Config))), Private: []byte("p"), RenewAt: due}, nil
		}
		var held []guard.Lease
		v, ok := b.open(b.plain(map[string]string{"note": "a"}), func(o guard.Lease) { held = append(held, o) })
		if ok != (name == "good") || len(held) != 1 || string(held[0].Private) != "p" || !held[0].RenewAt.Equal(due) {
			t.Errorf("%s: %v, %+v: %v", name, ok, held, b.Bag.List())
		}
		if ok && !v.Has(mark.Ephemeral) {
			t.Error("the value is not ephemeral")
		}
	}
}

// The computed values of an ephemeral resource are secrets of the run.
func TestResultOfALeaseIsASecret(t *testing.T) {
	b := newBench(t)
	b.far.OnOpen = func(_ context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
		return provider.OpenResponse{Result: b.wire(set("calc", canary)(b.value(r.Config)))}, nil
	}
	if _, ok := b.open(b.plain(nil), func(guard.Lease) {}); !ok {
		t.Fatal(b.Bag.List())
	}
	b.reads(set("calc", canary))
	cur := b.stored(b.object(map[string]string{"id": "1"}))
	e, _, ok := b.Read(bg, cur.Entry, cur.Known)
	if ok {
		t.Error("recorded")
	}
	b.free(e)
}

// If the provider refuses to move an object from another type, the request is repeated with the address of the source
// provider in the other registry (of Terraform or OpenTofu).
func TestMoveIsAskedUnderBothRegistries(t *testing.T) {
	b := newBench(t)
	var asked []string
	b.far.OnMove = func(_ context.Context, r provider.MoveRequest) (provider.MoveResponse, provider.Diags) {
		if asked = append(asked, r.SourceProvider.Host); len(asked) == 1 {
			return provider.MoveResponse{}, failed
		}
		return provider.MoveResponse{State: b.wire(b.object(map[string]string{"id": "1"}))}, nil
	}
	e := &state.Entry{Attrs: []byte(`{}`), Provider: addr.ProviderInstance{}}
	e.Provider.Provider = addr.Provider{Host: "registry.terraform.io", Namespace: "x", Type: "fake"}
	next, _, ok := b.Move(bg, e, addr.Instance{})
	if !ok || len(asked) != 2 || asked[0] == asked[1] {
		t.Errorf("%v, %v, %+v: %v", ok, asked, next, b.Bag.List())
	}
}

// A move of an object to another type keeps the sensitive paths of attributes that both types have.
func TestMoveKeepsSensitivePaths(t *testing.T) {
	b := newBench(t)
	b.far.OnMove = func(context.Context, provider.MoveRequest) (provider.MoveResponse, provider.Diags) {
		return provider.MoveResponse{State: b.wire(b.object(map[string]string{"note": canary}))}, nil
	}
	e := &state.Entry{Attrs: []byte(`{"note":"a","title":"b"}`), Sensitive: []cty.Path{cty.GetAttrPath("note"), cty.GetAttrPath("title")}}
	next, k, ok := b.Move(bg, e, addr.Instance{})
	if !ok || !mark.SamePaths(next.Sensitive, []cty.Path{cty.GetAttrPath("note")}) {
		t.Fatalf("%v, %+v: %v", ok, next, b.Bag.List())
	}
	if v, _ := b.Value(next, k); !v.Has(mark.Sensitive) {
		t.Error("the value is not sensitive")
	}
}

// The identity of an object may not change while it is applied.
func TestIdentityIsSteady(t *testing.T) {
	id := func(b *bench, s string) provider.Dynamic {
		return b.Type.IdentityWire(cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(s)}))
	}
	for answered, want := range map[string]bool{"a": true, "b": false} {
		b := newBench(t)
		b.far.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
			return provider.PlanResponse{Planned: r.Proposed, Identity: id(b, "a")}, nil
		}
		b.far.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
			return provider.ApplyResponse{State: r.Planned, Identity: id(b, answered)}, nil
		}
		_, e, ok := b.up(b.plain(nil), Current{})
		if ok != want || string(e.Identity) != `{"id":"`+answered+`"}` || e.IdentitySchema != 2 {
			t.Errorf("%s: %v, %s", answered, ok, e.Identity)
		}
	}
}

// An import without an object of the type is an error.
func TestImportOfNothingIsRefused(t *testing.T) {
	for text, answer := range map[string][]provider.Imported{
		"imported no object of type fake_thing for fake_t": {{Type: "fake_other", State: guard.Send(guard.NullWire)}},
	} {
		b := newBench(t)
		b.far.OnImport = func(context.Context, provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
			return provider.ImportResponse{Objects: answer}, nil
		}
		if e, _, ok := b.Import(bg, "1", cty.NilVal, Stored{}); ok || e != nil {
			t.Errorf("%v, %+v", ok, e)
		}
		b.reported(text)
	}
}

// An import without an object in the answer, or with a null object, finds no object. The caller decides whether that is
// an error. An error of the provider remains an error.
func TestImportOfNull(t *testing.T) {
	for _, answer := range [][]provider.Imported{nil, {{Type: "fake_thing", State: guard.Send(guard.NullWire)}}} {
		for _, ds := range []provider.Diags{nil, {{Severity: diag.Error, Summary: "no access"}}} {
			b := newBench(t)
			b.far.OnImport = func(context.Context, provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
				return provider.ImportResponse{Objects: answer}, ds
			}
			if e, _, ok := b.Import(bg, "1", cty.NilVal, Stored{}); ok != (ds == nil) || e != nil {
				t.Errorf("%v: %v, %+v", ds, ok, e)
			}
		}
	}
}

// A search for an object of an interrupted run reports no errors of the provider.
func TestSearchReportsNoErrors(t *testing.T) {
	c := func(b *bench, id string) *plan.Change {
		return &plan.Change{After: b.plain(map[string]string{"id": id})}
	}
	b := newBench(t)
	b.finds(b.object(map[string]string{"id": "1"}))
	if f, ok := b.Search(bg, c(b, "1"), Stored{}); !ok || !f.Exists || f.ID != "1" || f.By != `id "1"` {
		t.Errorf("%v, %+v", ok, f)
	}
	b.far.OnImport = func(context.Context, provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
		return provider.ImportResponse{}, failed
	}
	if f, ok := b.Search(bg, c(b, "1"), Stored{}); !ok || f.Exists {
		t.Errorf("%v, %+v", ok, f)
	}
	if _, ok := b.Search(bg, &plan.Change{After: b.plain(nil)}, Stored{}); ok {
		t.Error("searched without an id")
	}
	b.reported()
}

// The result of a search has no sensitive id.
func TestSearchHidesSensitiveIDs(t *testing.T) {
	for _, sensitive := range []bool{false, true} {
		b := newBench(t)
		b.finds(b.object(map[string]string{"id": canary, "name": "a"}))
		c := &plan.Change{After: b.plain(map[string]string{"id": canary})}
		if sensitive {
			c.After.Marks = mark.SensitiveAt([]cty.Path{cty.GetAttrPath("id")})
		}
		f, ok := b.Search(bg, c, Stored{})
		if !ok || !f.Exists || strings.Contains(f.By+f.ID, canary) == sensitive {
			t.Errorf("sensitive: %v: %v, %+v", sensitive, ok, f)
		}
	}
}
