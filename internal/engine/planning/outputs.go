package planning

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

type rootOutputs struct{ p *planner }

// changes returns the changes of the root outputs, sorted by name.
func (x *rootOutputs) changes() []*plan.OutputChange {
	var out []*plan.OutputChange
	declared := x.p.run.Program.Tree().Root.Module.Outputs
	for name, o := range declared {
		if c := x.change(name, o); c != nil {
			out = append(out, c)
		}
	}
	for name, old := range x.previous() {
		switch {
		case declared[name] != nil || x.p.sel.Active && x.p.req.Origin != targeting.Changes: // a plan with -target or -exclude removes no output; a plan of the changed resources (plan -changed) does
		default:
			out = append(out, &plan.OutputChange{
				Name: name, Action: plan.Delete, Before: old.Value, After: mark.Plain(cty.NullVal(cty.DynamicPseudoType)), Sensitive: old.Sensitive,
			})
		}
	}
	slices.SortFunc(out, func(a, b *plan.OutputChange) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (x *rootOutputs) previous() map[string]state.Output {
	if x.p.prior == nil {
		return nil
	}
	return x.p.prior.Outputs
}

// change compares one declared root output with its stored value. It returns nil if the plan keeps the stored value: if
// -target or -exclude leaves out a resource to which the output refers, if a destroy plan has targets or excludes, or
// if the value is unknown in a refresh-only plan. It also returns nil if the value has an error, and in a destroy plan
// for an output without a stored value.
func (x *rootOutputs) change(name string, o *config.Output) *plan.OutputChange {
	old, had := x.previous()[name]
	null := mark.Plain(cty.NullVal(cty.DynamicPseudoType))
	if x.p.req.Mode == plan.Destroy && !x.p.sel.Active {
		if !had {
			return nil
		}
		return &plan.OutputChange{Name: name, Action: plan.Delete, Before: old.Value, After: null, Sensitive: old.Sensitive}
	}
	d, ok := x.p.run.Program.Lookup(addr.Module{}, program.Output, name)
	if !ok || x.p.sel.Skips(d.ID) || x.p.req.Mode == plan.Destroy {
		return nil
	}
	v, outcome := mark.Value{}, frame.OK
	x.p.evaluate(func(bag *diag.Bag) { v, outcome = x.p.run.Frame.Named(program.Output, name, frame.After, bag) })
	switch {
	case x.p.req.Mode == plan.RefreshOnly && (outcome != frame.OK || !v.Raw.IsWhollyKnown()):
		return nil // no apply makes the value known
	case outcome != frame.OK:
		x.p.failed = append(x.p.failed, d.String())
		return nil
	}
	c := &plan.OutputChange{Name: name, Before: null, After: v, Sensitive: o.Sensitive, Deprecated: o.Deprecated, Action: plan.Create}
	if had {
		c.Before, c.Action = old.Value, plan.Update
		if v.Raw.IsWhollyKnown() && v.Raw.RawEquals(old.Value.Raw) && old.Sensitive == o.Sensitive {
			c.Action = plan.NoOp
		}
	} else if v.Raw.IsNull() && v.Raw.IsKnown() {
		c.Action = plan.NoOp
	}
	return c
}
