package targeting

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/engine/moving"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
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

// What is named is selected with what it needs; to destroy it, with what needs it; to leave it out, what needs
// it is left out, too.
func TestSelect(t *testing.T) {
	all := []string{"t_item.a[0]", "t_item.a[1]", "t_item.b[0]", "t_item.b[1]", "t_item.c", "t_item.other"}
	for what, c := range map[string]struct {
		targets, excludes string
		destroy           bool
		want              string
	}{
		"nothing is named":         {"", "", false, "t_item.a[0] t_item.a[1] t_item.b[0] t_item.b[1] t_item.c t_item.other"},
		"with what it needs":       {"t_item.c", "", false, "t_item.a[0] t_item.a[1] t_item.b[0] t_item.c"},
		"one instance":             {"t_item.a[1]", "", false, "t_item.a[1]"},
		"destroyed with its users": {"t_item.b[0]", "", true, "t_item.b[0] t_item.c"},
		"excluded with its users":  {"", "t_item.a[1]", false, "t_item.a[0] t_item.b[0] t_item.c t_item.other"},
		"the last of a chain":      {"", "t_item.c", false, "t_item.a[0] t_item.a[1] t_item.b[0] t_item.b[1] t_item.other"},
	} {
		t.Run(what, func(t *testing.T) {
			prog := enginetest.Program(t, map[string]string{"main.tf": chain})
			edit := enginetest.State(t, all...).Edit()
			user := *edit.Get(enginetest.Instance(t, "t_item.c").Current())
			user.Recorded = []addr.Resource{enginetest.Instance(t, "t_item.b[0]").Resource()} // a destroy goes by that
			edit.Put(enginetest.Instance(t, "t_item.c").Current(), &user)
			prior := edit.Done()
			var bag diag.Bag
			s, ok := Select(Request{
				Program: prog, Receivers: receivers.Analyse(prog, nil), Prior: prior, Stored: moving.Make(prog, prior).ByDeclaration(),
				Targets: targets(t, c.targets), Excludes: targets(t, c.excludes), Destroy: c.destroy,
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

// targets reads addresses.
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

// Both options at once contradict each other.
func TestTargetsAndExcludes(t *testing.T) {
	prog := enginetest.Program(t, map[string]string{"main.tf": chain})
	var bag diag.Bag
	_, ok := Select(Request{Program: prog, Receivers: receivers.Analyse(prog, nil), Targets: targets(t, "t_item.a"), Excludes: targets(t, "t_item.b")}, &bag)
	if ok || len(bag.List()) != 1 {
		t.Errorf("ok %v: %v", ok, bag.List())
	}
}
