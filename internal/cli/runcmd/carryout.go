package runcmd

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// applyFlags are the flags of the commands that apply a plan.
type applyFlags struct {
	planFlags
	autoApprove  bool
	mayForget    bool // -suppress-forget-errors
	foreign      bool // -foreign-plan
	createsAgain bool // -unknown=create
	maxNew       int  // -rounds-max-new
}

func (f *applyFlags) define(c *base.Call) {
	f.planFlags.define(c)
	f.defineRounds(c)
	c.Flags.StringVar(&f.out, "out", "", "Write the plan of the first round to this `file`, the plan of the second round to FILE.2, and so on, before each is applied.")
	c.Flags.IntVar(&f.maxNew, "rounds-max-new", 100, "The `number` of objects that later rounds may create without another question.")
	c.Flags.BoolVar(&f.autoApprove, "auto-approve", false, "Skip interactive approval of plan before applying. Changes of later rounds stay limited, unless -rounds=all is set.")
	c.Flags.BoolVar(&f.mayForget, "suppress-forget-errors", false, "Exit with 0 if a destroy forgot objects instead of destroying them.")
}

// claim locks the parts of the state that a plan uses, such as the rows of its resources, if other runs may use other
// parts at the same time. If the lock covers the whole state, claim returns nil and true. If another run has changed
// these parts since the plan was made, stale is the error, which is not reported yet, and ok is false. Otherwise stale
// is nil, and ok is false if claim reported an error.
func (o *execution) claim(ctx context.Context, pl *plan.Plan) (stale *diag.Diagnostic, ok bool) {
	if !o.ws.Shared() {
		return nil, true
	}
	f := o.s.Engine.Footprint(o.s.Program)
	return o.ws.Claim(ctx, workspace.Claim{Base: pl.Previous, Refreshed: pl.Refreshed, Parts: f.Plan(pl), Of: f.Object})
}

// replans is the maximum number of times that a plan is made again because another run has changed the parts of the
// state that the plan uses.
const replans = 20

// planUnseen plans for a command that applies. approved is true if the user must still approve a plan with changes.
// Then planUnseen returns such a plan at once, and carryOutPlan claims (locks) the parts of the state that the plan
// uses. Otherwise planUnseen claims these parts. If another run has changed these parts meanwhile, planUnseen reads the
// state and plans again, at most replans times. After an error, which it reports, it returns false; the result may be
// set nevertheless.
func (o *execution) planUnseen(ctx context.Context, approved bool) (*engine.Result, bool) {
	known := o.c.Bag.List()
	for n := 0; ; n++ {
		result, ok := o.plan(ctx)
		if !ok || approved && result.Plan.Applyable() {
			return result, ok
		}
		stale, ok := o.claim(ctx, result.Plan)
		if stale == nil {
			return result, ok
		}
		if n == replans {
			o.c.Bag.Add(*stale)
			return result, false
		}
		o.c.Bag.Clear()
		o.c.Bag.Add(known...)
		o.c.UI.Line("Other runs have changed the state since it was read for this plan. Planning again.")
		if !o.ws.Reload(ctx) || !o.only.began(o.ws) {
			return nil, false
		}
	}
}

// carryOut applies a plan as the only or last plan of the command, stores the new state and reports the result. It
// returns the exit code.
func (o *execution) carryOut(ctx context.Context, pl *plan.Plan, f *applyFlags) int {
	done, ok := o.carryOutPlan(ctx, pl, f, o.s.Engine)
	if !ok {
		return o.fail()
	}
	return o.complete(ctx, pl, done, f)
}

// fail ends a command that applies rounds (plans, one after another): it closes the leases (opened ephemeral resources)
// that rounds have kept open, and reports the errors. It returns the exit code.
func (o *execution) fail() int {
	o.s.Engine.EndRounds(&o.c.Bag)
	return o.c.UI.Fail()
}

// closeKept closes the leases that rounds have kept open. It returns the exit code so far: 1 if the command has errors,
// such as a lease that stays open, and 0 otherwise.
func (o *execution) closeKept() int {
	o.s.Engine.EndRounds(&o.c.Bag)
	if o.c.Bag.HasErrors() {
		return base.ExitError
	}
	return base.ExitOK
}

// carryOutPlan applies a plan and stores the new state, also after an apply that failed. The parameter by is the engine
// for the apply. If anything fails, it reports errors and returns false. The returned Applied is nil if the apply did
// not start.
func (o *execution) carryOutPlan(ctx context.Context, pl *plan.Plan, f *applyFlags, by *engine.Engine) (*engine.Applied, bool) {
	if !f.createsAgain && !o.mayCreate(pl) {
		return nil, false
	}
	if stale, ok := o.claim(ctx, pl); !ok {
		if stale != nil {
			o.c.Bag.Add(*stale)
		}
		return nil, false
	}
	if !o.noteValues(pl) {
		return nil, false
	}
	journal, ok := o.ws.Record()
	if !ok {
		return nil, false
	}
	options := o.s.FrameOptions()
	options.Now, options.UUIDs = o.now, o.uuids
	done, ok := by.Apply(ctx, engine.ApplyRequest{Program: o.s.Program, Options: options, Plan: pl, Journal: journal}, &o.c.Bag)
	if done.Interrupted {
		o.c.Interrupted()
	}
	if ok {
		settle(o.s, o.ws, pl, done.Snapshot)
		o.applied(pl)
	}
	o.ws.Override(overridden(pl, done.Snapshot))
	written := o.c.Times.Phase("write the state")
	saved := o.ws.SaveApplied(done.Snapshot)
	written()
	for _, ch := range pl.Changes {
		if ch.Importing != nil && done.Snapshot != nil && done.Snapshot.Get(ch.Object) != nil {
			imported(o.ws, ch.Object.Instance)
		}
	}
	if done.Summary.Operation == "destroy" && o.c.Command.Name != "destroy" {
		done.Summary.Operation = "apply" // like Terraform and OpenTofu: the name of the command, also for apply -destroy
	}
	if !ok && !o.refreshes() {
		o.add(&done.Summary)
		o.c.UI.Send(done.Summary)
	}
	return done, saved && ok
}

