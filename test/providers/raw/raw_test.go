package raw

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/lethe-iac/lethe/test/providers/cloud"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		spec string
		want []rule // nil if the text is an error
	}{
		{"", []rule{}},
		{"Apply=null", []rule{{call: "Apply", deed: deed{name: "null"}}}},
		{" Create/web@2=set:value=a:b=c ; *=stderr:x ", []rule{
			{call: "Create", key: "web", nth: 2, deed: deed{name: "set", arg: "value=a:b=c"}},
			{call: "*", deed: deed{name: "stderr", arg: "x"}},
		}},
		{"Apply", nil},
		{"Apply=unheard-of", nil},
		{"Apply@often=null", nil},
	} {
		got, err := parse(c.spec)
		if (err != nil) != (c.want == nil) {
			t.Errorf("%q: %v", c.spec, err)
		}
		if err == nil && !slices.Equal(got, c.want) {
			t.Errorf("%q: got %+v, want %+v", c.spec, got, c.want)
		}
	}
}

func TestBothProtocols(t *testing.T) {
	ctx := context.Background()
	six, err := Server6(nil)().GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(six.Diagnostics) > 0 {
		t.Fatal(six, err)
	}
	f, err := Server5(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	five, err := f().GetProviderSchema(ctx, &tfprotov5.GetProviderSchemaRequest{})
	if err != nil || len(five.Diagnostics) > 0 {
		t.Fatal(five, err)
	}
	for name := range six.ResourceSchemas {
		if five.ResourceSchemas[name] == nil {
			t.Errorf("protocol 5 has no %s", name)
		}
	}
}

// thing returns a configuration of rogue_thing with secrets in its write-only attributes, and with rules.
func thing(t *testing.T, r *rogue, misbehave string) *tfprotov6.DynamicValue {
	t.Helper()
	typ := r.schemas.resources["rogue_thing"].ValueType()
	v, err := cloud.Decode([]byte(`{"name": "n", "size": 1, "members": [{"name": "m"}], "secret_wo": "the-canary", "disk": [{"pin_wo": "the-pin"}]}`), typ)
	if err != nil {
		t.Fatal(err)
	}
	attrs := look(v)
	attrs["misbehave"] = tftypes.NewValue(text, misbehave)
	d, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, attrs))
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

func null6(t *testing.T, r *rogue) *tfprotov6.DynamicValue {
	t.Helper()
	typ := r.schemas.resources["rogue_thing"].ValueType()
	d, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, nil))
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

// create plans and applies a new rogue_thing with rules, in a new cloud. It returns both answers, or the error of a
// call.
func create(t *testing.T, misbehave string) (*tfprotov6.PlanResourceChangeResponse, *tfprotov6.ApplyResourceChangeResponse, error) {
	t.Helper()
	t.Setenv(cloud.Env, t.TempDir())
	ctx := context.Background()
	r := newRogue(6)
	config, none := thing(t, r, misbehave), null6(t, r)
	p, err := r.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: "rogue_thing", PriorState: none, Config: config, ProposedNewState: config,
	})
	if err != nil {
		return nil, nil, err
	}
	a, err := r.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: "rogue_thing", PriorState: none, Config: config, PlannedState: p.PlannedState,
	})
	return p, a, err
}

// TestGood checks that the provider keeps to the protocol without rules.
func TestGood(t *testing.T) {
	p, a, err := create(t, "")
	if err != nil {
		t.Fatal(err)
	}
	for what, data := range map[string][]byte{"plan": p.PlannedState.MsgPack, "state": a.NewState.MsgPack} {
		if strings.Contains(string(data), "the-canary") || strings.Contains(string(data), "the-pin") {
			t.Errorf("the %s holds a secret", what)
		}
	}
	v, err := a.NewState.Unmarshal(newRogue(6).schemas.resources["rogue_thing"].ValueType())
	if err != nil || !v.IsFullyKnown() || str(look(v), "id") == "" {
		t.Errorf("state %v, %v", v, err)
	}
}

// TestDeeds applies each late deed that changes the decoded answer to an apply, and checks that the answer changes.
func TestDeeds(t *testing.T) {
	args := map[string]string{
		"set": "note=x", "set-null": "note", "set-unknown": "value", "big": "value=1", "duplicate": "members", "missing": "note",
		"wrong-type": "size", "leak": "leaked", "leak-key": "tags", "leak-base64": "leaked", "leak-inside": "leaked", "leak-packed": "leaked=json", "private": "3", "identity": "other",
		"diag-at": "disk.0.label", "deep": "100",
	}
	other := []string{"defer", "replace", "renew", "imports", "func-error", "leak-func-error", "stdout", "stderr", "leak-stderr", "leak-stdout", "leak-log", "trailing", "chunks", "anonymous", "duplicates"}
	_, good, err := create(t, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(late)) {
		if strings.HasPrefix(name, "after-") || slices.Contains(other, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rule := "Create=" + name
			if args[name] != "" {
				rule += ":" + args[name]
			}
			_, bad, err := create(t, rule)
			if err != nil {
				t.Fatal(err)
			}
			if same(good, bad) {
				t.Error("nothing was done")
			}
		})
	}
}

// same reports whether two answers are equal except for the random ID and the rules.
func same(a, b *tfprotov6.ApplyResourceChangeResponse) bool {
	//lint:ignore SA1019 that is one of the things to compare
	if (a.NewState == nil) != (b.NewState == nil) || len(a.Diagnostics) != len(b.Diagnostics) || a.UnsafeToUseLegacyTypeSystem != b.UnsafeToUseLegacyTypeSystem ||
		string(a.Private) != string(b.Private) || a.NewState == nil {
		return false
	}
	typ := newRogue(6).schemas.resources["rogue_thing"].ValueType()
	x, err1 := a.NewState.Unmarshal(typ)
	y, err2 := b.NewState.Unmarshal(typ)
	if err1 != nil || err2 != nil || x.IsNull() != y.IsNull() || x.IsKnown() != y.IsKnown() {
		return false
	}
	m, n := look(x), look(y)
	for _, name := range []string{"id", "misbehave"} {
		delete(m, name)
		delete(n, name)
	}
	for name := range m {
		if !m[name].Equal(n[name]) {
			return false
		}
	}
	if (b.NewIdentity == nil) != (a.NewIdentity == nil) {
		return false
	}
	v, err := b.NewIdentity.IdentityData.Unmarshal(identityType)
	return err == nil && strings.HasPrefix(str(look(v), "id"), "rogue-")
}

func TestNth(t *testing.T) {
	r := newRogue(6)
	r.rules, _ = parse("Read/n@2=error:x")
	read := func(key string) int {
		deeds, err := r.deeds(&scene{names: []string{"ReadResource", "Read"}, key: key})
		if err != nil {
			t.Fatal(err)
		}
		return len(deeds)
	}
	if got := []int{read("n"), read("other"), read("n"), read("n")}; !slices.Equal(got, []int{0, 0, 1, 0}) {
		t.Errorf("met %v", got)
	}
}
