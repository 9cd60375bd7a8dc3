package engine

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// Import takes existing objects in at once, as the import command does: a plan with more priors,
// of which only the imported objects are kept. Errors about other objects do not matter.
func (e *Engine) Import(ctx context.Context, req Request, bag *diag.Bag) (*state.Snapshot, bool) {
	for _, im := range req.Imports {
		t, err := addr.ParseTarget(im.To.String())
		if err != nil {
			bag.Add(diag.Errorf("Invalid import address", "%s.", err))
			return nil, false
		}
		req.Targets = append(req.Targets, t)
	}
	req.Quiet = true
	result, ok := e.Plan(ctx, req, bag)
	if result == nil || !ok {
		return nil, false
	}
	next, hosts := req.State.Edit(), e.Hosts(req.Program.Tree(), req.State)
	for _, im := range req.Imports {
		c := imported(result.Plan, im.To)
		if c == nil {
			bag.Add(diag.Errorf("Configuration for import target does not exist", "No instance has the address %s, although %s is declared. Objects can only be imported to instances that the configuration declares: check the key of the address, and what count, for_each or enabled of the block and of the modules around it say.", im.To, im.To.Resource()))
			return nil, false
		}
		next.Put(c.Object, hosts.Hosted(c.Object, run.Amended(c, c.Entry)))
	}
	return next.Done(), true
}

// imported is what a plan found for the target of an import; nil if no such instance is declared.
func imported(p *plan.Plan, to addr.Instance) *plan.Change {
	i := slices.IndexFunc(p.Changes, func(c *plan.Change) bool { return c.Object == to.Current() && c.Entry != nil })
	if i < 0 {
		return nil
	}
	return p.Changes[i]
}