// add adds the counts of the earlier rounds to the summary of a round.
func (o *execution) add(s *event.Summary) {
	s.Added, s.Changed, s.Destroyed = s.Added+o.total.Added, s.Changed+o.total.Changed, s.Destroyed+o.total.Destroyed
	s.Imported, s.Forgotten, s.Invoked = s.Imported+o.total.Imported, s.Forgotten+o.total.Forgotten, s.Invoked+o.total.Invoked
}

// overridden returns the addresses of the objects that an apply has destroyed although prevent_destroy protects them
// (-allow-destroy). The parameter after is the state after the apply.
func overridden(pl *plan.Plan, after *state.Snapshot) []string {
	var out []string
	for _, c := range pl.Changes {
		if c.Overrides() && (after.Get(c.Object) == nil || c.Action.Replaces()) {
			out = append(out, c.Object.Instance.String())
		}
	}
	return out
}

// refreshes reports whether the command is refresh. For this command, Terraform and OpenTofu print only the outputs.
func (o *execution) refreshes() bool { return o.c.Command.Name == "refresh" }

// complete reports the result of an apply, and ends the command. It returns the exit code: 1 if there are errors, 2 if
// changes are left for another command, and 0 otherwise.
func (o *execution) complete(ctx context.Context, pl *plan.Plan, done *engine.Applied, f *applyFlags) int {
	code := o.closeKept()
	if !o.refreshes() {
		partial(pl, &o.c.Bag)
	}
	o.c.UI.Diagnostics(o.c.Bag.List())
	o.c.Bag.Clear()
	if !o.refreshes() {
		done.Summary.Secrets = o.storedSecrets(ctx, pl, done)
		o.c.UI.Send(done.Summary)
	}
	if o.c.Command.Name != "destroy" && done.Snapshot != nil {
		o.c.UI.Outputs(done.Snapshot.Outputs)
	}
	if !f.mayForget {
		forgotten(pl, done.Summary.Forgotten, &o.c.Bag)
	}
	if len(pl.Deferred) > 0 {
		o.left(pl.Deferred, done.Unknown, "To apply them, run \"lethe apply\" again.")
		code = cmp.Or(code, base.ExitChanges)
	}
	return o.c.UI.Done(code)
}

// storedSecrets counts the secrets that the state stores unencrypted before and after an apply, for the summary of
// leases (opened ephemeral resources). It returns nil if the plan has no leases, if only a part of the state was read,
// or if the state is encrypted.
func (o *execution) storedSecrets(ctx context.Context, pl *plan.Plan, done *engine.Applied) *event.Secrets {
	if len(pl.Leases) == 0 || o.ws.Part() != nil || o.ws.Encrypts() {
		return nil
	}
	schemas := func(p addr.Provider) (*provider.Schemas, error) { return o.s.SchemasOf(ctx, p) }
	return &event.Secrets{Before: audit.Stored(pl.Previous, schemas), After: audit.Stored(done.Snapshot, schemas)}
}

// left warns of changes that are left for another command, and of outputs that are unknown because of these changes.
// The parameter then is the advice at the end of the warning.
func (o *execution) left(changes []*plan.Change, outputs []string, then string) {
	var list []string
	for _, c := range changes {
		list = append(list, c.Subject())
	}
	if most := 10; len(list) > most {
		list = append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	if len(outputs) > 0 {
		then = fmt.Sprintf("Outputs that are not known yet keep their values: %s.\n\n%s", diag.Some(outputs), then)
	}
	o.c.Bag.Add(diag.Warningf("Apply is not complete", "These changes are left:\n  %s\n\n%s", strings.Join(list, "\n  "), then))
}

// partial adds a warning that a plan with -target or -exclude may not have applied all changes. It adds no warning for
// a plan without these options, and for a plan with -changed or -invoke.
func partial(pl *plan.Plan, bag *diag.Bag) {
	flag := "target"
	switch {
	case len(pl.Targets)+len(pl.Excludes) == 0 || pl.Changed || pl.Requested():
		return
	case len(pl.Targets) == 0:
		flag = "exclude"
	}
	bag.Add(diag.Warningf("Applied changes may be incomplete", "The plan was created with the -%s option in effect, so some changes requested in the configuration may have been ignored and the output values may not be fully updated. Run the following command to verify that no other changes are pending:\n    lethe plan\n\nNote that the -%s option is not suitable for routine use, and is provided only for exceptional situations such as recovering from errors or mistakes, or when Lethe specifically suggests to use it as part of an error message.", flag, flag))
}

// forgotten reports an error if a destroy plan has forgotten objects instead of destroying them, because users expect
// that destroy leaves no objects. n is the number of forgotten objects.
func forgotten(pl *plan.Plan, n int, bag *diag.Bag) {
	if pl.Mode == plan.Destroy && n > 0 {
		bag.Add(diag.Errorf("Objects were forgotten, not destroyed", "Because the configuration sets destroy = false, %s removed from the state and not destroyed. If this is intended, use -suppress-forget-errors.", diag.Counted(n, "object was", "objects were")))
	}
}
