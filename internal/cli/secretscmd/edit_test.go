package secretscmd

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config/rewrite"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// TestGeneratedValuesAreComparedWithTheManager refuses a move if the secret manager has another value than the
// generator. A write-only argument has no stored value to compare.
func TestGeneratedValuesAreComparedWithTheManager(t *testing.T) {
	generator := addr.Resource{Mode: addr.Managed, Type: "random_password", Name: "p"}
	manager := addr.Resource{Mode: addr.Managed, Type: "test_secret", Name: "m"}
	change := func(r addr.Resource, name string, v cty.Value) *plan.Change {
		return &plan.Change{Object: r.In(addr.ModuleInstance{}).Instance(addr.NoKey).Current(), Before: mark.Plain(cty.ObjectVal(map[string]cty.Value{name: v}))}
	}
	for _, tt := range []struct {
		stored cty.Value
		lost   bool
	}{
		{cty.StringVal("canary-55d1-generated"), false}, {cty.StringVal("canary-55d1-other"), true}, {cty.NullVal(cty.String), false}, {cty.UnknownVal(cty.String), false},
	} {
		e := &edition{moves: []move{{target{name: "random_password.p.result", way: toManager, resource: generator, stored: []string{"result"}}, &rewrite.Result{ReadsBack: manager, Arguments: []string{"value", "value_wo"}}}}}
		lost := e.lost(&engine.Result{Plan: &plan.Plan{Changes: []*plan.Change{change(generator, "result", cty.StringVal("canary-55d1-generated")), change(manager, "value", tt.stored)}}})
		if len(lost) > 0 != tt.lost {
			t.Errorf("%#v: %v", tt.stored, lost)
		}
		for _, l := range lost {
			if strings.Contains(l.why, "canary") {
				t.Error(l.why)
			}
		}
	}
}
