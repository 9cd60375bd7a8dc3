package object

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// bench has the tools for one object of the type fake_thing, with a fake provider.
type bench struct {
	*testing.T
	*Tools
	far *providertest.Fake
}

func newBench(t *testing.T) *bench {
	inner := &schema.Block{Attrs: []*schema.Attr{
		{Name: "hint", Type: cty.String, Computed: true},
		{Name: "key", Type: cty.String, Optional: true},
	}}
	block := &schema.Block{
		Attrs: []*schema.Attr{
			{Name: "calc", Type: cty.String, Optional: true, Computed: true},
			{Name: "id", Type: cty.String, Computed: true},
			{Name: "name", Type: cty.String, Optional: true},
			{Name: "note", Type: cty.String, Optional: true},
			{Name: "secret", Type: cty.String, Optional: true, WriteOnly: true},
		},
		Blocks: []*schema.Nested{{Name: "part", Nesting: schema.List, Block: inner}},
	}
	far := &providertest.Fake{Address: addr.Builtin("fake")}
	o := addr.Resource{Type: "fake_thing", Name: "a"}.In(addr.ModuleInstance{}).Instance(addr.NoKey).Current()
	return &bench{t, &Tools{
		Object: o, Provider: guard.Of(far), Bag: &diag.Bag{},
		Type: &Type{
			Schema: &schema.Schema{Block: block}, Name: "fake_thing", Mode: addr.Managed,
			Identity: &provider.Identity{Version: 2, Attrs: []provider.IdentityAttr{{Name: "id", Type: cty.String}}},
		},
		Walk: &Walk{Guard: &guard.Guard{Secrets: &secret.Set{}}},
	}, far}
}

// object returns an object of the type fake_thing with the attributes attrs; all other attributes are null. It has a
// block part for each key in keys.
func (b *bench) object(attrs map[string]string, keys ...string) cty.Value {
	all := b.Type.Empty().AsValueMap()
	for name, v := range attrs {
		all[name] = cty.StringVal(v)
	}
	var parts []cty.Value
	for _, key := range keys {
		parts = append(parts, cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "hint": cty.StringVal("hint")}))
	}
	if parts != nil {
		all["part"] = cty.ListVal(parts)
	}
	return cty.ObjectVal(all)
}

// with returns the object v with the attributes attrs in place of the former values.
func with(v cty.Value, attrs map[string]cty.Value) cty.Value {
	all := v.AsValueMap()
	for name, v := range attrs {
		all[name] = v
	}
	return cty.ObjectVal(all)
}

func (b *bench) wire(v cty.Value) provider.Dynamic {
	b.Helper()
	wire, err := b.Type.Encode(v)
	if err != nil {
		b.Fatal(err)
	}
	return guard.Send(wire)
}

