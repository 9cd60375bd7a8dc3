package applying

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// Apply carries a plan out.
func Apply(ctx context.Context, env run.Env, req Request, bag *diag.Bag) (*Result, bool) {
	req.Options.Pure, req.Options.PlanTime = false, req.Plan.Timestamp
	if req.Journal == nil {
		req.Journal = journal.None{}
	}
	r, ok := run.New(ctx, env, run.Request{
		Program: req.Program, Options: req.Options, Results: req.Plan.Functions, Destroy: req.Plan.Mode == plan.Destroy,
	}, bag)
	if !ok {
		return &Result{Snapshot: req.Plan.Previous}, false
	}
	defer r.Sessions.Close()
	defer r.End()
	a := &applier{
		run: r, req: &req, plan: req.Plan, hosts: run.HostsFor(env.Settings, req.Program.Tree(), req.Plan.Refreshed), edit: req.Plan.Refreshed.Edit(),
		changes: filling.ChangesByObject(req.Plan), deposed: map[addr.Object]addr.Object{}, made: map[addr.Object]made{}, taken: map[addr.Object]bool{},
	}
	a.amend()
	a.expectChecks()
	filling.Applied(a.run.Program, a.run.Frame, a.plan)
	ok = a.walk(ctx)
	a.unmade()
	a.outputs(ok)
	if ok && a.plan.Mode == plan.Normal && len(a.plan.Targets)+len(a.plan.Excludes) == 0 && a.anySteps() {
		a.run.CheckValues()
	}
	a.edit.Head().Checks = a.run.Checks.Results(a.plan.Checks)
	return &Result{Snapshot: a.edit.Done(), Summary: a.summary(), Cut: r.Cut.Load()}, ok && !bag.HasErrors()
}

func (a *applier) summary() event.Summary {
	s := event.Summary{
		Operation: "apply", Added: int(a.added.Load()), Changed: int(a.changed.Load()),
		Destroyed: int(a.destroyed.Load()), Imported: int(a.imported.Load()), Forgotten: int(a.forgotten.Load()),
	}
	if a.plan.Mode == plan.Destroy {
		s.Operation = "destroy"
	}
	return s
}

// amend records what is new about objects that stay as they are, without a step: what they depend
// on, through which provider they work, how they will end. None of it is lost with a journal that
// does not have it, as the next apply finds it again.
func (a *applier) amend() {
	for _, c := range a.plan.Changes {
		if e := a.edit.Get(c.Object); e != nil && c.Action == plan.NoOp {
			if next := a.hosts.Hosted(c.Object, run.Amended(c, e)); next.Provider != e.Provider ||
				next.CreateFirst != e.CreateFirst || next.SkipDestroy != e.SkipDestroy || !slices.Equal(next.Recorded, e.Recorded) {
				a.edit.Put(c.Object, next)
			}
		}
	}
}
