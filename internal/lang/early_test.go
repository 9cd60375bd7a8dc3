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

// TestKeysBeforeLeasesAreOpen checks a for_each whose values come from an ephemeral resource that is not open yet: no
// value was put into its slot. The keys are known before. A local, variable or configuration that was evaluated before
// is evaluated again when the ephemeral resource is open.
func TestKeysBeforeLeasesAreOpen(t *testing.T) {
	f := rootFrame(t, `
locals { token = ephemeral.test_thing.e.id }
locals { all = { a = local.token, b = "plain" } }
ephemeral "test_thing" "e" {}
resource "test_thing" "r" {
  for_each  = local.all
  secret_wo = each.value
}
module "m" {
  source   = "m"
  for_each = local.all
  in       = each.value
}
-- m --
variable "in" {
  ephemeral = true
}
locals { in = var.in }
`, frame.Options{})
	var bag diag.Bag
	prog := f.Program()
	find := func(kind program.Kind, mode addr.Mode, name string) program.Decl {
		for _, d := range prog.Decls() {
			if d.Kind == kind && (kind == program.Call && d.Name == name || kind == program.Resource && d.Resource.Mode == mode) {
				return d.ID
			}
		}
		t.Fatalf("there is no %s", name)
		return 0
	}
	lease, res, call := find(program.Resource, addr.Ephemeral, "e"), find(program.Resource, addr.Managed, "r"), find(program.Call, 0, "m")
	for _, d := range []program.Decl{res, call} {
		if k := f.Keys(d, frame.After, &bag); k.Status != frame.Known || len(k.List) != 2 {
			t.Fatalf("keys %v %s", k, show(&bag))
		}
	}
	a := addr.StringKey("a")
	inner := f.At(addr.ModuleInstance{}.Child("m", a), frame.After)
	values := map[string]func() mark.Value{
		"local":          func() mark.Value { v, _ := f.Named(program.Local, "token", frame.After, &bag); return v },
		"in a module":    func() mark.Value { v, _ := inner.Named(program.Local, "in", frame.After, &bag); return v },
		"each.value":     func() mark.Value { v, _ := f.Config(res, a, frame.After, &bag); return v },
		"whole for_each": func() mark.Value { v, _ := f.Named(program.Local, "all", frame.After, &bag); return v },
	}
	known := func(want bool) {
		t.Helper()
		for name, get := range values {
			v := get()
			if !v.Has(mark.Ephemeral) || v.Raw.IsWhollyKnown() != want {
				t.Errorf("%s: known %v, not %v, or not ephemeral: %s", name, !want, want, show(&bag))
			}
		}
	}
	known(false)
	opened, err := prog.Schema(lease).Coerce(cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("canary")}))
	if err != nil {
		t.Fatal(err)
	}
	f.Put(lease, addr.NoKey, frame.After, mark.Value{Raw: opened, Marks: []mark.At{{Tag: mark.Ephemeral}}})
	known(true)
	f.Drop(lease, addr.NoKey, frame.After)
	known(true) // the ephemeral resource is closed, but evaluated declarations keep the value
}

// TestSlotFilledWhileWholeIsRead checks that an object of an instance that is put during a read of all instances is
// visible to the next reader.
func TestSlotFilledWhileWholeIsRead(t *testing.T) {
	for _, mode := range []string{"ephemeral", "resource"} {
		f := rootFrame(t, mode+` "test_thing" "e" { count = 2 }
locals { a = `+map[string]string{"ephemeral": "ephemeral."}[mode]+`test_thing.e[*].id }`, frame.Options{})
		d := map[string]addr.Mode{"ephemeral": addr.Ephemeral, "resource": addr.Managed}[mode]
		var id program.Decl
		for _, decl := range f.Program().Decls() {
			if decl.Kind == program.Resource && decl.Resource.Mode == d {
				id = decl.ID
			}
		}
		obj := func(id string) mark.Value {
			return mark.Plain(cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(id)}))
		}
		f.PutLazy(id, addr.IntKey(1), frame.After, func() mark.Value {
			f.Put(id, addr.IntKey(0), frame.After, obj("x")) // the read of all instances has just found the slot of instance 0 empty
			return obj("y")
		})
		var bag diag.Bag
		for range 2 {
			f.Named(program.Local, "a", frame.After, &bag)
		}
		v, o := f.Named(program.Local, "a", frame.After, &bag)
		if want := cty.TupleVal([]cty.Value{cty.StringVal("x"), cty.StringVal("y")}); o != frame.OK || !v.Raw.RawEquals(want) {
			t.Errorf("%s: %#v %s", mode, v.Raw, show(&bag))
		}
	}
}