func (b *bench) value(d provider.Dynamic) cty.Value {
	b.Helper()
	v, err := b.Type.Decode(d.Msgpack)
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// stored returns the object v as a current object with an entry of a state.
func (b *bench) stored(v cty.Value) Current {
	b.Helper()
	attrs, err := b.Type.EncodeJSON(v)
	if err != nil {
		b.Fatal(err)
	}
	wire := b.wire(v).Msgpack
	return Current{Entry: &state.Entry{Attrs: attrs, Private: []byte("stored")}, Known: Known{Wire: wire, Upgraded: wire, inForm: true}}
}

// reported fails the test unless the diagnostics since its last call contain these texts, in this order, one each.
func (b *bench) reported(want ...string) {
	b.Helper()
	all := b.Bag.List()
	b.Bag = &diag.Bag{}
	var got []string
	for _, d := range all {
		got = append(got, d.Summary+": "+d.Detail)
	}
	if len(got) != len(want) {
		b.Fatalf("%d diagnostics, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			b.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

// plans makes the provider answer plan requests with f(proposed object). replace has the paths that require
// replacement.
func (b *bench) plans(legacy bool, replace []cty.Path, f func(cty.Value) cty.Value) {
	b.far.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		return provider.PlanResponse{Planned: b.wire(f(b.value(r.Proposed))), Private: r.Private, LegacyTypes: legacy, Replace: slices.Clone(replace)}, nil
	}
}

// plan calls Plan, and reports whether the outcome is known.
func (b *bench) plan(config mark.Value, cur Current, f Forced) (*plan.Change, bool) {
	c, out := b.Plan(context.Background(), config, cur, f)
	return c, out.Kind == plan.Known
}

// propose calls Propose, and reports whether the outcome is known.
func (b *bench) propose(config mark.Value, cur Current, f Forced) (*Proposal, bool) {
	p, out := b.Propose(context.Background(), config, cur, f)
	return p, out.Kind == plan.Known
}

// readData calls ReadData, and reports whether the outcome is known.
func (b *bench) readData(config mark.Value) (*state.Entry, bool) {
	_, e, out := b.ReadData(context.Background(), config, Stored{}, false)
	return e, out.Kind == plan.Known
}

// open calls Open, and reports whether the outcome is known.
func (b *bench) open(config mark.Value, held func(guard.Lease)) (mark.Value, bool) {
	v, out := b.Open(context.Background(), config, nil, held)
	return v, out.Kind == plan.Known
}

func same(v cty.Value) cty.Value { return v }

func set(name, text string) func(cty.Value) cty.Value {
	return func(v cty.Value) cty.Value { return with(v, map[string]cty.Value{name: cty.StringVal(text)}) }
}

// Without an object in the answer to an update, the prior object stays in the state, whether or not there is an error.
func TestUpdateThatAnswersNullKeepsThePriorObject(t *testing.T) {
	failed := provider.Diags{diag.Errorf("failed", "")}
	for name, c := range map[string]struct {
		prior  bool
		ds     provider.Diags
		titles string
	}{
		"update":            {true, nil, "present, but now absent"},
		"update that fails": {true, failed, "failed"},
		"create":            {false, nil, "present, but now absent"},
		"create that fails": {false, failed, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var cur Current
			if c.prior {
				cur = b.stored(b.object(map[string]string{"id": "1", "note": "a"}))
			}
			b.far.OnApply = func(context.Context, provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
				return provider.ApplyResponse{State: guard.Send(guard.NullWire), LegacyTypes: true}, c.ds
			}
			p, ok := b.propose(mark.Plain(b.object(map[string]string{"note": "b"})), cur, Forced{})
			if !ok {
				t.Fatal("not planned")
			}
			_, entry, ok := b.Up(context.Background(), p, cur.Entry, Stored{})
			if ok || entry != cur.Entry {
				t.Errorf("recorded %+v (%v), want the prior entry", entry, ok)
			}
			b.reported(c.titles)
		})
	}
}

// If a provider of the legacy type system plans another value for an ignored attribute, the prior value is kept. An
// attribute that does not change does not replace the object.
func TestIgnoreChangesHoldsForLegacyPlans(t *testing.T) {
	note, key := cty.GetAttrPath("note"), cty.GetAttrPath("part").IndexInt(0).GetAttr("key")
	other := func(v cty.Value) cty.Value {
		return with(set("note", "hash of hash")(v), map[string]cty.Value{
			"calc": cty.UnknownVal(cty.String),
			"part": cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("hash of hash"), "hint": cty.StringVal("hint")})}),
		})
	}
	for name, c := range map[string]struct {
		f       Forced
		replace []cty.Path
		action  plan.Action
		changed []string
	}{
		"all":                        {Forced{IgnoreAll: true}, []cty.Path{note, key, cty.GetAttrPath("calc")}, plan.NoOp, nil},
		"one":                        {Forced{Ignore: []cty.Path{note}}, []cty.Path{note}, plan.Update, []string{"calc", "part"}},
		"one in a block":             {Forced{Ignore: []cty.Path{key, note}}, []cty.Path{key}, plan.Update, []string{"calc"}},
		"every one":                  {Forced{Ignore: []cty.Path{note, cty.GetAttrPath("part"), cty.GetAttrPath("calc")}}, []cty.Path{note}, plan.NoOp, nil},
		"others replace":             {Forced{Ignore: []cty.Path{note}}, []cty.Path{note, key}, plan.DeleteCreate, nil},
		"a path that leads nowhere":  {Forced{Ignore: []cty.Path{cty.GetAttrPath("part").IndexInt(3).GetAttr("key"), note}}, nil, plan.Update, []string{"calc", "part"}},
		"-replace replaces anyway":   {Forced{IgnoreAll: true, Replace: true}, nil, plan.DeleteCreate, nil},
		"triggers replace anyway":    {Forced{IgnoreAll: true, Triggered: true}, nil, plan.DeleteCreate, nil},
		"nothing is ignored: update": {Forced{}, nil, plan.Update, []string{"calc", "note", "part"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			was := b.object(map[string]string{"id": "1", "note": "hash", "calc": "c"}, "hash")
			b.plans(true, c.replace, other)
			change, ok := b.plan(mark.Plain(b.object(map[string]string{"note": "text"}, "text")), b.stored(was), c.f)
			if !ok {
				t.Fatalf("not planned: %v", b.Bag.List())
			}
			if change.Action != c.action {
				t.Fatalf("%s, want %s", change.Action, c.action)
			}
			if c.action != plan.Update {
				return
			}
			var changed []string
			for name, v := range change.After.Raw.AsValueMap() {
				if !v.RawEquals(was.GetAttr(name)) {
					changed = append(changed, name)
				}
			}
			if slices.Sort(changed); !slices.Equal(changed, c.changed) {
				t.Errorf("changed: %v, want %v", changed, c.changed)
			}
		})
	}
}

