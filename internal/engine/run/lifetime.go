package run

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Request says what to run, and what a run asks of the walk that it is for.
type Request struct {
	Program *program.Program
	Options frame.Options     // variables, workspace, directories
	Results map[string]string // digests of what functions gave when the plan was made
	Looks   bool              // nothing is decided: conditions are for information
	Destroy bool              // nothing will be there

	// Ready says whether an ephemeral resource may be opened; nil: this walk opens all that it needs.
	Ready func(program.Decl, addr.ModuleInstance) leases.Readiness
	// Before makes sure that a declaration can be evaluated on the before face; nil: all can.
	Before func(context.Context, program.Decl)
}

// New begins a walk. It reports false if the frame could not be made.
func New(ctx context.Context, env Env, req Request, bag *diag.Bag) (*Run, bool) {
	s, h := env.Settings, env.Handover
	r := &Run{
		Settings: s, handover: h, Bag: bag, ctx: ctx, Program: req.Program, Looks: req.Looks, Destroys: req.Destroy,
		Receivers: receivers.Analyse(req.Program, s.Tested), Removals: declared.NewRemovals(req.Program.Tree().Root),
		Checks: newChecks(s.Secrets), Results: &Results{planned: req.Results, seen: map[string]string{}},
		InFlight: &Calls{}, types: &types{of: map[typeKey]*object.Type{}}, tokens: walk.NewTokens(s.Tokens()), Cut: &atomic.Bool{},
	}
	r.ledger = lease.NewLedger(lease.Options{
		Now: s.Now, Sink: s.Sink, CloseTimeout: s.CloseTimeout, RenewTimeout: s.RenewTimeout, Parallelism: s.Tokens(), Abandon: s.Abandon, Leave: s.Leave,
		Again: func(ctx context.Context, crashed provider.Provider) provider.Provider {
			return r.Sessions.Again(ctx, crashed)
		},
		Panicked: func(value any, stack []byte) { r.Panicked(0, value, stack) },
	})
	shown := &testProviderValues{}
	r.Objects = &object.Walk{Sink: s.Sink, Secrets: s.Secrets, Token: r.token, Closed: s.Closed, Fleeting: s.Doubles != nil}
	if s.Tested != nil {
		r.Objects.Shows = shown.holds
	}
	r.Leases = leases.New(leases.Options{
		Program: r.Program, Receivers: r.Receivers, Ledger: r.ledger, Journal: s.Leases, All: bag,
		Opener: func(bag *diag.Bag) leases.Opener { return opensLeases{r.With(bag)} },
		Ready:  req.Ready, InFlight: r.InFlight.Set, Tell: s.Tell,
	})
	r.Sessions = &Sessions{
		settings: s, handover: h, prog: r.Program, receivers: r.Receivers, leases: r.Leases, ledger: r.ledger, objs: r.Objects,
		shown: shown, destroys: req.Destroy, before: req.Before, open: map[sessionKey]*Session{}, again: map[provider.Provider]*substitute{},
	}
	if !req.Options.Validate {
		h.now.Store(&underWay{r.InFlight, r.ledger})
		if s.Secrets != nil {
			s.Secrets.Elsewhere((&plainStrings{run: r, known: map[string]bool{}}).holds)
		}
	} else {
		h.now.CompareAndSwap(nil, &underWay{r.InFlight, r.ledger}) // a part of a plan may be validated: the plan's run goes on
	}
	r.over = context.AfterFunc(ctx, r.stopProviders)
	o := req.Options
	guards := s.Secrets != nil && !o.Validate
	o.Steady, o.Run = r.Receivers.Steady, &evaluated{caller{ctx: ctx, run: r, validating: o.Validate}, guards}
	frame, ok := frame.New(r.Program, o, bag)
	if !ok {
		return r, false
	}
	r.Frame, r.Sessions.frame = frame, frame
	r.Leases.Fill(frame)
	if guards {
		r.guardVariables()
	}
	return r, true
}

// End closes what is still open at the end of a walk.
func (r *Run) End() {
	r.Leases.End()
	r.over()
}

// stopProviders asks the processes of a walk to give up what they are doing, as Terraform and OpenTofu
// do. It is about the calls that are under way, and closing a lease must not be one of them.
func (r *Run) stopProviders() {
	for _, p := range r.Sessions.processes() {
		go r.ledger.Between(p, func() {
			ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(r.Settings.StopTimeout, stopTime))
			defer cancel()
			_ = p.Stop(ctx)
		})
	}
}

// stopTime is how long a provider may take to say that it will stop, if nothing else is set.
const stopTime = time.Second
