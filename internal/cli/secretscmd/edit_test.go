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

// TestGeneratedValuesAreComparedWithTheManager checks that a move of a generated value is refused if the secret manager
// has another value than the generator. If the secret manager has a write-only argument, the state has no value to
// compare.
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

// TestGeneratedValuesAreComparedPerInstance checks that generator and secret manager are compared in each instance of a
// module. Deposed objects and objects with an instance key, which the configuration no longer has, are ignored.
func TestGeneratedValuesAreComparedPerInstance(t *testing.T) {
	module := func(key string) addr.ModuleInstance {
		i, err := addr.ParseInstance(`module.m["` + key + `"].random_password.p`)
		if err != nil {
			t.Fatal(err)
		}
		return i.Module
	}
	in := module("a").Module()
	generator := addr.Resource{Module: in, Mode: addr.Managed, Type: "random_password", Name: "p"}
	manager := addr.Resource{Module: in, Mode: addr.Managed, Type: "test_secret", Name: "m"}
	change := func(o addr.Object, name, v string) *plan.Change {
		return &plan.Change{Object: o, Before: mark.Plain(cty.ObjectVal(map[string]cty.Value{name: cty.StringVal(v)}))}
	}
	current := func(r addr.Resource, key string) addr.Object {
		return r.In(module(key)).Instance(addr.NoKey).Current()
	}
	deposed := current(manager, "a")
	deposed.Deposed = "0a1b2c3d"
	for _, tt := range []struct {
		about string
		b     string // the value in the secret manager of module.m["b"]
		want  string
	}{
		{"equal", "canary-77e2-b", ""},
		{"one differs", "canary-77e2-other", `module.m["b"].test_secret.m`},
	} {
		e := &edition{moves: []move{{target{name: "module.m.random_password.p.result", way: toManager, resource: generator, stored: []string{"result"}}, &rewrite.Result{ReadsBack: manager, Arguments: []string{"value", "value_wo"}}}}}
		lost := e.lost(&engine.Result{Plan: &plan.Plan{Changes: []*plan.Change{
			change(current(generator, "b"), "result", "canary-77e2-b"),
			change(current(manager, "b"), "value", tt.b),
			change(generator.In(module("a")).Instance(addr.IntKey(0)).Current(), "result", "canary-77e2-removed"),
			change(current(generator, "a"), "result", "canary-77e2-a"),
			change(current(manager, "a"), "value", "canary-77e2-a"),
			change(deposed, "value", "canary-77e2-old"),
		}}})
		if len(lost) > 0 != (tt.want != "") || len(lost) > 0 && (!strings.Contains(lost[0].why, tt.want) || strings.Contains(lost[0].why, "canary")) {
			t.Errorf("%s: %v", tt.about, lost)
		}
	}
}