// If a provider of the current type system plans a value other than the prior value for an ignored attribute, this is
// an error.
func TestIgnoreChangesIsNotRepeatedForOtherPlans(t *testing.T) {
	b := newBench(t)
	b.plans(false, nil, set("note", "other"))
	_, ok := b.plan(mark.Plain(b.object(nil)), b.stored(b.object(map[string]string{"id": "1", "note": "a"})), Forced{IgnoreAll: true})
	if ok {
		t.Error("planned")
	}
	b.reported("planned an invalid value for fake_thing.a.note")
}

// The second plan, during apply, also keeps the prior values of ignored attributes if the provider uses the legacy type
// system.
func TestIgnoreChangesHoldsForTheFinalPlan(t *testing.T) {
	b := newBench(t)
	b.plans(true, []cty.Path{cty.GetAttrPath("note")}, set("note", "hash of hash"))
	cur, f := b.stored(b.object(map[string]string{"id": "1", "note": "hash"})), Forced{Ignore: []cty.Path{cty.GetAttrPath("note")}}
	unknown := with(b.object(map[string]string{"note": "text"}), map[string]cty.Value{"name": cty.UnknownVal(cty.String)})
	change, ok := b.plan(mark.Plain(unknown), cur, f)
	if !ok || change.Action != plan.Update {
		t.Fatalf("%+v", change)
	}
	p, ok := b.propose(mark.Plain(b.object(map[string]string{"note": "text", "name": "n"})), cur, f)
	if !ok || !b.Within(change, p) {
		t.Fatalf("refused: %v", b.Bag.List())
	}
	if got := b.value(guard.Send(p.Planned)).GetAttr("note"); !got.RawEquals(cty.StringVal("hash")) {
		t.Errorf("the plan sent to apply has %#v", got)
	}
}

// An apply request has the configuration as the user wrote it. A plan request has the prior values of attributes in
// ignore_changes.
func TestApplyGetsTheWrittenConfiguration(t *testing.T) {
	for name, f := range map[string]Forced{"all": {IgnoreAll: true}, "some": {Ignore: []cty.Path{cty.GetAttrPath("note"), cty.GetAttrPath("secret")}}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			var planned, applied cty.Value
			b.far.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
				planned = b.value(r.Config)
				return provider.PlanResponse{Planned: r.Proposed}, nil
			}
			b.far.OnApply = func(_ context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
				applied = b.value(r.Config)
				return provider.ApplyResponse{State: r.Planned}, nil
			}
			cur, config := b.stored(b.object(map[string]string{"id": "1", "note": "old"})), b.object(map[string]string{"note": "new", "secret": "canary"})
			p, _ := b.propose(mark.Plain(config), cur, f)
			_, entry, ok := b.Up(context.Background(), p, cur.Entry, Stored{})
			if !ok {
				t.Fatal(b.Bag.List())
			}
			if got := planned.GetAttr("note"); !got.RawEquals(cty.StringVal("old")) || !planned.GetAttr("secret").IsNull() {
				t.Errorf("planned with %#v", planned)
			}
			if !applied.RawEquals(config) {
				t.Errorf("applied with %#v", applied)
			}
			if strings.Contains(string(entry.Attrs)+string(entry.Private)+string(entry.Identity), "canary") {
				t.Error("the canary is in the entry")
			}
		})
	}
}

