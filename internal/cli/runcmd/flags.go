package runcmd

import (
	"fmt"
	"strconv"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// planFlags are the flags of everything that plans.
type planFlags struct {
	project.Options
	destroy         bool
	refresh         bool
	refreshOnly     bool
	targets         base.List
	excludes        base.List
	targetFiles     base.List
	excludeFiles    base.List
	replace         base.List
	deferEphemerals *bool // nil: as the CLI configuration says
	changed         *bool // nil: as refresh and the backend have it
	out             string
	detailed        bool
	generate        string
}

func (o *planFlags) define(c *base.Call) {
	f := c.Flags
	f.BoolVar(&o.destroy, "destroy", false, "Plan to destroy everything.")
	f.BoolVar(&o.refresh, "refresh", true, "Look at the real objects first.")
	f.BoolVar(&o.refreshOnly, "refresh-only", false, "Only bring the state up to date with the real objects.")
	f.Var(&o.targets, "target", "Plan only for this `address` and what it needs. May be given many times.")
	f.Var(&o.excludes, "exclude", "Plan for everything but this `address` and what needs it. May be given many times.")
	f.Var(&o.targetFiles, "target-file", "Read -target addresses from the `file`, one on a line.")
	f.Var(&o.excludeFiles, "exclude-file", "Read -exclude addresses from the `file`, one on a line.")
	f.Var(&o.replace, "replace", "Replace the object at this `address`. May be given many times.")
	f.BoolFunc("defer-ephemerals", "Do not open, while planning, leases that only write-only arguments receive.", func(s string) error {
		defers, err := strconv.ParseBool(s)
		o.deferEphemerals = &defers
		return err
	})
	o.defineChanged(c)
	o.OperationFlags(c)
}

// request is the planning request that the flags ask for.
func (f *planFlags) request(p *project.Project, s *state.Snapshot) (engine.Request, bool) {
	req, ok := p.PlanRequest(s)
	if !ok {
		return req, false
	}
	req.Refresh, req.Generate = f.refresh, f.generate != ""
	if f.deferEphemerals != nil {
		req.DeferEphemerals = *f.deferEphemerals
	}
	var ok1, ok2, ok3 bool
	req.Targets, ok1 = project.Addresses(p.Call, "target", f.targets, f.targetFiles)
	req.Excludes, ok2 = project.Addresses(p.Call, "exclude", f.excludes, f.excludeFiles)
	req.Replace, ok3 = f.replaced(p.Bag)
	switch {
	case f.destroy && f.refreshOnly:
		p.Bag.Add(diag.Errorf("Incompatible plan mode options", "The -destroy and -refresh-only options are mutually-exclusive: a plan either destroys or only refreshes."))
		return req, false
	case len(f.replace) > 0 && (f.destroy || f.refreshOnly):
		p.Bag.Add(diag.Errorf("Unsupported plan mode", "Forcing resource instance replacement (with -replace=...) is allowed only in normal planning mode, not together with -destroy or -refresh-only."))
		return req, false
	case f.refreshOnly && !f.refresh:
		p.Bag.Add(diag.Errorf("Incompatible refresh options", "It doesn't make sense to use -refresh-only at the same time as -refresh=false, because Lethe would have nothing to do."))
		return req, false
	case f.destroy:
		req.Mode = plan.Destroy
	case f.refreshOnly:
		req.Mode = plan.RefreshOnly
	}
	return req, ok1 && ok2 && ok3
}

// replaced reads the addresses of -replace.
func (f *planFlags) replaced(bag *diag.Bag) ([]addr.Instance, bool) {
	ok := true
	var out []addr.Instance
	for _, s := range f.replace {
		i, err := addr.ParseInstance(s)
		if err != nil {
			bag.Add(diag.Errorf(fmt.Sprintf("Invalid force-replace address %q", s), "%s.", err))
			ok = false
		}
		out = append(out, i)
	}
	return out, ok
}

// defineChanged makes the flag -changed, which is what counts if nothing is said and nothing is to be refreshed.
func (f *planFlags) defineChanged(c *base.Call) {
	c.Flags.BoolFunc("changed", "Plan only for what changed since it was applied. The default with -refresh=false, where the state is in rows.", func(s string) error {
		changed, err := strconv.ParseBool(s)
		f.changed = &changed
		return err
	})
}

// selects reports whether the flags say themselves what a plan is about.
func (f *planFlags) selects() bool {
	return f.destroy || f.refreshOnly || len(f.targets)+len(f.excludes)+len(f.targetFiles)+len(f.excludeFiles) > 0
}

// mayPlanChanged refuses -changed together with what contradicts it.
func (f *planFlags) mayPlanChanged(bag *diag.Bag) bool {
	if f.changed == nil || !*f.changed || !f.selects() && f.generate == "" {
		return true
	}
	bag.Add(diag.Errorf("Invalid combination of arguments", "-changed finds out by itself what to work on: it cannot be used together with -target, -exclude, -destroy, -refresh-only or -generate-config-out."))
	return false
}

// wantsChanged reports whether a plan is to be of what changed alone, if the store allows.
func (f *planFlags) wantsChanged() bool {
	if f.selects() || f.generate != "" {
		return false
	}
	if f.changed == nil {
		return !f.refresh
	}
	return *f.changed
}

// onlyTargets gives the targets of a plan that is of nothing else, and destroys or replaces nothing besides.
func (f *planFlags) onlyTargets() ([]addr.Target, bool) {
	if f.destroy || f.refreshOnly || f.generate != "" || len(f.targets) == 0 || len(f.excludes)+len(f.targetFiles)+len(f.excludeFiles)+len(f.replace) > 0 {
		return nil, false
	}
	var out []addr.Target
	for _, text := range f.targets {
		t, err := addr.ParseTarget(text)
		if err != nil {
			return nil, false // which is reported where the plan is asked for
		}
		out = append(out, t)
	}
	return out, true
}
