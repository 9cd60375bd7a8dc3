package runcmd

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/plan/file"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/view"
)

// changesPlan refuses options that contradict a saved plan. -destroy and -refresh-only are accepted with a plan of that
// mode: wrappers repeat the options of the plan.
var changesPlan = diag.Errorf("Can't change plan options when applying a saved plan", "The mode, targets and other planning options were decided when the plan was made. Make a new plan to change them.")

// applySaved applies a saved plan, without asking.
func applySaved(ctx context.Context, c *base.Call, f *applyFlags, name string) int {
	if len(f.targets)+len(f.excludes)+len(f.replace) > 0 {
		// -refresh is about planning and changes nothing: test suites of providers give it with every plan.
		c.Bag.Add(changesPlan)
		return c.UI.Fail()
	}
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	saved, ok := p.ReadPlan(ctx, name)
	if !ok {
		return c.UI.Fail()
	}
	if f.destroy && saved.Plan.Mode != plan.Destroy || f.refreshOnly && saved.Plan.Mode != plan.RefreshOnly {
		c.Bag.Add(changesPlan)
		return c.UI.Fail()
	}
	if d := saved.WrittenBy(base.Version); d != nil {
		c.Bag.Add(*d)
		return c.UI.Fail()
	}
	if !p.Trust(saved, f.foreign) {
		return c.UI.Fail()
	}
	if !p.SameProviders(saved) {
		return c.UI.Fail()
	}
	p.Applying = true
	p.AskProviders()
	if !p.LoadSaved(ctx, saved) || !ephemeralAgain(p, saved.Plan.Ephemeral) {
		return c.UI.Fail()
	}
	part := func(ctx context.Context, st store.Parted) ([]string, store.Version, error) {
		r, err := st.Review(ctx, project.Workspaces(c).Selected(), nil)
		if err != nil {
			return nil, "", err
		}
		return saved.Plan.Part, r.Version, nil
	}
	ws, ok := p.LockPart(ctx, "", "OperationTypeApply", part)
	if !ok {
		p.Lacking()
		return c.UI.Fail()
	}
	now, was := ws.Snapshot(), saved.Plan.Previous
	if ws.Shared() && was != nil && was.Lineage == now.Lineage && was.Serial <= now.Serial {
		now = was // whether what the plan works on is as it was shows when that is claimed
	}
	if d := file.Stale(saved.Plan, now, project.Workspaces(c).Selected(), p.Place); d != nil {
		c.Bag.Add(*d)
		return c.UI.Fail()
	}
	ws.Share(was)
	if saved.Plan.Errored {
		c.Bag.Add(diag.Errorf("Cannot apply incomplete plan", "Lethe encountered an error when generating this plan, so it cannot be applied."))
		return c.UI.Fail()
	}
	c.UI.Plan(saved.Plan, view.PlanOptions{Applying: true, Earlier: true})
	if saved.Plan.Part != nil && ws.Part() == nil {
		c.Bag.Add(diag.Errorf("Saved plan is stale", "The plan was made from a part of the state, and that part cannot be read by itself any more: a run that was killed has left a journal, or the state is not kept in rows now. Make a new plan."))
		return c.UI.Fail()
	}
	o := &operation{p: p, f: &f.planFlags, ws: ws}
	return o.carryOut(ctx, saved.Plan, f)
}

// ephemeralAgain holds the ephemeral variables that are given now against those that were given
// when the plan was made. The same ones have to be, their values may differ: a plan has nothing
// that was made of them.
func ephemeralAgain(p *project.Project, planned []string) bool {
	ok := true
	for _, name := range ephemeralGiven(p) {
		if !slices.Contains(planned, name) {
			p.Bag.Add(diag.Errorf("Ephemeral variable was not set during planning", "The ephemeral variable %q has a value now (from %s), and had none when this plan was made, so that the plan may not fit it. Apply without a value for it, or make a new plan with one.", name, p.Vars.Given[name].From).At(p.Vars.Declared(name).Range))
			ok = false
		}
	}
	for _, name := range planned {
		v := p.Vars.Declared(name)
		if _, given := p.Vars.Given[name]; given || v == nil {
			continue
		}
		if ok && p.MayAsk() && p.Vars.Ask(v) {
			continue
		}
		if !p.Call.CutShort() {
			p.Bag.Add(diag.Errorf("No value for required variable", "The ephemeral variable %q was set when this plan was made. Plans do not hold values of ephemeral variables, so that it has to be set again, by any of the ways to set a variable: -var, -var-file, TF_VAR_%s or a variables file. The value may differ.", name, name).At(v.Range))
		}
		ok = false
	}
	return ok
}