// If all changes are ignored, the configuration has no values for attributes that only the provider sets.
func TestIgnoreAllLeavesComputedAttributesNull(t *testing.T) {
	b := newBench(t)
	var config cty.Value
	b.far.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		config = b.value(r.Config)
		return provider.PlanResponse{Planned: r.Proposed}, nil
	}
	was := b.object(map[string]string{"id": "1", "calc": "c", "note": "n"}, "k")
	if c, ok := b.plan(mark.Plain(b.object(map[string]string{"note": "m"})), b.stored(was), Forced{IgnoreAll: true}); !ok || c.Action != plan.NoOp {
		t.Fatalf("%+v", c)
	}
	want := with(was, map[string]cty.Value{"id": cty.NullVal(cty.String), "part": cty.ListVal([]cty.Value{
		cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal("k"), "hint": cty.NullVal(cty.String)}),
	})})
	if !config.RawEquals(want) {
		t.Errorf("planned with %#v", config)
	}
}

// A replacement that is not in the approved plan is refused during apply, with either type system.
func TestReplacementAtApplyIsRefused(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		for createFirst, text := range map[bool]string{false: "from Update to DeleteThenCreate", true: "from Update to CreateThenDelete"} {
			b := newBench(t)
			cur, config := b.stored(b.object(map[string]string{"id": "1", "note": "a"})), b.object(map[string]string{"note": "b"})
			b.plans(legacy, nil, same)
			approved, _ := b.plan(mark.Plain(with(config, map[string]cty.Value{"note": cty.UnknownVal(cty.String)})), cur, Forced{})
			approved.CreateFirst = createFirst
			b.plans(legacy, []cty.Path{cty.GetAttrPath("note")}, same)
			p, ok := b.propose(mark.Plain(config), cur, Forced{})
			if !ok || b.Within(approved, p) {
				t.Error("carried out")
			}
			b.reported(text)
		}
	}
}

// The final plan of an update may have no changes. The create step of a replacement does not need a replacement itself.
func TestFinalPlanMayDoLess(t *testing.T) {
	b := newBench(t)
	cur, config := b.stored(b.object(map[string]string{"id": "1", "note": "a"})), b.object(map[string]string{"note": "a"})
	unknown := mark.Plain(with(config, map[string]cty.Value{"note": cty.UnknownVal(cty.String)}))
	for _, replace := range [][]cty.Path{nil, {cty.GetAttrPath("note")}} {
		b.plans(false, replace, same)
		approved, _ := b.plan(unknown, cur, Forced{})
		from := cur
		if approved.Action.Replaces() {
			from = Current{}
		}
		if p, ok := b.propose(mark.Plain(config), from, Forced{}); !ok || !b.Within(approved, p) {
			t.Errorf("%s: %v", approved.Action, b.Bag.List())
		}
	}
}

// The final plan of a provider of the legacy type system must agree with the approved plan, too.
func TestFinalPlanOfLegacyProvidersIsChecked(t *testing.T) {
	b := newBench(t)
	cur, config := b.stored(b.object(map[string]string{"id": "1", "note": "a"})), b.object(map[string]string{"note": "b"})
	b.plans(true, nil, set("name", "given"))
	approved, _ := b.plan(mark.Plain(with(config, map[string]cty.Value{"note": cty.UnknownVal(cty.String)})), cur, Forced{})
	b.plans(true, nil, set("name", "other"))
	p, _ := b.propose(mark.Plain(config), cur, Forced{})
	if b.Within(approved, p) {
		t.Error("carried out")
	}
	b.reported(`fake_thing.a.name: was cty.StringVal("given"), but now cty.StringVal("other")`)
}

