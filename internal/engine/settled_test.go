package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/shortcut"
)

// If the configuration of an object was wholly known in the plan, an apply uses the provider's plan. Otherwise the
// apply requests a new plan from the provider.
func TestSettled(t *testing.T) {
	const item = `
resource "plant_item" "a" { name = "x" }
`
	for name, c := range map[string]struct {
		main   string
		closed shortcut.Set
		want   string
	}{
		"wholly known": {item, 0, "start 1, validate 1, plan 1, apply 1, configure 1"},
		"closed":       {item, shortcut.Settled, "start 1, validate 2, plan 2, apply 1, configure 1"},
		"known when the first is there": {item + `
resource "plant_item" "b" { name = plant_item.a.value }
`, 0, "start 1, validate 3, plan 3, apply 2, configure 1"},
		"an ephemeral value": {`
variable "secret" {
  ephemeral = true
  default   = "canary"
}
resource "plant_safe" "a" {
  name   = "x"
  secret = var.secret
}
`, 0, "start 1, validate 2, plan 2, apply 1, configure 1"},
		"a write-only value": {`
resource "plant_safe" "a" {
  name   = "x"
  secret = "canary"
}
`, 0, "start 1, validate 2, plan 2, apply 1, configure 1"},
		"a write-only attribute without a value": {`
resource "plant_safe" "a" { name = "x" }
`, 0, "start 1, validate 1, plan 1, apply 1, configure 1"},
		"a provider with settings that are known only when applying": {`
resource "terraform_data" "t" { input = "x" }
provider "plant" { token = terraform_data.t.id }
` + item, 0, "start 2, validate 2, plan 2, apply 1, configure 2"},
	} {
		t.Run(name, func(t *testing.T) {
			w, p := newPlantWorld(t)
			builtin(w)
			w.engine.Closed = c.closed
			w.apply(map[string]string{"main.tf": plantHead + c.main}, nil)
			expect(t, name, p.calls(), c.want)
			if text := fmt.Sprintf("%+v", stored(w)); strings.Contains(text, "canary") {
				t.Errorf("the canary is in the state: %s", text)
			}
		})
	}
}

// stored lists the objects in the state of w with their attributes.
func stored(w *world) []string {
	var out []string
	for o, e := range w.state.Objects() {
		out = append(out, fmt.Sprintf("%s %s %s", o, e.Attrs, e.Private))
	}
	return out
}

// Plans are equal, whether the engine compares provider answers as bytes (a shortcut) or as values.
func TestWireMakesNoDifference(t *testing.T) {
	main := plantHead + `
resource "plant_item" "a" {
  count = 3
  name  = "item ${count.index}"
  extra = { a = "1", b = "2" }
}
resource "plant_safe" "b" { name = plant_item.a[1].value }
`
	changed := strings.Replace(main, `b = "2"`, `b = "3"`, 1)
	for _, closed := range []shortcut.Set{0, shortcut.Wire} {
		w, _ := newPlantWorld(t)
		w.engine.Closed = closed
		apply := func(main, want string) {
			if got := w.apply(map[string]string{"main.tf": main}, nil); got != want {
				t.Errorf("without %q: %s; want %s", closed, got, want)
			}
		}
		apply(main, "create plant_item.a[0]\ncreate plant_item.a[1]\ncreate plant_item.a[2]\ncreate plant_safe.b")
		serial := w.state.Serial
		apply(main, "")
		if w.state.Serial != serial {
			t.Errorf("without %q: a no-op apply changed the state", closed)
		}
		apply(changed, "update plant_item.a[0]\nupdate plant_item.a[1]\nupdate plant_item.a[2]")
		w.apply(map[string]string{"main.tf": main}, func(r *Request) { r.Mode = plan.Destroy })
	}
}
