package run

import (
	"context"
	"sync"
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

// types are the types of objects that a walk has met.
type types struct {
	mu sync.Mutex
	of map[typeKey]*object.Type
}

type typeKey struct {
	provider addr.Provider
	mode     addr.Mode
	name     string
	meta     bool        // its module has a provider_meta block
	module   addr.Module // that module
}

// Context ends when nothing new is to be started, and what runs is to be given up.
func (r *Run) Context() context.Context { return r.ctx }

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

// ScopedData does so for data that stand in a check block: where they cannot be read, the check does not hold.
func (r *Run) ScopedData(d *program.Declaration, f func(*Run)) []diag.Diagnostic {
	return r.Bag.Lenient(func(bag *diag.Bag) {
		f(r.With(bag))
		bag.Blame(d.CheckBlock())
	})
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