// An approved plan applies only to the configuration that it was made with.
func TestApprovedPlanNeedsTheSameConfiguration(t *testing.T) {
	for name, f := range map[string]Forced{"plain": {}, "ignored": {Ignore: []cty.Path{cty.GetAttrPath("name")}}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.plans(true, nil, same)
			cur, config := b.stored(b.object(map[string]string{"id": "1"})), b.object(map[string]string{"note": "a", "name": "n"})
			c, ok := b.plan(mark.Plain(config), cur, f)
			if !ok || !c.Settled {
				t.Fatalf("%+v", c)
			}
			if p, ok := b.Approved(c, cur, mark.Plain(config), f); !ok || p == nil {
				t.Error("the same configuration is not the approved one")
			}
			other := mark.Plain(b.object(map[string]string{"note": "b", "name": "n"}))
			if p, ok := b.Approved(c, cur, other, f); !ok || p != nil {
				t.Error("another configuration is the approved one")
			}
			p, _ := b.propose(other, cur, f)
			if b.Within(c, p) {
				t.Error("another value is within the approved plan")
			}
			b.reported("The configuration of fake_thing.a was known in the plan, and has another value now")
			ignored := mark.Plain(b.object(map[string]string{"note": "a", "name": "m"}))
			if p, _ := b.Approved(c, cur, ignored, f); (p != nil) != (name == "ignored") {
				t.Errorf("another value of name: approved %v", p != nil)
			}
		})
	}
}

// A tainted object is planned as a new object, without a prior object, because a provider may refuse to change it in
// place.
func TestTaintedObjectIsPlannedAsNew(t *testing.T) {
	for why, f := range map[plan.Reason]Forced{
		plan.ReplaceTainted: {Replace: true, Ignore: []cty.Path{cty.GetAttrPath("note")}}, plan.ReplaceByTriggers: {Triggered: true, IgnoreAll: true},
	} {
		b := newBench(t)
		cur := b.stored(b.object(map[string]string{"id": "1", "note": "a"}))
		cur.Entry.Tainted = true
		b.far.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
			if !isNull(r.Prior.Msgpack) || r.Private != nil {
				return provider.PlanResponse{}, provider.Diags{diag.Errorf("cannot be changed in place", "")}
			}
			return provider.PlanResponse{Planned: r.Proposed}, nil
		}
		c, ok := b.plan(mark.Plain(b.object(map[string]string{"note": "b"})), cur, f)
		if !ok || c.Action != plan.DeleteCreate || c.Why != why || len(c.Replace) > 0 {
			t.Fatalf("%+v: %v", c, b.Bag.List())
		}
		if !c.Before.Raw.GetAttr("note").RawEquals(cty.StringVal("a")) || !c.After.Raw.GetAttr("note").RawEquals(cty.StringVal("b")) {
			t.Errorf("from %#v to %#v", c.Before.Raw, c.After.Raw)
		}
		if n := b.far.Count("Plan fake_thing"); n != 1 {
			t.Errorf("planned %d times", n)
		}
	}
}

// A replacement needs two plan requests. The second request has the private data that the first answer returned. The
// new object does not have this data.
func TestReplacementIsPlannedWithPrivateData(t *testing.T) {
	b := newBench(t)
	var got []string
	b.far.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		got = append(got, string(r.Private))
		return provider.PlanResponse{Planned: r.Proposed, Private: []byte(fmt.Sprint("plan ", len(got))), Replace: []cty.Path{cty.GetAttrPath("note")}}, nil
	}
	c, ok := b.plan(mark.Plain(b.object(map[string]string{"note": "b"})), b.stored(b.object(map[string]string{"id": "1", "note": "a"})), Forced{})
	if !ok || c.Action != plan.DeleteCreate || string(c.Private) != "plan 2" {
		t.Fatalf("%+v", c)
	}
	if !slices.Equal(got, []string{"stored", "plan 1"}) {
		t.Errorf("planned with %q", got)
	}
	if c.Settled {
		t.Error("apply would create the new object with the private data of the old one")
	}
}

// A path that the schema does not have cannot require a replacement. A path that exists in neither object is not a
// change.
func TestReplacementBecauseOfAnUnknownAttribute(t *testing.T) {
	for name, c := range map[string]struct {
		path   cty.Path
		action plan.Action
	}{
		"unknown":         {cty.GetAttrPath("nope"), plan.NoOp},
		"in no object":    {cty.GetAttrPath("note").GetAttr("x"), plan.NoOp},
		"beyond the list": {cty.GetAttrPath("part").IndexInt(7).GetAttr("key"), plan.Update},
		"unchanged":       {cty.GetAttrPath("name"), plan.Update},
		"changed":         {cty.GetAttrPath("note"), plan.DeleteCreate},
	} {
		b := newBench(t)
		b.plans(false, []cty.Path{c.path}, same)
		change, ok := b.plan(mark.Plain(b.object(map[string]string{"note": "b"})), b.stored(b.object(map[string]string{"id": "1", "note": "a"})), Forced{})
		if c.action == plan.NoOp {
			if ok {
				t.Errorf("%s: planned", name)
			}
			b.reported("which is not in its schema")
		} else if !ok || change.Action != c.action {
			t.Errorf("%s: %+v", name, change)
		}
	}
}

