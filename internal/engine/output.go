package engine

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// outputs works out what becomes of the root outputs.
func (p *planner) outputs() []*plan.OutputChange {
	var out []*plan.OutputChange
	declared := p.run.prog.Tree().Root.Module.Outputs
	for name, o := range declared {
		if c := p.output(name, o); c != nil {
			out = append(out, c)
		}
	}
	for name, old := range p.previousOutputs() {
		switch {
		case declared[name] != nil || p.sel.Active:
		default:
			out = append(out, &plan.OutputChange{
				Name: name, Action: plan.Delete, Before: old.Value, After: mark.Plain(cty.NullVal(cty.DynamicPseudoType)), Sensitive: old.Sensitive,
			})
		}
	}
	slices.SortFunc(out, func(a, b *plan.OutputChange) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (p *planner) previousOutputs() map[string]state.Output {
	if p.prior == nil {
		return nil
	}
	return p.prior.Outputs
}

// output compares one declared output with what is stored; nil: it keeps what it has. One that reaches
// something left out by targeting does, and so do all when only a part is destroyed.
func (p *planner) output(name string, o *config.Output) *plan.OutputChange {
	old, had := p.previousOutputs()[name]
	null := mark.Plain(cty.NullVal(cty.DynamicPseudoType))
	if p.req.Mode == plan.Destroy && !p.sel.Active {
		if !had {
			return nil
		}
		return &plan.OutputChange{Name: name, Action: plan.Delete, Before: old.Value, After: null, Sensitive: old.Sensitive}
	}
	d, ok := p.run.prog.Lookup(addr.Module{}, lang.Output, name)
	if !ok || p.sel.Skips(d.ID) || p.req.Mode == plan.Destroy {
		return nil
	}
	bag := p.run.bag
	if p.req.Mode == plan.RefreshOnly {
		bag = &diag.Bag{} // what is declared need not be there yet
	}
	v, outcome := p.run.frame.Output(name, lang.After, bag)
	switch {
	case p.req.Mode == plan.RefreshOnly && (outcome != lang.OK || !v.Raw.IsWhollyKnown()):
		return nil // nothing that could make it known will be done
	case outcome != lang.OK:
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
