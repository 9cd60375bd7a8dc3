package ordering

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// planned returns a plan with the same action for each object, through the providers of the program. keys has the
// instance keys of repeated resources.
func planned(t *testing.T, p *program.Program, action plan.Action, keys map[string][]addr.Key, objects ...string) *plan.Plan {
	t.Helper()
	out := &plan.Plan{Mode: plan.Normal, Previous: &state.Snapshot{}, Refreshed: &state.Snapshot{}, Evaluation: plan.Evaluation{Keys: keys}}
	for _, o := range objects {
		i := enginetest.Instance(t, o)
		d, ok := p.Resource(i.Resource())
		if !ok {
			t.Fatalf("%s is not declared", o)
		}
		out.Changes = append(out.Changes, &plan.Change{Object: i.Current(), Action: action, Provider: declared.UseOf(p, d, addr.NoKey).Instance})
	}
	return out
}

// source returns the Source (the input for ordering) of an apply of the plan p.
func source(t *testing.T, prog *program.Program, p *plan.Plan) Source {
	r := receivers.Analyse(prog, nil)
	f := enginetest.Frame(t, prog, frame.Options{Applying: true, Steady: r.Steady})
	filling.Applied(prog, f, p)
	return Source{Program: prog, Frame: f, Receivers: r, Removals: declared.NewRemovals(prog.Tree().Root), Plan: p}
}

// A resource comes after the resources that it refers to, through values and modules. If a reference names an instance
// by its key, only the referring and the named instance are ordered.
func TestDeclaredOrder(t *testing.T) {
	prog := enginetest.Program(t, map[string]string{
		"main.tf": `
resource "t_item" "a" {
  count = 2
}
resource "t_item" "b" {
  count = 2
  a     = t_item.a[count.index].id
}
module "m" {
  source = "./m"
  in     = t_item.a[0].id
}
`,
		"m/main.tf": `
variable "in" {
}
resource "t_item" "c" {
  a = var.in
}
`})
	two := []addr.Key{addr.IntKey(0), addr.IntKey(1)}
	p := planned(t, prog, plan.Create, map[string][]addr.Key{"t_item.a": two, "t_item.b": two},
		"t_item.a[0]", "t_item.a[1]", "t_item.b[0]", "t_item.b[1]", "module.m.t_item.c")
	o := New(source(t, prog, p))
	const want = `+t_item.a[0]; needs +provider["registry.opentofu.org/hashicorp/t"]
+t_item.a[1]; needs +provider["registry.opentofu.org/hashicorp/t"]
+t_item.b[0]; needs +t_item.a[0] +provider["registry.opentofu.org/hashicorp/t"]
+t_item.b[1]; needs +t_item.a[1] +provider["registry.opentofu.org/hashicorp/t"]
+module.m.t_item.c; needs +t_item.a[0] +provider["registry.opentofu.org/hashicorp/t"]
+provider["registry.opentofu.org/hashicorp/t"] late
-provider["registry.opentofu.org/hashicorp/t"] closer; waits +t_item.a[0] +t_item.a[1] +t_item.b[0] +t_item.b[1] +module.m.t_item.c +provider["registry.opentofu.org/hashicorp/t"]
`
	if diff := cmp.Diff(want, enginetest.Steps(&o.Input)); diff != "" {
		t.Error(diff)
	}
}

// An ephemeral resource has one hold (the time in which it is open) for each instance if every receiver names an
// instance. Otherwise it has one hold for all instances.
func TestLeaseHolds(t *testing.T) {
	const lease = `
ephemeral "t_key" "k" {
  count = 2
}
provider "t" {
  alias = "x"
}
resource "t_item" "a" {
  count = 2
  a_wo  = ephemeral.t_key.k[%s].token
}
`
	for key, want := range map[string]string{
		"count.index": "[ephemeral.t_key.k[0] ephemeral.t_key.k[1]]",
		"0":           "[ephemeral.t_key.k[0]]",
		"*":           "[ephemeral.t_key.k]",
	} {
		prog := enginetest.Program(t, map[string]string{"main.tf": fmt.Sprintf(lease, key)})
		p := planned(t, prog, plan.Create, map[string][]addr.Key{"t_item.a": {addr.IntKey(0), addr.IntKey(1)}}, "t_item.a[0]", "t_item.a[1]")
		o := New(source(t, prog, p))
		var got []string
		for i, h := range o.Holds {
			if h.Lease != nil {
				got = append(got, o.name(true, int32(i)))
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", key, got, want)
		}
	}
}

// SettleReplacements changes a replacement with create_before_destroy, and the replacements of its dependencies, to the
// action CreateDelete.
func TestSettleReplacements(t *testing.T) {
	prog := enginetest.Program(t, map[string]string{"main.tf": `
resource "t_item" "a" {
}
resource "t_item" "b" {
  a = t_item.a.id
  lifecycle {
    create_before_destroy = true
  }
}
resource "t_item" "c" {
}
`})
	p := planned(t, prog, plan.DeleteCreate, nil, "t_item.a", "t_item.b", "t_item.c")
	SettleReplacements(source(t, prog, p))
	got := ""
	for _, c := range p.Changes {
		got += fmt.Sprintf("%s %s %s\n", c.Object, c.Action, c.FirstFor)
	}
	if p.Changes[0].Action != plan.CreateDelete || p.Changes[0].FirstFor != "t_item.b" || p.Changes[1].Action != plan.CreateDelete || p.Changes[2].Action != plan.DeleteCreate {
		t.Error(got)
	}
}

// PreviewLeases returns each lease (ephemeral resource) of an apply and its receivers, and opens no lease.
func TestPreviewLeases(t *testing.T) {
	prog := enginetest.Program(t, map[string]string{"main.tf": `
ephemeral "t_key" "single" {
}
ephemeral "t_key" "derived" {
  of = ephemeral.t_key.single.token
}
resource "t_item" "a" {
  a_wo = ephemeral.t_key.derived.token
  provisioner "local-exec" {
    command = ephemeral.t_key.single.token
  }
}
`})
	p := planned(t, prog, plan.Create, nil, "t_item.a")
	var got string
	for _, l := range PreviewLeases(prog, receivers.Analyse(prog, nil), frame.Options{}, p) {
		got += fmt.Sprintln(l.Addr, l.Receivers)
	}
	const want = "ephemeral.t_key.derived [t_item.a]\nephemeral.t_key.single [a provisioner of t_item.a ephemeral.t_key.derived]\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