// Null blocks become an empty list when a provider reads, upgrades, moves or imports an object.
func TestNullBlocksAreNoBlocks(t *testing.T) {
	ctx := context.Background()
	b := newBench(t)
	v := b.object(map[string]string{"id": "1"})
	null := b.wire(with(v, map[string]cty.Value{"part": cty.NullVal(v.GetAttr("part").Type())}))
	check := func(step string, e *state.Entry, k Known, ok bool) {
		t.Helper()
		if !ok || !b.value(guard.Send(k.Wire)).RawEquals(v) {
			t.Errorf("%s: %v, %#v", step, ok, b.value(guard.Send(k.Wire)))
		}
		if e != nil && !strings.Contains(string(e.Attrs), `"part":[]`) {
			t.Errorf("%s: recorded %s", step, e.Attrs)
		}
	}
	b.far.OnRead = func(_ context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
		return provider.ReadResponse{State: null, Private: r.Private}, nil
	}
	b.far.OnUpgrade = func(context.Context, provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags) {
		return provider.UpgradeResponse{State: null}, nil
	}
	b.far.OnMove = func(context.Context, provider.MoveRequest) (provider.MoveResponse, provider.Diags) {
		return provider.MoveResponse{State: null}, nil
	}
	b.far.OnImport = func(context.Context, provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
		return provider.ImportResponse{Objects: []provider.Imported{{Type: "fake_thing", State: null}}}, nil
	}
	cur := b.stored(v)
	e, k, ok := b.Read(ctx, cur.Entry, cur.Known)
	check("read", e, k, ok)
	if e != cur.Entry {
		t.Error("reading an unchanged object has changed its entry")
	}
	_, k, ok = b.Upgrade(ctx, cur.Entry)
	check("upgrade", nil, k, ok)
	for stored, attrs := range map[string]string{"null": `{"id":"1","part":null}`, "nothing": `{"id":"1"}`} {
		old := &state.Entry{Attrs: []byte(attrs)}
		_, k, ok = b.Upgrade(ctx, old)
		check("upgrade of "+stored, nil, k, ok)
		e, k, ok = b.Renewed(old, k)
		check("renewal of "+stored, e, k, ok)
		k, ok = b.Stored(old)
		check("stored "+stored, nil, k, ok)
	}
	e, k, ok = b.Move(ctx, cur.Entry, addr.Instance{})
	check("move", e, k, ok)
	e, k, ok = b.Import(ctx, "1", cty.NilVal, Stored{})
	check("import", nil, k, ok)
	e, k, ok = b.Read(ctx, e, k)
	check("read of an import", e, k, ok)
	b.reported()
}

