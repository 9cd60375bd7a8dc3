package engine

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
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
	req.quiet = true
	result, ok := e.Plan(ctx, req, bag)
	if result == nil || !ok {
		return nil, false
	}
	next, hosts := req.State.Edit(), e.newHosts(req.Program, req.State)
	for _, im := range req.Imports {
		o := im.To.Current()
		for _, c := range result.Plan.Changes {
			if c.Object == o && c.Entry != nil {
				entry := *c.Entry
				entry.Recorded, entry.Provider = c.Recorded, c.Provider
				next.Put(o, hosts.hosted(o, &entry))
			}
		}
	}
	return next.Done(), true
}
