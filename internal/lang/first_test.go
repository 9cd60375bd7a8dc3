package lang

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// TestMainPath checks the main path: compile, references, frames, configurations, slots, outputs, conditions.
func TestMainPath(t *testing.T) {
	f := rootFrame(t, `
variable "names" { default = ["x", "y"] }
locals {
  upper = [for n in var.names : upper(n)]
}
resource "test_thing" "a" {
  count = length(local.upper)
  name  = local.upper[count.index]
  lifecycle {
    postcondition {
      condition     = self.id != ""
      error_message = "no id"
    }
  }
}
module "m" {
  source = "m"
  in     = test_thing.a[*].id
}
output "all" { value = module.m.out }
output "one" { value = test_thing.a[1].id }
-- m --
variable "in" {}
resource "test_thing" "b" {
  list = var.in
  rule { a = "r" }
}
output "out" { value = { ids = var.in, b = test_thing.b.id } }
`, frame.Options{})
	p := f.Program()
	a, _ := p.Resource(addr.Resource{Mode: addr.Managed, Type: "test_thing", Name: "a"})
	var bag diag.Bag
	keys := f.Keys(a.ID, frame.After, &bag)
	if len(keys.List) != 2 {
		t.Fatalf("keys: %v\n%s", keys, show(&bag))
	}
	for i, k := range keys.List {
		v, o := f.Config(a.ID, k, frame.After, &bag)
		if o != frame.OK {
			t.Fatal(show(&bag))
		}
		if got := v.Raw.GetAttr("name").AsString(); got != []string{"X", "Y"}[i] {
			t.Errorf("name %q", got)
		}
		m := v.Raw.AsValueMap()
		m["id"] = cty.StringVal("id-" + k.String())
		obj := mark.Plain(cty.ObjectVal(m))
		f.Put(a.ID, k, frame.After, obj)
		for _, r := range f.Conditions(a.ID, k, program.Post, &obj, &bag) {
			if r.Status.String() != "pass" {
				t.Errorf("condition: %v", r)
			}
		}
	}
	frames, _ := f.Expand(addr.Module{}.Child("m"), frame.After, &bag)
	if len(frames) != 1 {
		t.Fatal(frames)
	}
	b, _ := p.Resource(addr.Resource{Module: addr.Module{}.Child("m"), Mode: addr.Managed, Type: "test_thing", Name: "b"})
	v, o := frames[0].Config(b.ID, addr.NoKey, frame.After, &bag)
	if o != frame.OK || v.Raw.GetAttr("list").LengthInt() != 2 || v.Raw.GetAttr("rule").LengthInt() != 1 {
		t.Fatalf("%#v %s", v.Raw, show(&bag))
	}
	frames[0].Put(b.ID, addr.NoKey, frame.After, v)
	all, o := f.Named(program.Output, "all", frame.After, &bag)
	if o != frame.OK || all.Raw.GetAttr("ids").LengthInt() != 2 {
		t.Fatalf("%#v %s", all.Raw, show(&bag))
	}
	one, _ := f.Named(program.Output, "one", frame.After, &bag)
	if one.Raw.AsString() != "id-[1]" {
		t.Error(one.Raw.AsString())
	}
	if bag.Len() > 0 {
		t.Error(show(&bag))
	}
}