// The provider upgrades an identity that was stored with an older schema. An answer to the upgrade without an identity
// is an error.
func TestStoredIdentityIsUpgraded(t *testing.T) {
	id := func(v cty.Value) provider.Dynamic {
		b, err := schema.Encode(cty.ObjectVal(map[string]cty.Value{"id": v}), cty.Object(map[string]cty.Type{"id": cty.String}))
		if err != nil {
			t.Fatal(err)
		}
		return guard.Send(b)
	}
	upgraded := id(cty.StringVal("new"))
	for name, c := range map[string]struct {
		version int64
		answer  provider.Dynamic
		ds      provider.Diags
		want    string
		calls   int
		titles  []string
	}{
		"older":       {1, upgraded, nil, `{"id":"new"}`, 1, nil},
		"much older":  {0, upgraded, nil, `{"id":"new"}`, 1, nil},
		"the same":    {2, upgraded, nil, `{"old":"x"}`, 0, nil},
		"newer":       {3, upgraded, nil, "", 0, []string{"version 3 of its identity schema"}},
		"refused":     {1, upgraded, provider.Diags{diag.Errorf("cannot upgrade", "")}, "", 1, []string{"cannot upgrade"}},
		"null":        {1, guard.Send(guard.NullWire), nil, "", 1, []string{"upgraded the stored identity"}},
		"unknown":     {1, id(cty.UnknownVal(cty.String)), nil, "", 1, []string{"upgraded the stored identity"}},
		"with secret": {1, id(cty.StringVal("canary-canary")), nil, "", 1, []string{"in the identity"}},
		"malformed":   {1, providertest.Msgpack("\xc1"), nil, "", 1, []string{"invalid identity"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Walk.Guard.Secrets.AddValue(cty.StringVal("canary-canary"), secret.Origin{Kind: secret.Setting})
			b.far.OnUpgradeIdentity = func(_ context.Context, typ string, version int64, json []byte) (provider.Dynamic, provider.Diags) {
				if typ != "fake_thing" || version != c.version || string(json) != `{"old":"x"}` {
					t.Errorf("asked to upgrade %s %d %s", typ, version, json)
				}
				return c.answer, c.ds
			}
			entry := b.stored(b.object(map[string]string{"id": "1"})).Entry
			entry.Identity, entry.IdentitySchema = []byte(`{"old":"x"}`), c.version
			e, _, ok := b.Upgrade(context.Background(), entry)
			if ok != (c.titles == nil) {
				t.Errorf("ok is %v", ok)
			}
			if ok && (string(e.Identity) != c.want || e.IdentitySchema != 2) {
				t.Errorf("%s of version %d", e.Identity, e.IdentitySchema)
			}
			if string(entry.Identity) != `{"old":"x"}` {
				t.Error("the stored entry was changed")
			}
			if n := b.far.Count("UpgradeIdentity fake_thing"); n != c.calls {
				t.Errorf("%d calls", n)
			}
			for _, d := range b.Bag.List() {
				if strings.Contains(d.Summary+d.Detail, "canary") {
					t.Errorf("the canary is in %q", d.Detail)
				}
			}
			b.reported(c.titles...)
		})
	}
}

// Stored attributes that the current schema no longer has are not sent to the provider, unless the schema version
// changed, so that the provider may have an upgrade for them.
func TestRemovedAttributesAreStripped(t *testing.T) {
	for version, want := range map[int64]string{
		1: `{"id":"1","part":[{"key":"<k>"}]}`,
		0: `{"id":"1","gone":{"a":1},"part":[{"key":"<k>","gone":12345678901234567890}]}`,
	} {
		b := newBench(t)
		b.Type.Version = 1
		var got string
		b.far.OnUpgrade = func(_ context.Context, r provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags) {
			got = string(r.JSON)
			return provider.UpgradeResponse{State: b.wire(b.object(map[string]string{"id": "1"}))}, nil
		}
		entry := &state.Entry{Schema: version, Attrs: []byte(`{"id":"1","gone":{"a":1},"part":[{"key":"<k>","gone":12345678901234567890}]}`)}
		if _, _, ok := b.Upgrade(context.Background(), entry); !ok || got != want {
			t.Errorf("version %d: sent %s", version, got)
		}
	}
}

// If a provider imports several objects, an import block is an error. The import command takes the first object and
// names the others in a warning.
func TestImportOfSeveralObjects(t *testing.T) {
	for several, text := range map[bool]string{false: "Multiple import states not supported", true: "Only one object was imported"} {
		b := newBench(t)
		b.far.OnImport = func(context.Context, provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
			one := provider.Imported{Type: "fake_thing", State: b.wire(b.object(map[string]string{"id": "1"}))}
			return provider.ImportResponse{Objects: []provider.Imported{{Type: "fake_other", State: one.State}, one}}, nil
		}
		e, _, ok := b.Import(context.Background(), "1", cty.NilVal, Stored{Several: several})
		if ok != several || (e != nil) != several {
			t.Errorf("imported %v, %v", e, ok)
		}
		b.reported(text)
	}
}

