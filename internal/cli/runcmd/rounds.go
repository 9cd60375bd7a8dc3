package runcmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/engine/rounds"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/view"
)

// applyRounds is an apply in rounds (ADR 52). A round makes a plan of the changes that can be decided, and applies it.
// The next round plans the rest, from the new state. If all instances of the configuration are known, one round is
// sufficient. The state stays locked until the last round has ended, even while the user reads a question.
type applyRounds struct {
	*execution
	f        *applyFlags
	number   int              // the number of the current round; the first is 1
	approval *rounds.Approval // the changes that the user approved in the first round, and in later questions
	unknown  []string         // names of the outputs that are unknown after the last round
}

// run applies rounds until no change is left, an error occurs, or the user has to approve the rest in another command.
// It returns the exit code.
func (r *applyRounds) run(ctx context.Context) int {
	r.s.Engine.Rounds = &engine.Rounds{}
	for {
		r.number++
		result, code := r.planned(ctx)
		if result == nil {
			return code
		}
		if !r.save(ctx, result) {
			return r.fail()
		}
		if len(result.Plan.Deferred) == 0 || r.f.rounds == roundsOne {
			return r.last(ctx, result.Plan)
		}
		if !r.apply(ctx, result) {
			return r.fail()
		}
	}
}

// planned makes the plan of a round, shows it and asks for approval, if the round needs one. If the plan must not be
// applied, planned returns nil and the exit code of the command.
func (r *applyRounds) planned(ctx context.Context) (*engine.Result, int) {
	result, ok := r.planUnseen(ctx, r.number == 1 && !r.f.autoApprove)
	if result == nil {
		return nil, r.fail()
	}
	pl := result.Plan
	if r.number > 1 || len(pl.Deferred) > 0 {
		r.c.UI.Send(event.Round{Number: r.number, Left: len(pl.Deferred)})
	}
	if r.number == 1 || !ok || pl.Applyable() {
		r.showPlan(pl, view.PlanOptions{Applying: true})
	}
	if !ok || pl.Applyable() && r.c.Interrupted() {
		return nil, r.fail()
	}
	if r.number > 1 {
		if code, ok := r.approveLater(pl); !ok {
			return nil, code
		}
		return result, 0
	}
	if pl.Applyable() && !r.f.autoApprove && !approve(r.c, pl, r.f.rounds) {
		return nil, r.fail()
	}
	r.approval = rounds.Approve(pl, r.f.maxNew)
	return result, 0
}

// save writes the plan of a round to the file of -out, before the round is applied. If the file cannot be written, save
// reports an error and returns false. Without -out, save does nothing and returns true.
func (r *applyRounds) save(ctx context.Context, result *engine.Result) bool {
	to := r.f.out
	if to == "" {
		return true
	}
	if r.number > 1 {
		to = fmt.Sprintf("%s.%d", to, r.number)
	}
	return r.savePlan(ctx, result, to)
}

// approveLater reports whether a later round may be applied: either the first approval covers its plan, or the user
// approves the plan now. If not, approveLater returns false and the exit code of the command.
func (r *applyRounds) approveLater(pl *plan.Plan) (code int, ok bool) {
	more := r.approval.Uncovered(pl)
	switch {
	case r.f.rounds == roundsAll || !pl.Applyable():
		return 0, true
	case r.f.rounds != roundsAsk && len(more) == 0:
		return 0, true
	case r.f.autoApprove || !r.c.UI.MayAsk():
		code := r.closeKept()
		again := "with the same options"
		if len(r.f.replace) > 0 {
			again += " except -replace" // the remaining objects of -replace are tainted in the state, so that the next plan replaces them without the option
		}
		r.left(slices.Concat(undone(pl), pl.Deferred), r.unknown, "The first approval does not cover the changes of this round. To apply them, run \"lethe apply\" again "+again+". In one apply, -rounds-max-new permits more creations, and -rounds=all permits all changes.")
		return r.c.UI.Done(cmp.Or(code, base.ExitChanges)), false
	case !approve(r.c, pl, r.f.rounds):
		return r.fail(), false
	}
	r.approval.Extend(pl)
	return 0, true
}

// undone returns the changes of a plan that is not applied, without the entries for objects that the plan does not
// change.
func undone(pl *plan.Plan) (out []*plan.Change) {
	for _, c := range pl.Changes {
		if c.Action != plan.NoOp || c.Importing != nil {
			out = append(out, c)
		}
	}
	return out
}

// apply applies the plan of a round that is not the last round, and prepares the next round. It adds the counts of the
// round to the counts of the earlier rounds. After an error, which it reports, it returns false.
func (r *applyRounds) apply(ctx context.Context, result *engine.Result) bool {
	pl := result.Plan
	if r.now.IsZero() {
		r.now, r.uuids = r.c.Now(), &frame.UUIDs{}
	}
	settings := r.s.Engine.Settings
	settings.Providers.KeepSessions = true // the next round needs the same providers
	done, ok := r.carryOutPlan(ctx, pl, r.f, r.s.Engine.With(settings))
	if !ok {
		return false
	}
	r.c.UI.Diagnostics(r.c.Bag.List())
	r.c.Bag.Clear()
	r.ended(pl, done.Summary)
	r.add(&done.Summary)
	r.total, r.unknown = done.Summary, done.Unknown
	if !r.ws.EndRound() { // the stored state now has all changes that the journal (the file beside the state) records
		return false
	}
	if r.earlier == nil {
		r.earlier = &engine.Earlier{}
	}
	r.earlier.Add(result)
	return true
}

// last applies the plan of the last round and reports the result of all rounds. It returns the exit code.
func (r *applyRounds) last(ctx context.Context, pl *plan.Plan) int {
	done, ok := r.carryOutPlan(ctx, pl, r.f, r.s.Engine)
	if !ok {
		return r.fail()
	}
	if r.number > 1 || len(pl.Deferred) > 0 {
		r.ended(pl, done.Summary)
	}
	r.add(&done.Summary)
	return r.complete(ctx, pl, done, r.f)
}

// ended sends the event that a round has ended, with the counts of the round, s.
func (r *applyRounds) ended(pl *plan.Plan, s event.Summary) {
	r.c.UI.Send(event.Round{Number: r.number, Ended: true, Left: len(pl.Deferred), Added: s.Added, Changed: s.Changed, Destroyed: s.Destroyed})
}
