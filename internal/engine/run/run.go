package run

import (
	"context"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/ordering"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Run is one walk: planning, applying, validating. What happens inside a check block is done with a copy
// that has a bag of its own (see With); all copies are of the same walk.
type Run struct {
	Settings  *Settings
	Bag       *diag.Bag
	Program   *program.Program
	Frame     *frame.Frame
	Receivers *receivers.Analysis
	Removals  *declared.Removals
	Objects   *object.Walk
	Sessions  *Sessions
	Leases    *leases.Leases
	Checks    *Checks
	Results   *Results

	Looks    bool // nothing is decided: conditions are for information
	Destroys bool // nothing will be there: everything is served by what is

	handover *Handover
	ctx      context.Context // ends when nothing new is to be started, and what runs is to be given up
	over     func() bool     // nothing is to be given up any more
	ledger   *lease.Ledger
	InFlight *Calls
	types    *types
	tokens   *walk.Tokens
	Cut      *atomic.Bool // an interrupt kept something from being done
}

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
		Now: s.Now, Sink: s.Sink, CloseTimeout: s.CloseTimeout, Parallelism: s.Tokens(), Abandon: s.Abandon, Leave: s.Leave,
		Panicked: func(value any, stack []byte) { r.Panicked(0, value, stack) },
	})
	shown := &testProviderValues{}
	r.Objects = &object.Walk{Sink: s.Sink, Secrets: s.Secrets, Token: r.token, Closed: s.Closed}
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
		shown: shown, destroys: req.Destroy, before: req.Before, open: map[sessionKey]*Session{},
	}
	if !req.Options.Validate {
		h.now.Store(r)
		if s.Secrets != nil {
			s.Secrets.Elsewhere((&plainStrings{run: r, known: map[string]bool{}}).holds)
		}
	} else {
		h.now.CompareAndSwap(nil, r) // a part of a plan may be validated: the plan's run goes on
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

// With is the same walk with another bag.
func (r *Run) With(bag *diag.Bag) *Run {
	twin := *r
	twin.Bag = bag
	return &twin
}

// Scoped runs f with a run whose errors are warnings, for what stands in a check block. It gives what
// was reported, as it was.
func (r *Run) Scoped(f func(*Run)) []diag.Diagnostic {
	return r.Bag.Lenient(func(bag *diag.Bag) { f(r.With(bag)) })
}

// Receive makes sure that the ephemeral resources whose values reach an instance of a declaration are
// open, or known not to be.
func (r *Run) Receive(ctx context.Context, d program.Decl, at addr.ModuleInstance, own addr.Key) {
	r.Leases.Receive(ctx, r.Bag, d, at, own, frame.After)
}

// Source is what the order of a plan's steps is made from.
func (r *Run) Source(p *plan.Plan) ordering.Source {
	return ordering.Source{Program: r.Program, Frame: r.Frame, Receivers: r.Receivers, Removals: r.Removals, Plan: p}
}

// token runs a call that may touch an API, as soon as one of the tokens is free; not once the run
// was asked to end.
func (r *Run) token(_ context.Context, call func()) bool {
	if r.tokens.Do(r.ctx, call) == nil {
		return true
	}
	r.Cut.Store(true)
	return false
}

// WalkGraph runs a graph until the run is asked to end. What fails after that was asked to give up.
func (r *Run) WalkGraph(ctx context.Context, g *walk.Graph, o walk.RunOptions) walk.Result {
	o.Inside, o.Panicked = r.Settings.Abandon, r.Panicked
	visit := o.Visit
	o.Visit = func(ctx context.Context, n walk.Node, f *walk.Fan) bool {
		ok := visit(ctx, n, f)
		if !ok && r.ctx.Err() != nil {
			r.Cut.Store(true)
		}
		return ok
	}
	result := g.Run(ctx, o)
	if result.Cut {
		r.Cut.Store(true)
	}
	return result
}

// Panicked turns a panic of ours into a diagnostic: the rest of the run goes on.
func (r *Run) Panicked(n walk.Node, value any, stack []byte) {
	r.Bag.Add(diag.Errorf("Internal error", "This is a bug in Lethe: %v\n\n%s", value, stack))
}
