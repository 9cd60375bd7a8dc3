package filling

import (
	"fmt"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/plan"
)

const repeated = `
module "m" {
  source = "./m"
  count  = 1
}
`

// A frame evaluates expressions with two sets of values, its faces. The before face (prior values) has the module
// instances in the state, not the current count. The after face (planned values) has the instances in the plan.
func TestInstances(t *testing.T) {
	prog := enginetest.Program(t, map[string]string{"main.tf": repeated, "m/main.tf": "resource \"t_item\" \"a\" {\n}\n"})
	s := enginetest.State(t, "module.m[0].t_item.a", "module.m[1].t_item.a")
	p := &plan.Plan{Refreshed: s, Evaluation: plan.Evaluation{Keys: map[string][]addr.Key{"module.m": {addr.IntKey(0)}}, KeysBefore: map[string][]addr.Key{"module.m": {addr.IntKey(0), addr.IntKey(1)}}}}
	f := enginetest.Frame(t, prog, frame.Options{Applying: true})
	Applied(prog, f, p)
	for face, want := range map[frame.Face]string{frame.Before: "[module.m[0] module.m[1]]", frame.After: "[module.m[0]]"} {
		frames, _ := f.Instances(addr.Module{}.Child("m"), face)
		var got []string
		for _, x := range frames {
			got = append(got, x.Addr().String())
		}
		if fmt.Sprint(got) != want {
			t.Errorf("face %v: %v, want %s", face, got, want)
		}
	}
	// The collected keys are equal to the keys that filled the frame.
	again := &plan.Plan{}
	CollectKeys(prog, f, again)
	if fmt.Sprint(again.Keys, again.KeysBefore) != fmt.Sprint(p.Keys, p.KeysBefore) {
		t.Errorf("collected %v and %v", again.Keys, again.KeysBefore)
	}
}

// A changed object has no value on the after face before its step. An unchanged object has its stored value.
func TestUnchangedObjectHasItsValue(t *testing.T) {
	prog := enginetest.Program(t, map[string]string{"main.tf": "resource \"t_item\" \"a\" {\n}\nresource \"t_item\" \"b\" {\n}\n"})
	s := enginetest.State(t, "t_item.a", "t_item.b")
	a := enginetest.Declaration(t, prog, "t_item.a")
	p := &plan.Plan{Refreshed: s, Changes: []*plan.Change{{Object: a.Resource.In(addr.ModuleInstance{}).Instance(addr.NoKey).Current(), Action: plan.Update}}}
	x := &filler{prog: prog, plan: p, state: s, changes: ChangesByObject(p)}
	for o := range s.Objects() {
		if got := x.stays(o); got != (o.Name == "b") {
			t.Errorf("%s stays: %v", o, got)
		}
	}
}
