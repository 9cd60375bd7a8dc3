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
	case !v.Raw.IsWhollyKnown() || null && (!well || c.Before.Raw.IsNull()):
	case null && v.Raw.Type() == cty.DynamicPseudoType:
		a.edit.DropOutput(c.Name)
	default:
		a.edit.Output(c.Name, state.Output{Value: v, Type: v.Raw.Type(), Sensitive: c.Sensitive, Deprecated: c.Deprecated})
	}
}

// planned are the results of conditions as planning left them. Of a part of a state, those that it had no reason to look at
// are as they were before: nothing changes that they are made from.
func (a *applier) planned() []state.Check {
	if a.plan.Part == nil || a.plan.Previous == nil {
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
		if !ok || d == nil || c.Status != state.Unknown || len(c.Objects) > 0 {
			continue
		}
		stays := true
		a.run.Receivers.Resources(d.ID, func(r program.Ref) {
			stays = stays && !changes[a.run.Program.Decls()[r.To].Resource]
		})
		if stays {
			out[i] = was
		}
	}
	return out
}

// conditioned are the declarations that have conditions, by their addresses.
func (a *applier) conditioned() map[string]*program.Declaration {
	out := map[string]*program.Declaration{}
	for _, d := range a.run.Program.Decls() {
		if declared.HasConditions(d) {
			out[d.String()] = d
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
	decls := a.conditioned()
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
