package engine

import (
	"context"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/ordering"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// run is one walk: planning, applying, validating. What happens inside a check block is done with a copy
// that has a bag of its own (see With); all copies are of the same walk.
type run struct {
	settings  *Settings
	bag       *diag.Bag
	prog      *lang.Program
	frame     *lang.Frame
	receivers *receivers.Analysis
	removals  *declared.Removals
	objs      *object.Walk
	sessions  *sessions
	leases    *leases.Leases
	checks    *checks
	results   *results

	looks    bool // nothing is decided: conditions are for information
	destroys bool // nothing will be there: everything is served by what is

	handover *Handover
	ctx      context.Context // ends when nothing new is to be started, and what runs is to be given up
	over     func() bool     // nothing is to be given up any more
	ledger   *lease.Ledger
	inFlight *inFlight
	types    *types
	tokens   *walk.Tokens
	cut      *atomic.Bool // an interrupt kept something from being done
}

// runRequest says what to run, and what a run asks of the walk that it is for.
type runRequest struct {
	Program *lang.Program
	Options lang.Options      // variables, workspace, directories
	Results map[string]string // digests of what functions gave when the plan was made
	Looks   bool              // nothing is decided: conditions are for information
	Destroy bool              // nothing will be there

	// Ready says whether an ephemeral resource may be opened; nil: this walk opens all that it needs.
	Ready func(lang.Decl, addr.ModuleInstance) leases.Readiness
	// Before makes sure that a declaration can be evaluated on the before face; nil: all can.
	Before func(context.Context, lang.Decl)
}

// newRun begins a walk. It reports false if the frame could not be made.
func newRun(ctx context.Context, env Env, req runRequest, bag *diag.Bag) (*run, bool) {
	s, h := env.Settings, env.Handover
	r := &run{
		settings: s, handover: h, bag: bag, ctx: ctx, prog: req.Program, looks: req.Looks, destroys: req.Destroy,
		receivers: receivers.Analyse(req.Program, s.Tested), removals: declared.NewRemovals(req.Program.Tree().Root),
		checks: newChecks(s.Secrets), results: newResults(req.Results),
		inFlight: &inFlight{}, types: &types{of: map[typeKey]*object.Type{}}, tokens: walk.NewTokens(s.parallelism()), cut: &atomic.Bool{},
	}
	r.ledger = lease.NewLedger(lease.Options{
		Now: s.Now, Sink: s.Sink, CloseTimeout: s.CloseTimeout, Parallelism: s.parallelism(), Abandon: s.Abandon, Leave: s.Leave,
		Panicked: func(value any, stack []byte) { r.panicked(0, value, stack) },
	})
	shown := &testProviderValues{}
	r.objs = &object.Walk{Sink: s.Sink, Secrets: s.Secrets, Token: r.token, Closed: s.Closed}
	if s.Tested != nil {
		r.objs.Shows = shown.holds
	}
	r.leases = leases.New(leases.Options{
		Program: r.prog, Receivers: r.receivers, Ledger: r.ledger, Journal: s.Leases, All: bag,
		Opener: func(bag *diag.Bag) leases.Opener { return opener{r.With(bag)} },
		Ready:  req.Ready, InFlight: r.inFlight.set, Tell: s.tell,
	})
	r.sessions = &sessions{
		settings: s, handover: h, prog: r.prog, receivers: r.receivers, leases: r.leases, ledger: r.ledger, objs: r.objs,
		shown: shown, destroys: req.Destroy, before: req.Before, open: map[sessionKey]*session{},
	}
	if s.Secrets != nil {
		s.Secrets.Elsewhere((&plainStrings{run: r, known: map[string]bool{}}).holds)
	}
	h.now.Store(r)
	r.over = context.AfterFunc(ctx, r.stopProviders)
	o := req.Options
	o.Observe = r.observe
	if s.Secrets != nil && !o.Validate {
		o.Guard, o.Handed = r.guardVariable, r.guardArguments
	}
	o.Steady, o.Caller = r.receivers.Steady, &caller{ctx: ctx, run: r, validating: o.Validate}
	frame, ok := lang.NewFrame(r.prog, o, bag)
	if !ok {
		return r, false
	}
	r.frame, r.sessions.frame = frame, frame
	r.leases.Fill(frame)
	if o.Guard != nil {
		r.guardVariables()
	}
	return r, true
}

// With is the same walk with another bag.
func (r *run) With(bag *diag.Bag) *run {
	twin := *r
	twin.bag = bag
	return &twin
}

// scoped runs f with a run whose errors are warnings, for what stands in a check block. It gives what
// was reported, as it was.
func (r *run) scoped(f func(*run)) []diag.Diagnostic {
	return r.bag.Lenient(func(bag *diag.Bag) { f(r.With(bag)) })
}

// receive makes sure that the ephemeral resources whose values reach an instance of a declaration are
// open, or known not to be.
func (r *run) receive(ctx context.Context, d lang.Decl, at addr.ModuleInstance, own addr.Key, face lang.Face) {
	r.leases.Receive(ctx, r.bag, d, at, own, face)
}

// source is what the order of a plan's steps is made from.
func (r *run) source(p *plan.Plan) ordering.Source {
	return ordering.Source{Program: r.prog, Frame: r.frame, Receivers: r.receivers, Removals: r.removals, Plan: p}
}

// token runs a call that may touch an API, as soon as one of the tokens is free; not once the run
// was asked to end.
func (r *run) token(_ context.Context, call func()) bool {
	if r.tokens.Do(r.ctx, call) == nil {
		return true
	}
	r.cut.Store(true)
	return false
}

// walkGraph runs a graph until the run is asked to end. What fails after that was asked to give up.
func (r *run) walkGraph(ctx context.Context, g *walk.Graph, o walk.RunOptions) walk.Result {
	o.Inside, o.Panicked = r.settings.Abandon, r.panicked
	visit := o.Visit
	o.Visit = func(ctx context.Context, n walk.Node, f *walk.Fan) bool {
		ok := visit(ctx, n, f)
		if !ok && r.ctx.Err() != nil {
			r.cut.Store(true)
		}
		return ok
	}
	result := g.Run(ctx, o)
	if result.Cut {
		r.cut.Store(true)
	}
	return result
}

// panicked turns a panic of ours into a diagnostic: the rest of the run goes on.
func (r *run) panicked(n walk.Node, value any, stack []byte) {
	r.bag.Add(diag.Errorf("Internal error", "This is a bug in Lethe: %v\n\n%s", value, stack))
}
