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

// outputs stores the root outputs: after a run that failed, those that can still be known, and whose conditions hold.
// Those that are to go wait for nothing: what they were made from may be gone.
func (a *applier) outputs(well bool) {
	for _, c := range a.plan.Outputs {
		switch {
		case c.Action == plan.Delete:
			a.edit.DropOutput(c.Name)
		case well || c.Action != plan.NoOp && a.run.Checks.Hold("output."+c.Name):
			a.output(c, well)
		}
	}
}

// output stores one that stays. What was shown is what is stored; one that was not known then, or that a run which
// failed may have kept from being known, keeps what it had if it has no value now.
func (a *applier) output(c *plan.OutputChange, well bool) {
	v, known, bag := c.After, c.After.Raw.IsWhollyKnown(), a.run.Bag
	if !well {
		bag = &diag.Bag{}
	}
	_, declared := a.run.Program.Lookup(addr.Module{}, program.Output, c.Name)
	if !well || declared && a.plan.Mode == plan.Normal && !known {
		now, outcome := a.run.Frame.Named(program.Output, c.Name, frame.After, bag)
		if outcome != frame.OK {
			return
		}
		if !known {
			v = now
		}
	}
	switch null := v.Raw.IsNull(); {
	case !v.Raw.IsWhollyKnown() || null && (!well || c.Before.Raw.IsNull()):
	case null && v.Raw.Type() == cty.DynamicPseudoType:
		a.edit.DropOutput(c.Name)
	default:
		a.edit.Output(c.Name, state.Output{Value: v, Type: v.Raw.Type(), Sensitive: c.Sensitive, Deprecated: c.Deprecated})
	}
}

// planned are the results of conditions as planning left them. Those that a plan of what changed had no reason to look at
// are as they were before.
func (a *applier) planned() []state.Check {
	if !a.plan.Changed || a.plan.Previous == nil {
		return a.plan.Checks
	}
	before := map[string]state.Check{}
	for _, c := range a.plan.Previous.Checks {
		before[c.Addr] = c
	}
	out := slices.Clone(a.plan.Checks)
	for i, c := range out {
		if was, ok := before[c.Addr]; ok && c.Status == state.Unknown && len(c.Objects) == 0 {
			out[i] = was
		}
	}
	return out
}

// expectChecks says which conditions this walk is to evaluate: those of declarations in the plan that have
// steps of their own, and of objects that it visits. What keeps it from one leaves that unknown.
func (a *applier) expectChecks() {
	if a.plan.Mode != plan.Normal || !a.anySteps() {
		return
	}
	a.run.Bag.Retract() // what planning said of checks
	decls := map[string]*program.Declaration{}
	for _, d := range a.run.Program.Decls() {
		if declared.HasConditions(d) {
			decls[d.String()] = d
		}
	}
	for _, c := range a.plan.Checks {
		for _, o := range c.Objects {
			if d := decls[c.Addr]; d != nil {
				a.run.Expect(d, o.Addr)
			}
		}
	}
	for _, c := range a.plan.Changes {
		if d, ok := a.run.Program.Resource(c.Object.Resource()); ok && c.Conditions {
			a.run.Expect(d, c.Object.Instance.String())
		}
	}
}
