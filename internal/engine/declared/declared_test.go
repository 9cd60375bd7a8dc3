package declared

import (
	"fmt"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

const goneText = `
removed {
  from = t_item.kept
  lifecycle { destroy = false }
}
removed {
  from = t_item.ended
  lifecycle { destroy = true }
  connection { host = "removed" }
  provisioner "local-exec" {
    when    = destroy
    command = "removed"
  }
}
removed { from = t_item.unsaid }
removed {
  from = module.m
  lifecycle { destroy = true }
}
removed {
  from = module.m.t_item.kept
  lifecycle { destroy = false }
}
`

// The removed blocks of an object's resource and modules decide whether the object is destroyed or forgotten. If one of
// these blocks forgets the object, it is forgotten.
func TestFate(t *testing.T) {
	r := NewRemovals(enginetest.Program(t, map[string]string{"main.tf": goneText}).Tree().Root)
	for text, want := range map[string]Fate{
		"t_item.kept": RemovedForget, "t_item.kept[0]": RemovedForget, "t_item.ended": RemovedDestroy, "t_item.unsaid": RemovedUnsaid,
		"t_item.other": NotRemoved, "data.t_item.kept": NotRemoved,
		"module.m.t_item.x": RemovedDestroy, "module.m[1].module.n.t_item.x": RemovedDestroy,
		"module.m.t_item.kept": RemovedForget, "module.n.t_item.kept": NotRemoved,
	} {
		i := enginetest.Instance(t, text)
		if got := r.Fate(i); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
		if b, ok := r.Of(i); ok != (want != NotRemoved) || ok && text == "module.m.t_item.kept" && b.Block.From.Target.Mode == 0 {
			t.Errorf("%s is covered by %+v, %v", text, b, ok)
		}
	}
}

// A change runs the provisioners for the creation or the destruction of an object that the change causes.
func TestProvisionersOf(t *testing.T) {
	p := enginetest.Program(t, map[string]string{"main.tf": goneText + `
resource "t_item" "a" {
  connection { host = "all" }
  provisioner "local-exec" { command = "up" }
  provisioner "remote-exec" {
    connection { user = "one" }
    inline = ["up"]
  }
  provisioner "remote-exec" {
    when   = destroy
    inline = ["down"]
  }
}
data "t_item" "a" {}
`})
	removed := NewRemovals(p.Tree().Root)
	whole, tainted := &state.Entry{}, &state.Entry{Tainted: true}
	for _, c := range []struct {
		object  string
		action  plan.Action
		entry   *state.Entry
		destroy bool
		want    string // types, each with its number of connections
	}{
		{"t_item.a", plan.Create, nil, false, "local-exec 0, remote-exec 2, "},
		{"t_item.a", plan.CreateDelete, whole, false, "local-exec 0, remote-exec 2, "},
		{"t_item.a", plan.Update, whole, false, ""},
		{"t_item.a", plan.Delete, whole, false, ""},
		{"t_item.a", plan.Delete, whole, true, "remote-exec 1, "},
		{"t_item.a", plan.DeleteCreate, whole, true, "remote-exec 1, "},
		{"t_item.a", plan.Delete, tainted, true, ""},
		{"t_item.a", plan.Delete, nil, true, ""},
		{"t_item.a", plan.Forget, whole, true, ""},
		{"data.t_item.a", plan.Create, nil, false, ""},
		{"t_item.ended", plan.Delete, whole, true, "local-exec 0, "},
		{"t_item.ended", plan.Create, nil, false, ""},
		{"t_item.unknown", plan.Delete, whole, true, ""},
	} {
		h := ProvisionersOf(p, removed, &plan.Change{Object: enginetest.Instance(t, c.object).Current(), Action: c.action}, c.entry, c.destroy)
		got := ""
		for _, x := range h.List {
			got += fmt.Sprintf("%s %d, ", x.Type, len(h.Connections(x)))
			if n := len(h.Parts(x)); n != 1+len(h.Connections(x)) {
				t.Errorf("%s %v: %d parts", c.object, c.action, n)
			}
		}
		if got != c.want {
			t.Errorf("%s, %v, destroy %v: %q, want %q", c.object, c.action, c.destroy, got, c.want)
		}
	}
}

// The old object of a replacement with create_before_destroy is a deposed object when it is destroyed.
func TestDeposes(t *testing.T) {
	current := enginetest.Instance(t, "t_item.a").Current()
	deposed := current
	deposed.Deposed = "00000001"
	for _, c := range []struct {
		change plan.Change
		want   bool
	}{
		{plan.Change{Object: current, Action: plan.CreateDelete}, true}, {plan.Change{Object: current, Action: plan.DeleteCreate}, false},
		{plan.Change{Object: current, Action: plan.Delete}, false}, {plan.Change{Object: deposed, Action: plan.Delete}, true},
	} {
		if got := Deposes(&c.change); got != c.want {
			t.Errorf("%s %v: %v", c.change.Object, c.change.Action, got)
		}
	}
}

// The check results in a state name a declaration with conditions by its kind and name, in the instance of its module.
// Declarations without conditions have no such name.
func TestConditionNames(t *testing.T) {
	p := enginetest.Program(t, map[string]string{"main.tf": `
module "m" { source = "./m" }
variable "plain" {}
resource "t_item" "r" {
  lifecycle {
    postcondition {
      condition     = var.plain
      error_message = "no"
    }
  }
}
resource "t_item" "plain" {}
`, "m/main.tf": `
variable "v" {
  default = 1
  validation {
    condition     = var.v > 0
    error_message = "no"
  }
}
output "o" {
  value = 1
  precondition {
    condition     = var.v > 0
    error_message = "no"
  }
}
check "c" {
  assert {
    condition     = var.v > 0
    error_message = "no"
  }
}
`})
	in := addr.ModuleInstance{}.Child("m", addr.IntKey(3))
	for name, want := range map[string]string{
		"module.m.var.v": "module.m[3].var.v", "module.m.output.o": "module.m[3].output.o", "module.m.check.c": "module.m[3].check.c", "var.plain": "",
	} {
		d := enginetest.Declaration(t, p, name)
		got := ""
		if HasConditions(d) {
			got = ConditionsAddr(d, in)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r, plain := enginetest.Declaration(t, p, "t_item.r"), enginetest.Declaration(t, p, "t_item.plain"); !HasResourceConditions(r) || HasResourceConditions(plain) || ConditionsKind(r) != "resource" {
		t.Error("conditions of resources")
	}
}

// A resource uses the provider configuration that it names, or the default configuration of its provider.
func TestUseOf(t *testing.T) {
	p := enginetest.Program(t, map[string]string{"main.tf": `
provider "t" { alias = "x" }
resource "t_item" "chosen" { provider = t.x }
resource "t_item" "implied" {}
`})
	for name, want := range map[string]string{"t_item.chosen": "x", "t_item.implied": ""} {
		u := UseOf(p, enginetest.Declaration(t, p, name), addr.StringKey("k"))
		if u.Instance.Alias != want || u.Instance.Key != addr.StringKey("k") || !u.Declared || p.Decls()[u.Decl].Kind != program.Provider {
			t.Errorf("%s: %+v", name, u)
		}
	}
}
