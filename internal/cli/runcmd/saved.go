package runcmd

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/savedplan"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/plan/file"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/view"
)

// changesPlan is the error for options that contradict a saved plan. The options -destroy and -refresh-only do not
// contradict a plan of the same mode: wrapper programs repeat the options of the plan.
var changesPlan = diag.Errorf("Can't change plan options when applying a saved plan", "The saved plan already includes its mode, targets and other planning options. To change them, make a new plan.")

// plansOtherwise reports whether an option other than -destroy and -refresh-only would change a saved plan. It ignores
// -refresh, because test suites of providers use it with every plan, and -rounds=1, because a saved plan is one round:
// one plan and its apply.
func (f *applyFlags) plansOtherwise() bool {
	lists := len(f.targets) + len(f.targetFiles) + len(f.excludes) + len(f.excludeFiles) + len(f.replace) + len(f.allowDestroy) + len(f.invoke)
	return lists > 0 || f.changed != nil || f.deferEphemerals != nil || f.rounds != "" && f.rounds != roundsOne
}

// applySaved applies the saved plan in a file, without asking for approval. It returns the exit code.
func applySaved(ctx context.Context, c *base.Call, f *applyFlags, name string) int {
	if f.plansOtherwise() {
		c.Bag.Add(changesPlan)
		return c.UI.Fail()
	}
	s, ok := session.Open(c, &f.Options, operation.Apply)
	if !ok {
		return c.UI.Fail()
	}
	plans := savedplan.New(s)
	saved, ok := plans.Read(ctx, name)
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
	if !plans.Trust(saved, f.foreign) || !plans.SameProviders(saved) {
		return c.UI.Fail()
	}
	s.AskProviders()
	if !plans.Load(ctx, saved) || !ephemeralAgain(s, saved.Plan.Ephemeral) {
		return c.UI.Fail()
	}
	part := func(ctx context.Context, st store.PartStore) ([]string, store.Version, error) {
		r, err := st.Review(ctx, workdir.Workspaces(c).Selected(), nil)
		if err != nil {
			return nil, "", err
		}
		return saved.Plan.Part, r.Version, nil
	}
	ws, ok := s.Lock(ctx, part)
	if !ok {
		plans.Lacking()
		return c.UI.Fail()
	}
	saved.Plan.AddLacking(ws.Snapshot())
	now, was := ws.Snapshot(), saved.Plan.Previous
	if ws.Shared() && was != nil && was.Lineage == now.Lineage && was.Serial <= now.Serial {
		now = was // file.Stale must not compare the whole state, because claim later compares only the parts that the plan uses
	}
	if d := file.Stale(saved.Plan, now, workdir.Workspaces(c).Selected(), s.Locked.Place); d != nil {
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
		c.Bag.Add(diag.Errorf("Saved plan is stale", "The plan was made from a part of the state that can no longer be read separately: a killed run has left a journal, or the state is no longer in rows. Make a new plan."))
		return c.UI.Fail()
	}
	o := &execution{c: c, s: s, f: &f.planFlags, ws: ws, values: values{found: ws.Earlier()}}
	return o.carryOut(ctx, saved.Plan, f)
}

// ephemeralAgain checks that the ephemeral variables in planned, which had values when the plan was made, and no others
// have values now. It asks for missing values. The values may differ, because the plan does not depend on them. It
// returns false after an error.
func ephemeralAgain(s *session.Session, planned []string) bool {
	c, vars := s.Dir.Call, s.Loader.Vars
	ok := true
	for _, name := range vars.GivenEphemeral() {
		if !slices.Contains(planned, name) {
			c.Bag.Add(diag.Errorf("Ephemeral variable was not set during planning", "The ephemeral variable %q has a value now (from %s), but had none when the plan was made. Remove the value, or make a new plan with it.", name, vars.Given[name].From).At(vars.Declared(name).Range))
			ok = false
		}
	}
	for _, name := range planned {
		v := vars.Declared(name)
		if _, given := vars.Given[name]; given || v == nil {
			continue
		}
		if ok && s.Dir.MayAsk() && vars.Ask(v) {
			continue
		}
		if !c.Interrupted() {
			c.Bag.Add(diag.Errorf("No value for required variable", "The ephemeral variable %q was set when the plan was made, and plans do not store ephemeral values. Set it again with -var, -var-file, TF_VAR_%s or a variables file. The value may differ.", name, name).At(v.Range))
		}
		ok = false
	}
	return ok
}