// Parts of a sensitive value that ignore_changes names stay sensitive, and a null map gets no keys.
func TestIgnoredPartsKeepTheirMarks(t *testing.T) {
	b := newBench(t)
	part := cty.GetAttrPath("part")
	key := part.IndexInt(0).GetAttr("key")
	for name, c := range map[string]struct {
		stored, config, ignored, want []cty.Path
	}{
		"a part of what was sensitive":   {[]cty.Path{part}, nil, []cty.Path{key}, []cty.Path{key}},
		"of what is sensitive still":     {[]cty.Path{part}, []cty.Path{part}, []cty.Path{key}, []cty.Path{part}},
		"of the whole object":            {[]cty.Path{nil}, nil, []cty.Path{key}, []cty.Path{key}},
		"the same place":                 {[]cty.Path{key}, nil, []cty.Path{key}, []cty.Path{key}},
		"a place inside":                 {[]cty.Path{key}, nil, []cty.Path{part}, []cty.Path{key}},
		"another place":                  {[]cty.Path{cty.GetAttrPath("note")}, nil, []cty.Path{key}, nil},
		"sensitive only now":             {nil, []cty.Path{key}, []cty.Path{part}, nil},
		"nothing is ignored":             {[]cty.Path{part}, nil, nil, nil},
		"everything is ignored":          {[]cty.Path{part}, nil, []cty.Path{nil}, []cty.Path{part}},
		"sensitive twice, ignored twice": {[]cty.Path{part, key}, nil, []cty.Path{key, part}, []cty.Path{part, key}},
	} {
		was, config := b.object(map[string]string{"id": "1", "note": "a"}, "canary"), b.object(map[string]string{"note": "b"}, "other")
		cur := b.stored(was)
		cur.Entry.Sensitive = c.stored
		got := ignore(b.Tools, mark.Value{Raw: config, Marks: mark.SensitiveAt(c.config)}, was, cur.Entry, Forced{Ignore: c.ignored})
		if !mark.SamePaths(got.PathsOf(mark.Sensitive), c.want) {
			t.Errorf("%s: %v, want %v", name, got.Marks, c.want)
		}
	}
}

// With ignore_changes = all, a sensitive value inside a computed attribute does not make the rest of the object
// sensitive.
func TestIgnoreAllKeepsMarksOfComputedObjectsInTheirPlace(t *testing.T) {
	b := newBench(t)
	b.Type.Block.Attrs = append([]*schema.Attr{}, b.Type.Block.Attrs[0], b.Type.Block.Attrs[1], &schema.Attr{
		Name: "meta", Computed: true, Type: cty.Object(map[string]cty.Type{"text": cty.String}),
		Object: &schema.Object{Nesting: schema.Single, Attrs: []*schema.Attr{{Name: "text", Type: cty.String, Computed: true, Sensitive: true}}},
	}, b.Type.Block.Attrs[2], b.Type.Block.Attrs[3])
	b.far.OnPlan = func(_ context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
		return provider.PlanResponse{Planned: r.Proposed}, nil
	}
	text := cty.GetAttrPath("meta").GetAttr("text")
	for name, meta := range map[string]cty.Value{
		"set":  cty.ObjectVal(map[string]cty.Value{"text": cty.StringVal("canary")}),
		"null": cty.ObjectVal(map[string]cty.Value{"text": cty.NullVal(cty.String)}),
	} {
		cur := b.stored(with(b.object(map[string]string{"id": "1", "note": "n"}), map[string]cty.Value{"meta": meta}))
		cur.Entry.Sensitive = []cty.Path{text}
		if c, ok := b.plan(mark.Plain(b.object(nil)), cur, Forced{IgnoreAll: true}); !ok || c.Action != plan.NoOp {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestIgnoredKeysOfMaps(t *testing.T) {
	null, empty := cty.NullVal(cty.Map(cty.String)), cty.MapValEmpty(cty.String)
	of := func(kv ...string) cty.Value {
		m := map[string]cty.Value{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = cty.StringVal(kv[i+1])
		}
		return cty.MapVal(m)
	}
	for _, c := range []struct{ config, prior, want cty.Value }{
		{null, null, null},
		{null, empty, null},
		{null, of("b", "1"), null},
		{null, of("a", "1"), of("a", "1")},
		{empty, null, empty},
		{empty, of("b", "1"), empty},
		{of("a", "2"), null, empty},
		{of("a", "2"), of("b", "1"), empty},
		{of("a", "2", "b", "2"), of("a", "1", "b", "1"), of("a", "1", "b", "2")},
	} {
		if got := overlay(c.config, c.prior, cty.IndexStringPath("a")); !got.RawEquals(c.want) {
			t.Errorf("%#v over %#v: %#v, want %#v", c.config, c.prior, got, c.want)
		}
	}
}
