package applying

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// outputs stores the root outputs in the working state. well is true if the apply succeeded. After a failed apply,
// outputs stores only changed outputs that are known and whose conditions hold. It always deletes the removed outputs,
// because the objects that they refer to may no longer exist.
func (a *applier) outputs(well bool) {
	for _, c := range a.plan.Outputs {
		switch {
		case c.Action == plan.Delete:
			a.edit.DropOutput(c.Name)
		case well || c.Action != plan.NoOp && a.sound(c.Name):
			a.output(c, well)
		}
	}
}

// sound reports whether the conditions of a root output hold. The conditions of the outputs to which it refers,
// directly or through values such as locals, must hold, too. sound returns true for an output that is not declared.
func (a *applier) sound(name string) bool {
	d, ok := a.run.Program.Lookup(addr.Module{}, program.Output, name)
	if !ok {
		return true
	}
	seen := map[program.Decl]bool{d.ID: true}
	for queue := []program.Decl{d.ID}; len(queue) > 0; queue = queue[1:] {
		if of := a.run.Program.Decls()[queue[0]]; of.Kind == program.Output && !a.run.Conditions.Checks.Hold(of.String()) {
			return false
		}
		for _, ref := range a.run.Program.Refs(queue[0]) {
			if to := a.run.Program.Decls()[ref.To]; !seen[ref.To] && to.Kind != program.Resource && to.Kind != program.Provider {
				seen[ref.To] = true
				queue = append(queue, ref.To)
			}
		}
	}
	return true
}

// output stores one declared output. If the plan knew its value, output stores the planned value. Otherwise it
// evaluates the output now. After a failed apply (well is false), it evaluates the output in any case, and stores
// nothing if the evaluation fails. An output without a known value keeps its stored value. A null value of no
// particular type removes the output from the state, unless the apply failed or the output was null before.
func (a *applier) output(c *plan.OutputChange, well bool) {
	v, known, bag := c.After, c.After.Raw.IsWhollyKnown(), a.run.Bag
	if !well {
		bag = &diag.Bag{}
	}
	_, declared := a.run.Program.Lookup(addr.Module{}, program.Output, c.Name)
	if !well || declared && a.plan.Mode == plan.Normal && !known {
		now, outcome := a.run.Frame.Named(program.Output, c.Name, frame.After, bag)
		if outcome != frame.OK {
			if well {
				a.failures = append(a.failures, "output."+c.Name)
			}
			return
		}
		if !known {
			v = now
		}
	}
	switch null := v.Raw.IsNull(); {
	case !v.Raw.IsWhollyKnown():
		a.unknown = append(a.unknown, c.Name)
	case null && (!well || c.Before.Raw.IsNull()):
	case null && v.Raw.Type() == cty.DynamicPseudoType:
		a.edit.DropOutput(c.Name)
	default:
		a.edit.Output(c.Name, state.Output{Value: v, Type: v.Raw.Type(), Sensitive: c.Sensitive, Deprecated: c.Deprecated})
	}
}

// planned returns the results of conditions before the apply, from the plan. A plan of a part of the state, or of an
// invocation with -invoke, did not evaluate all conditions. A condition that the plan did not evaluate keeps its
// previous result if the plan changes no resource on which the condition depends.
func (a *applier) planned() []state.Check {
	if a.plan.Part == nil && !a.plan.Requested() || a.plan.Previous == nil {
		return a.plan.Checks
	}
	before, changes, decls := map[string]state.Check{}, map[addr.Resource]bool{}, a.conditioned()
	for _, c := range a.plan.Previous.Checks {
		before[c.Addr] = c
	}
	for _, c := range a.plan.Changes {
		changes[c.Object.Resource()] = changes[c.Object.Resource()] || c.Action != plan.NoOp
	}
	out := slices.Clone(a.plan.Checks)
	for i, c := range out {
		was, ok := before[c.Addr]
		d := decls[c.Addr]
		if !ok || c.Status != state.Unknown || len(c.Objects) > 0 || d == nil && !a.plan.Requested() {
			continue
		}
		stays := true
		if !a.plan.Requested() { // a plan that only invokes an action changes no object
			a.run.Receivers.Resources(d.ID, func(r program.Ref) {
				stays = stays && !changes[a.run.Program.Decls()[r.To].Resource]
			})
		}
		if stays {
			out[i] = was
		}
	}
	return out
}

// conditioned returns the declarations that have conditions, by address.
func (a *applier) conditioned() map[string]*program.Declaration {
	out := map[string]*program.Declaration{}
	for _, d := range a.run.Program.Decls() {
		if declared.HasConditions(d) {
			out[d.String()] = d
		}
	}
	return out
}

// expectChecks records which conditions this apply will evaluate: the conditions that the plan lists, and the
// conditions of objects with a change. If the walk does not evaluate an expected condition, for example after a
// failure, its result is unknown.
func (a *applier) expectChecks() {
	if a.plan.Mode != plan.Normal || !a.plan.Visits() {
		return
	}
	a.run.Bag.Retract() // removes the warnings of check blocks during plan, because apply evaluates these again
	decls := a.conditioned()
	for _, c := range a.plan.Checks {
		for _, o := range c.Objects {
			if d := decls[c.Addr]; d != nil {
				a.run.Conditions.Expect(d, o.Addr)
			}
		}
	}
	for _, c := range a.plan.Changes {
		if d, ok := a.run.Program.Resource(c.Object.Resource()); ok && c.Conditions {
			a.run.Conditions.Expect(d, c.Object.Instance.String())
		}
	}
}
