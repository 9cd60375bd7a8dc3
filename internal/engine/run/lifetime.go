package run

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
)

// Request has the program of a run, and functions of the walk (the plan or apply) that the run calls.
type Request struct {
	Program *program.Program
	Options frame.Options     // the values of variables, the workspace, and the directories for frames
	Results map[string]string // digests of the results of functions in the plan that is applied
	Kind    Kind

	// Ready returns whether an ephemeral resource may be opened now: Known if it may, Pending if only the apply opens
	// it, Failed if a dependency failed. nil means that each ephemeral resource may be opened.
	Ready func(program.Decl, addr.ModuleInstance) plan.Outcome
	// Later is true if a later round (a further plan and apply of the command) decides about some declarations, so that
	// their values are unknown.
	Later bool
	// Keep reports whether a later round needs an instance of an ephemeral resource, so that it stays open after this
	// walk. nil means that the walk makes a plan.
	Keep func(program.Decl, addr.Key) bool
	// Before prepares the evaluation of a declaration with prior values (the before face): it sets the prior values to
	// which the declaration refers. nil means that no declaration needs this.
	Before func(context.Context, program.Decl)
}

// New prepares a walk. The end of ctx is the user's interrupt: the walk starts no new work after it. New returns false
// if the values of the program (the frame) cannot be evaluated, for example because a root variable is invalid. The
// errors are in bag.
func New(ctx context.Context, env Env, req Request, bag *diag.Bag) (*Run, bool) {
	s, h := env.Settings, env.Handover
	r := &Run{
		Settings: s, Kind: req.Kind, Bag: bag, Program: req.Program,
		Receivers: receivers.Analyse(req.Program, s.Providers.Echoes), Removals: declared.NewRemovals(req.Program.Tree().Root),
		Budget: newBudget(s.Tokens(), ctx), InFlight: &Calls{}, Types: newTypes(s.Pool, req.Program),
		Results: &Results{planned: req.Results, seen: map[string]string{}},
	}
	ledger := s.Rounds.ledgerOf(req.Keep != nil, lease.Options{
		Now: s.Now, Sink: s.Sink, CloseTimeout: s.Timeouts.Close, RenewTimeout: s.Timeouts.Renew, Parallelism: s.Tokens(), Abandon: s.Shutdown.Abandon, Leave: s.Shutdown.Leave,
		Again: func(ctx context.Context, crashed provider.Provider) provider.Provider {
			return r.Sessions.Again(ctx, crashed)
		},
		Panicked: func(value any, stack []byte) { r.Panicked(0, value, stack) },
	})
	echoed := &echoedSettings{}
	r.Objects = &object.Walk{
		Sink: s.Sink, Token: r.Budget.Call, Guard: &guard.Guard{Secrets: s.Secrets, Closed: s.Closed}, Unanswered: s.Unanswered,
		Retries: s.Providers.Retries, Pause: r.Budget.Pause, Times: s.Times,
	}
	if s.Providers.Echoes != nil {
		r.Objects.Guard.Echoes = echoed.contain
	}
	r.Leases = leases.New(leases.Options{
		Program: r.Program, Receivers: r.Receivers, Ledger: ledger, Journal: s.Leases, All: bag,
		Opener: func(bag *diag.Bag) leases.Opener { return opensLeases{r.With(bag)} },
		Ready:  req.Ready, Later: req.Later, Kept: s.Rounds.kept(), Keep: req.Keep, InFlight: r.InFlight.Set, Send: s.Send,
	})
	r.Conditions = &Conditions{Checks: newChecks(s.Secrets), kind: req.Kind, program: r.Program, receivers: r.Receivers, leases: r.Leases}
	r.Sessions = &Sessions{
		settings: s, handover: h, prog: r.Program, receivers: r.Receivers, leases: r.Leases, ledger: ledger, objs: r.Objects,
		echoed: echoed, kind: req.Kind, before: req.Before, defers: req.Options.Defers || req.Later, open: map[sessionKey]*Session{}, holds: map[sessionKey]int{}, again: map[provider.Provider]*substitute{},
	}
	r.Sessions.freed.L = &r.Sessions.mu
	h.begin(&inProgress{r.InFlight, ledger, s.Rounds}, req.Options.Validate)
	r.done = context.AfterFunc(ctx, r.Sessions.askToStop)
	return r, r.evaluate(ctx, h, req.Options)
}

// evaluate creates the frame of the walk, which has the values of all declarations, and passes it to the parts of the
// run that evaluate values. It returns false if the frame cannot be created.
func (r *Run) evaluate(ctx context.Context, h *Handover, o frame.Options) bool {
	s := r.Settings
	inside := &evaluated{caller: caller{ctx: ctx, settings: s, handover: h, bag: r.Bag}, results: r.Results}
	plain := &plainStrings{program: r.Program, known: map[string]bool{}}
	guarded := s.Secrets != nil && !o.Validate
	if guarded {
		inside.guard = &registrar{s.Secrets, r.Objects}
		s.Secrets.Elsewhere(plain.holds)
	}
	o.Steady, o.Run = r.Receivers.Steady, inside
	f, ok := frame.New(r.Program, o, r.Bag)
	if !ok {
		return false
	}
	r.Frame, r.Conditions.frame, r.Sessions.frame, plain.frame = f, f, f, f
	if !o.Validate {
		inside.sessions = r.Sessions
	}
	r.Leases.Fill(f)
	if guarded {
		evaluateEphemeral(r.Program, f)
	}
	return true
}

// End closes the ephemeral resources that are still open at the end of the walk, except the ephemeral resources that a
// later round needs. The caller calls it once.
func (r *Run) End() {
	r.Leases.End()
	r.done()
}
