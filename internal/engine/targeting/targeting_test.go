package targeting

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/engine/moving"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/plan"
)

const chain = `
resource "t_item" "a" {
  count = 2
}
resource "t_item" "b" {
  count = 2
  a     = t_item.a[count.index].id
}
resource "t_item" "c" {
  a = local.b
}
resource "t_item" "other" {
}
locals {
  b = t_item.b[0].id
}
`

var all = []string{"t_item.a[0]", "t_item.a[1]", "t_item.b[0]", "t_item.b[1]", "t_item.c", "t_item.other"}

// A target is selected with its dependencies, or with its dependents in a destroy plan. An excluded resource is left
// out with its dependents, or with its dependencies in a destroy plan.
func TestSelect(t *testing.T) {
	for what, c := range map[string]struct {
		targets, excludes string
		mode              plan.Mode
		want              string
	}{
		"nothing is named":         {"", "", plan.Normal, "t_item.a[0] t_item.a[1] t_item.b[0] t_item.b[1] t_item.c t_item.other"},
		"with what it needs":       {"t_item.c", "", plan.Normal, "t_item.a[0] t_item.a[1] t_item.b[0] t_item.c"},
		"one instance":             {"t_item.a[1]", "", plan.Normal, "t_item.a[1]"},
		"destroyed with its users": {"t_item.b[0]", "", plan.Destroy, "t_item.b[0] t_item.c"},
		"excluded with its users":  {"", "t_item.a[1]", plan.Normal, "t_item.a[0] t_item.b[0] t_item.c t_item.other"},
		"kept with what it needs":  {"", "t_item.c", plan.Destroy, "t_item.a[0] t_item.a[1] t_item.other"},
		"its users are destroyed":  {"", "t_item.b[1]", plan.Destroy, "t_item.a[0] t_item.a[1] t_item.b[0] t_item.c t_item.other"},
		"the last of a chain":      {"", "t_item.c", plan.Normal, "t_item.a[0] t_item.a[1] t_item.b[0] t_item.b[1] t_item.other"},
	} {
		t.Run(what, func(t *testing.T) {
			prog := enginetest.Program(t, map[string]string{"main.tf": chain})
			edit := enginetest.State(t, all...).Edit()
			user := *edit.Get(enginetest.Instance(t, "t_item.c").Current())
			user.Recorded = []addr.Resource{enginetest.Instance(t, "t_item.b[0]").Resource()} // a destroy plan uses the dependencies in the state
			edit.Put(enginetest.Instance(t, "t_item.c").Current(), &user)
			prior := edit.Done()
			var bag diag.Bag
			s, ok := Select(Request{
				Program: prog, Receivers: receivers.Analyse(prog, nil), Prior: prior, Stored: moving.Make(prog, prior).ByDeclaration(),
				Targets: targets(t, c.targets), Excludes: targets(t, c.excludes), Mode: c.mode,
			}, &bag)
			if !ok || len(bag.List()) > 0 != (c.targets+c.excludes != "") {
				t.Errorf("ok %v: %v", ok, bag.List())
			}
			var got []string
			for _, o := range all {
				if s.Includes(enginetest.Instance(t, o)) {
					got = append(got, o)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("selected %v, want %s", got, c.want)
			}
		})
	}
}

// The origin of the targets (-target, import or -changed) affects the warnings and the selection. With a target of
// -target or -changed, the resources in its arguments are selected, too; with an import they are not. A plan with
// -changed may have no targets.
func TestOriginOfTargets(t *testing.T) {
	for what, c := range map[string]struct {
		origin  Origin
		targets string
		want    string
		warns   bool
	}{
		"a user's target brings what it needs":   {Options, "t_item.c", "t_item.a[0] t_item.a[1] t_item.b[0] t_item.c", true},
		"an import brings no arguments":          {Imports, "t_item.c", "t_item.c", false},
		"what changed brings what it needs":      {Changes, "t_item.c", "t_item.a[0] t_item.a[1] t_item.b[0] t_item.c", false},
		"if nothing changed nothing is selected": {Changes, "", "", false},
		"a user's address that matches nothing":  {Options, "t_item.absent", "", true},
		"an import's address is never misspelt":  {Imports, "t_item.absent", "", false},
	} {
		t.Run(what, func(t *testing.T) {
			prog := enginetest.Program(t, map[string]string{"main.tf": chain})
			prior := enginetest.State(t, all...)
			var bag diag.Bag
			r := Request{
				Program: prog, Receivers: receivers.Analyse(prog, nil), Prior: prior, Stored: moving.Make(prog, prior).ByDeclaration(),
				Targets: targets(t, c.targets), Origin: c.origin,
			}
			s, ok := Select(r, &bag)
			r.WarnAbsent(nil, &bag)
			var got []string
			for _, o := range all {
				if s.Includes(enginetest.Instance(t, o)) {
					got = append(got, o)
				}
			}
			if !ok || strings.Join(got, " ") != c.want || bag.Len() > 0 != c.warns {
				t.Errorf("ok %v, selected %v, want %s; %v", ok, got, c.want, bag.List())
			}
		})
	}
}

// targets parses addresses.
func targets(t *testing.T, text string) []addr.Target {
	t.Helper()
	var out []addr.Target
	for _, s := range strings.Fields(text) {
		x, err := addr.ParseTarget(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

// Targets and excludes cannot be combined.
func TestTargetsAndExcludes(t *testing.T) {
	prog := enginetest.Program(t, map[string]string{"main.tf": chain})
	var bag diag.Bag
	_, ok := Select(Request{Program: prog, Receivers: receivers.Analyse(prog, nil), Targets: targets(t, "t_item.a"), Excludes: targets(t, "t_item.b")}, &bag)
	if ok || len(bag.List()) != 1 {
		t.Errorf("ok %v: %v", ok, bag.List())
	}
}
