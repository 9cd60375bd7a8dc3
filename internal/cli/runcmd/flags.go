package runcmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/reviewed"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// planFlags are the flags of the commands that make a plan.
type planFlags struct {
	workdir.Options
	destroy         bool
	refresh         bool
	refreshOnly     bool
	targets         base.List
	excludes        base.List
	targetFiles     base.List
	excludeFiles    base.List
	replace         base.List
	allowDestroy    base.List
	deferEphemerals *bool              // nil: the setting of the CLI configuration
	changed         *bool              // nil: -changed is not set; then -refresh=false implies it, if the backend stores the state in rows
	out             string             // the file of -out; "" without it
	detailed        bool               // -detailed-exitcode
	generate        string             // the file of -generate-config-out; "" without it
	page            reviewed.PageFlags // -html
	invoke          base.List
	rounds          string // -rounds; empty: as many rounds as the first approval covers
}

func (o *planFlags) define(c *base.Call) {
	f := c.Flags
	f.BoolVar(&o.destroy, "destroy", false, "Plan to destroy everything.")
	f.BoolVar(&o.refresh, "refresh", true, "Read the real objects before planning.")
	f.BoolVar(&o.refreshOnly, "refresh-only", false, "Only update the state to match the real objects.")
	f.Var(&o.targets, "target", "Plan only for this `address` and its dependencies. May be given many times.")
	f.Var(&o.excludes, "exclude", "Plan for everything except this `address` and its dependents. A destroy plan keeps its dependencies instead. Not with -target. May be given many times.")
	f.Var(&o.targetFiles, "target-file", "Read -target addresses from the `file`, one per line. Lines that begin with # are comments.")
	f.Var(&o.excludeFiles, "exclude-file", "Read -exclude addresses from the `file`, one per line. Lines that begin with # are comments.")
	f.Var(&o.replace, "replace", "Plan to replace the object at this `address`. May be given many times.")
	f.Var(&o.allowDestroy, "allow-destroy", "Destroy the object or the objects in the module at this `address` in this run, although prevent_destroy protects them. May be given many times.")
	f.BoolFunc("defer-ephemerals", "While planning, do not open leases that only write-only arguments use.", func(s string) error {
		defers, err := strconv.ParseBool(s)
		o.deferEphemerals = &defers
		return err
	})
	o.defineChanged(c)
	c.FoldFlag()
	o.OperationFlags(c)
}

// defineInvoke registers the flag -invoke.
func (o *planFlags) defineInvoke(c *base.Call) {
	c.Flags.Var(&o.invoke, "invoke", "Plan only to invoke the action at this `address`, or all its instances. No object changes.")
}

// invoked sets the action of -invoke in a request. If the address of -invoke is invalid or other options contradict
// -invoke, it reports an error and returns false. Without -invoke, it returns true.
func (f *planFlags) invoked(c *base.Call, req *engine.Request) bool {
	to, ok := workdir.Addresses(c, "invoke", f.invoke, nil)
	if !ok || len(to) == 0 {
		return ok
	}
	fail := func(title, format string, a ...any) bool {
		c.Bag.Add(diag.Errorf(title, format, a...))
		return false
	}
	switch {
	case len(to) > 1:
		return fail("Invalid combination of arguments", "The option -invoke can be given once. To invoke several actions, run the command for each of them.")
	case to[0].Mode != addr.Action:
		return fail("Invalid action address", "%q is not the address of an action, such as action.aws_lambda_invoke.example.", f.invoke[0])
	case f.destroy || f.refreshOnly:
		return fail("Incompatible plan mode options", "The option -invoke plans one action and no change of objects. Remove -destroy and -refresh-only.")
	case len(f.replace)+len(f.allowDestroy)+len(f.excludes)+len(f.excludeFiles) > 0 || f.generate != "":
		return fail("Invalid combination of arguments", "The option -invoke plans one action and no change of objects. Remove -replace, -allow-destroy, -exclude, -exclude-file and -generate-config-out.")
	}
	req.Targets, req.Origin, req.Mode, req.Rounds = append(to, req.Targets...), targeting.Action, plan.RefreshOnly, false
	return true
}

// The values of -rounds. A round is one plan and its apply; an apply may have several.
const (
	roundsOff = "off"
	roundsOne = "1"
	roundsAsk = "ask"
	roundsAll = "all"
)

// defineRounds registers the flag -rounds.
func (o *planFlags) defineRounds(c *base.Call) {
	c.Flags.Func("rounds", "What to do if count or for_each depend on objects that do not exist yet: `MODE` off is an error, 1 applies one round, ask asks before each round, all approves all rounds. By default, the first approval covers the creations that the plan lists as decided later.", func(s string) error {
		if o.rounds = s; !slices.Contains([]string{roundsOff, roundsOne, roundsAsk, roundsAll}, s) {
			return errors.New("the values are off, 1, ask and all")
		}
		return nil
	})
}

