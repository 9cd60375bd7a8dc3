package footprint

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/parts"
	"github.com/lethe-iac/lethe/internal/store"
)

var files = map[string]string{
	"main.tf": `
variable "v" {}
resource "x_base" "b" {}
resource "x_other" "o" {
  a = module.m["a"].id
}
data "x_data" "d" {
  a = x_base.b.id
}
locals {
  all = module.m
}
resource "x_all" "a" {
  a = local.all
}
resource "x_read" "r" {
  a = data.x_data.d.v
}
resource "x_count" "c" {
  count = length(x_base.b.list)
}
module "m" {
  source   = "./m"
  for_each = toset(["a", "b"])
  base     = x_base.b.id
}
module "n" {
  source = "./n"
  count  = 2
  from   = module.m["a"].id
}
ephemeral "x_secret" "s" {
  a = x_base.b.id
}
provider "y" {
  a = ephemeral.x_secret.s.v
}
resource "y_thing" "t" {}
output "o" {
  value = module.n[0].id
}
`,
	"m/main.tf": `
variable "base" {}
resource "x_one" "o" {
  a = var.base
}
resource "x_two" "t" {
  a = x_one.o.id
  b = module.deep.id
}
module "deep" {
  source = "./deep"
}
output "id" {
  value = x_two.t.id
}
`,
	"m/deep/main.tf": `
resource "x_deep" "d" {
  count = 2
}
output "id" {
  value = x_deep.d[*].id
}
`,
	"n/main.tf": `
variable "from" {}
resource "x_user" "u" {
  a = var.from
}
output "id" {
  value = x_user.u.id
}
`,
}

func instance(t *testing.T, text string) addr.Instance {
	t.Helper()
	i, err := addr.ParseInstance(text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// needed formats the names of the parts of the state in p that are needed but not changed.
func needed(p store.Parts) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		if p[name]&store.Needs != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

// TestNeeds checks the dependencies of a change, seen from its module instance.
func TestNeeds(t *testing.T) {
	f := New(enginetest.Program(t, files))
	for object, want := range map[string]string{
		`x_base.b`:                     "",
		`module.m["a"].x_one.o`:        "x_base.b[*]",
		`module.m["a"].x_two.t`:        `module.m["a"].module.deep[*].x_deep.d[*] module.m["a"].x_one.o[*]`,
		`x_other.o`:                    `module.m[*].x_two.t[*]`,
		`x_all.a`:                      `module.m[*].x_two.t[*]`,
		`x_read.r`:                     "data.x_data.d[*] x_base.b[*]",
		`x_count.c[0]`:                 "x_base.b[*]",
		`module.n[1].x_user.u`:         `module.m[*].x_two.t[*]`,
		`y_thing.t`:                    "x_base.b[*]",
		`module.gone["k"].x_gone.g`:    "",
		`module.m["gone"].x_two.t`:     `module.m["gone"].module.deep[*].x_deep.d[*] module.m["gone"].x_one.o[*]`,
		`module.m["a"].x_undeclared.t`: "",
	} {
		if got := needed(f.Object(instance(t, object).Current(), &state.Entry{})); got != want {
			t.Errorf("%s needs %q, want %q", object, got, want)
		}
	}
	recorded := []addr.Resource{instance(t, "module.m.x_one.o").Resource(), instance(t, "x_before.b").Resource()}
	if got, want := needed(f.Object(instance(t, `module.m["a"].x_two.t`).Current(), &state.Entry{Recorded: recorded})), `x_before.b[*]`; !strings.Contains(got, want) || strings.Contains(got, "module.m[*].x_one") {
		t.Errorf("what is recorded: %s", got)
	}
	if got, want := needed(f.Object(instance(t, `module.m["a"].x_gone.g`).Current(), &state.Entry{Recorded: recorded})), "module.m[*].x_one.o[*] x_before.b[*]"; got != want {
		t.Errorf("what only the state knows needs %q, want %q", got, want)
	}
}

// TestPlan checks which parts of the state a plan changes.
func TestPlan(t *testing.T) {
	f := New(enginetest.Program(t, files))
	change := func(object, was string, action plan.Action) *plan.Change {
		return &plan.Change{Object: instance(t, object).Current(), Was: instance(t, was).Current(), Action: action}
	}
	p := f.Plan(&plan.Plan{
		Changes: []*plan.Change{change("x_base.b", "x_base.b", plan.NoOp), change(`x_other.o`, `x_other.o`, plan.Update), change("x_new.n", "x_old.o", plan.NoOp)},
		Outputs: []*plan.OutputChange{{Name: "same", Action: plan.NoOp}, {Name: "o", Action: plan.Update}},
	})
	for _, c := range []struct {
		object string
		want   bool
	}{{"x_base.b", false}, {"x_other.o", true}, {"x_new.n", true}, {"x_old.o", true}} {
		if parts.Changes(p, instance(t, c.object)) != c.want {
			t.Errorf("%s is changed: %v", c.object, !c.want)
		}
	}
	if got := needed(p); got != "module.m[*].x_two.t[*] module.n[*].x_user.u[*]" {
		t.Errorf("it needs %s", got)
	}
	if parts.ChangesOutput(p, "same") || !parts.ChangesOutput(p, "o") || parts.IsWholeState(p) {
		t.Errorf("%v", p)
	}
	if !parts.IsWholeState(f.Plan(&plan.Plan{Mode: plan.RefreshOnly})) {
		t.Error("refreshing is not of all of the state")
	}
}
