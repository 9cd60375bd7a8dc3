package guard

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// TestProgressHidesSecrets checks that a progress message shows no part of a secret that crosses the maximum length, or
// between whose letters the provider wrote control characters.
func TestProgressHidesSecrets(t *testing.T) {
	g := newGate(t)
	for _, text := range []string{
		strings.Repeat("x", mostProgress-len(canary)/2) + canary,
		canary[:9] + "\a" + canary[9:],
		" " + canary + "\xff",
	} {
		got := progressText(text, g.Secrets.ScrubMessage)
		if strings.Contains(got, canary[:9]) || len(got) > mostProgress+len("…") {
			t.Errorf("%q", got)
		}
	}
	if got := progressText(" a\n\tb\x00 ", g.Secrets.ScrubMessage); got != "a\n b" {
		t.Errorf("%q", got)
	}
}

// TestUnknownPartHidesKeys checks that a message about an unknown part of a sensitive value does not show its keys.
func TestUnknownPartHidesKeys(t *testing.T) {
	g := newGate(t)
	g.of.Type = &Type{Name: "t_thing", Mode: addr.Managed, Schema: &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
		{Name: "tags", Type: cty.Map(cty.String), Optional: true, Computed: true},
	}}}}
	unknown := cty.ObjectVal(map[string]cty.Value{"tags": cty.MapVal(map[string]cty.Value{"canary-key": cty.UnknownVal(cty.String)})})
	for _, sensitive := range []bool{true, false} {
		a := &admission{look: look{guard: g.Guard, of: g.of}, out: Admitted{Value: unknown}, terms: Terms{Was: &state.Entry{}}}
		if sensitive {
			a.terms.Was.Sensitive = []cty.Path{cty.GetAttrPath("tags")}
		}
		if a.whollyKnown("Title", "while refreshing") {
			t.Error("the value is known")
		}
		if got := g.text(&Admitted{}); strings.Contains(got, "canary-key") == sensitive || !strings.Contains(got, `left "t_thing.a.tags`) {
			t.Errorf("%t: %s", sensitive, got)
		}
		g.bag.Clear()
	}
	g.of.Malformed("Title", cty.GetAttrPath("tags").IndexString("canary-key").NewErrorf("wrong"))
	if got := g.text(&Admitted{}); strings.Contains(got, "canary-key") || !strings.Contains(got, `"t_thing.a.tags"`) {
		t.Error(got)
	}
}