// request returns the plan request for the flags and the prior state. If a flag is invalid, it reports errors and
// returns false.
func (f *planFlags) request(s *session.Session, prior *state.Snapshot) (engine.Request, bool) {
	req, ok := s.PlanRequest(prior)
	if !ok {
		return req, false
	}
	req.Refresh, req.Rounds = f.refresh, f.rounds != roundsOff
	if f.deferEphemerals != nil {
		req.DeferEphemerals = *f.deferEphemerals
	}
	var ok1, ok2, ok3, ok4 bool
	req.AllowDestroy, ok4 = workdir.Addresses(s.Dir.Call, "allow-destroy", f.allowDestroy, nil)
	req.Targets, ok1 = workdir.Addresses(s.Dir.Call, "target", f.targets, f.targetFiles)
	req.Excludes, ok2 = workdir.Addresses(s.Dir.Call, "exclude", f.excludes, f.excludeFiles)
	req.Replace, ok3 = f.replaced(&s.Dir.Call.Bag)
	switch {
	case f.destroy && f.refreshOnly:
		s.Dir.Call.Bag.Add(diag.Errorf("Incompatible plan mode options", "The -destroy and -refresh-only options are mutually-exclusive: a plan either destroys or only refreshes."))
		return req, false
	case len(f.replace) > 0 && (f.destroy || f.refreshOnly):
		s.Dir.Call.Bag.Add(diag.Errorf("Unsupported plan mode", "Forcing resource instance replacement (with -replace=...) is allowed only in normal planning mode, not together with -destroy or -refresh-only."))
		return req, false
	case f.refreshOnly && !f.refresh:
		s.Dir.Call.Bag.Add(diag.Errorf("Incompatible refresh options", "Use -refresh-only or -refresh=false. With both, Lethe would have nothing to do."))
		return req, false
	case f.destroy:
		req.Mode = plan.Destroy
	case f.refreshOnly:
		req.Mode = plan.RefreshOnly
	}
	return req, ok1 && ok2 && ok3 && ok4 && f.invoked(s.Dir.Call, &req)
}

// replaced parses the addresses of -replace. It reports errors and returns false if any is invalid.
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

// defineChanged registers the flag -changed. Without the flag, -refresh=false has the same effect if the backend stores
// the state in rows.
func (f *planFlags) defineChanged(c *base.Call) {
	c.Flags.BoolFunc("changed", "Plan only resources that changed since the last apply. The default with -refresh=false if the state is in rows.", func(s string) error {
		changed, err := strconv.ParseBool(s)
		f.changed = &changed
		return err
	})
}

// selects reports whether other flags than -changed restrict the plan or set its mode.
func (f *planFlags) selects() bool {
	return f.destroy || f.refreshOnly || len(f.invoke)+len(f.targets)+len(f.excludes)+len(f.targetFiles)+len(f.excludeFiles) > 0
}

// mayPlanChanged reports an error and returns false if -changed is combined with flags that contradict it.
func (f *planFlags) mayPlanChanged(bag *diag.Bag) bool {
	if f.changed == nil || !*f.changed || !f.selects() && f.generate == "" {
		return true
	}
	bag.Add(diag.Errorf("Invalid combination of arguments", "The option -changed selects resources itself. Remove it, or remove -target, -exclude, -invoke, -destroy, -refresh-only and -generate-config-out."))
	return false
}

// wantsChanged reports whether the plan is to cover only changed resources, if the store keeps stamps (digests of the
// sources of each resource).
func (f *planFlags) wantsChanged() bool {
	if f.selects() || f.generate != "" {
		return false
	}
	if f.changed == nil {
		return !f.refresh
	}
	return *f.changed
}

// onlyTargets returns the targets of -target, if no other flag restricts the plan or sets its mode. It returns false if
// another flag does, if there are no targets, or if a target is invalid.
func (f *planFlags) onlyTargets() ([]addr.Target, bool) {
	if f.destroy || f.refreshOnly || len(f.invoke) > 0 || f.generate != "" || len(f.targets) == 0 || len(f.excludes)+len(f.targetFiles)+len(f.excludeFiles)+len(f.replace) > 0 {
		return nil, false
	}
	var out []addr.Target
	for _, text := range f.targets {
		t, err := addr.ParseTarget(text)
		if err != nil {
			return nil, false // the request for the plan reports this error
		}
		out = append(out, t)
	}
	return out, true
}

// hintRounds adds the advice to remove -rounds=off to errors about count and for_each that depend on unknown values. It
// changes nothing if -rounds has another value.
func (f *planFlags) hintRounds(bag *diag.Bag) {
	if f.rounds != roundsOff || !bag.HasErrors() {
		return
	}
	list := bag.List()
	bag.Clear()
	for _, d := range list {
		if strings.HasPrefix(d.Summary, "Invalid ") && strings.HasSuffix(d.Summary, " argument") && strings.Contains(d.Detail, "known only after apply") {
			d.Detail += "\n\nWithout -rounds=off, \"lethe apply\" applies what is known and plans the rest after that."
		}
		bag.Add(d)
	}
}
