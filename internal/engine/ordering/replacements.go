package ordering

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
)

// SettleReplacements sets CreateFirst in the changes of a plan, and turns replacements that are create-first (the new
// object is created before the old object is destroyed) into CreateDelete. FirstFor then names the resource that
// requires this. The state stores CreateFirst for each object, so SettleReplacements sets it in changes of all kinds,
// except changes of deposed objects. It changes nothing in a plan without replacements if the plan is not of mode
// Normal, or if no managed resource sets create_before_destroy.
func SettleReplacements(s Source) {
	out := s.Plan
	replaces := slices.ContainsFunc(out.Changes, func(c *plan.Change) bool { return c.Action.Replaces() })
	if !replaces && (out.Mode != plan.Normal || !declaresFirst(s.Program)) {
		return
	}
	o := New(s)
	changes := filling.ChangesByObject(out)
	var steps *plan.Steps
	if replaces {
		steps = plan.Order(&o.Input)
	} else {
		steps = &plan.Steps{CreateFirst: plan.CreateFirst(&o.Input)}
	}
	for i, obj := range o.Objects {
		c := changes[obj]
		if c == nil || obj.IsDeposed() {
			continue
		}
		c.CreateFirst = steps.CreateFirst[o.Input.Objects[i].Group]
		if c.Action != plan.DeleteCreate || !steps.First[i] {
			continue
		}
		c.Action = plan.CreateDelete
		if by := steps.FirstFor[i]; by >= 0 && int(by) < len(o.Groups) {
			c.FirstFor = o.Groups[by].String()
		}
	}
}

// declaresFirst reports whether a managed resource sets create_before_destroy.
func declaresFirst(prog *program.Program) bool {
	return slices.ContainsFunc(prog.Decls(), func(d *program.Declaration) bool {
		return d.Kind == program.Resource && d.Resource.Mode == addr.Managed && d.Res.Lifecycle.CreateFirst
	})
}
