package engine

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
)

// Objects move to new addresses, in any order of the blocks. An object that cannot move stays, with a warning.
func TestMoves(t *testing.T) {
	before := map[string]string{
		"main.tf": plantHead + `
resource "plant_item" "a" { name = "a" }
resource "plant_item" "b" { name = "b" }
resource "plant_item" "c" { name = "c" }
module "m" {
  source = "./m"
  count  = 2
}
`,
		"m/main.tf": plantHead + `resource "plant_item" "x" { name = "x" }`,
	}
	for name, c := range map[string]struct {
		main, module string
		moved        string // moved objects as "old address → new address"
		actions      string
		warnings     int
	}{
		"a chain, written backwards": {`
resource "plant_item" "third" { name = "a" }
resource "plant_item" "b" { name = "b" }
resource "plant_item" "c" { name = "c" }
module "m" {
  source = "./m"
  count  = 2
}
moved {
  from = plant_item.second
  to   = plant_item.third
}
moved {
  from = plant_item.a
  to   = plant_item.second
}`, "", "plant_item.a → plant_item.third", "", 0},
		"a place that is taken": {`
resource "plant_item" "b" { name = "b" }
resource "plant_item" "c" { name = "c" }
module "m" {
  source = "./m"
  count  = 2
}
moved {
  from = plant_item.a
  to   = plant_item.b
}`, "", "", "delete plant_item.a", 1},
		"a module, and a resource in it": {`
resource "plant_item" "a" { name = "a" }
resource "plant_item" "b" { name = "b" }
resource "plant_item" "c" { name = "c" }
module "n" {
  source = "./m"
  count  = 2
}
moved {
  from = module.m
  to   = module.n
}`, `
resource "plant_item" "y" { name = "x" }
moved {
  from = plant_item.x
  to   = plant_item.y
}`, "module.m[0].plant_item.x → module.n[0].plant_item.y, module.m[1].plant_item.x → module.n[1].plant_item.y", "", 0},
		"out of a module instance": {`
resource "plant_item" "a" { name = "a" }
resource "plant_item" "b" { name = "b" }
resource "plant_item" "c" { name = "c" }
resource "plant_item" "x" { name = "x" }
module "m" {
  source = "./m"
  count  = 1
}
moved {
  from = module.m[1].plant_item.x
  to   = plant_item.x
}`, "", "module.m[1].plant_item.x → plant_item.x", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := newPlantWorld(t)
			w.apply(before, nil)
			files := map[string]string{"main.tf": plantHead + c.main, "m/main.tf": before["m/main.tf"]}
			if c.module != "" {
				files["m/main.tf"] = plantHead + c.module
			}
			var bag diag.Bag
			r, ok := w.engine.Plan(context.Background(), Request{Program: w.compile(files), State: w.state, Refresh: true, Options: frame.Options{Workspace: "default"}}, &bag)
			if !ok {
				t.Fatal(bag.List())
			}
			var moved []string
			for _, x := range r.Plan.Changes {
				if x.Was != x.Object {
					moved = append(moved, x.Was.String()+" → "+x.Object.String())
				}
			}
			if got := strings.Join(moved, ", "); got != c.moved {
				t.Errorf("moved: %s; want %s", got, c.moved)
			}
			if got := actions(r.Plan); got != c.actions {
				t.Errorf("actions: %s; want %s", got, c.actions)
			}
			if got := len(bag.List()); got != c.warnings {
				t.Errorf("%d warnings: %v", got, bag.List())
			}
		})
	}
}
