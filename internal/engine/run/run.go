package run

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/ordering"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Run is one walk through a program: planning, applying or validating. It has the parts that its jobs use. The jobs of
// a check block use a copy that reports to another bag (see With); all copies share their other parts.
type Run struct {
	Settings *Settings
	Kind     Kind
	Bag      *diag.Bag

	Program   *program.Program
	Frame     *frame.Frame
	Receivers *receivers.Analysis
	Removals  *declared.Removals

	Budget     *Budget
	InFlight   *Calls
	Objects    *object.Walk
	Types      *Types
	Sessions   *Sessions
	Leases     *leases.Leases
	Conditions *Conditions
	Results    *Results

	done func() bool // ends the wait for the interrupt
}

// With returns the same walk with another bag.
func (r *Run) With(bag *diag.Bag) *Run {
	copied := *r
	copied.Bag = bag
	return &copied
}

// ScopedData reads data of a check block. It calls f with a run whose errors become warnings and fail the check. It
// returns the original diagnostics.
func (r *Run) ScopedData(d *program.Declaration, f func(*Run)) []diag.Diagnostic {
	return r.Bag.Lenient(func(bag *diag.Bag) {
		f(r.With(bag))
		bag.Blame(d.CheckBlock())
	})
}

// Receive opens the ephemeral resources whose values an instance of a declaration receives. If one cannot be opened,
// its value shows that.
func (r *Run) Receive(ctx context.Context, d program.Decl, at addr.ModuleInstance, own addr.Key) {
	r.Leases.Receive(ctx, r.Bag, d, at, own, frame.After)
}

// Source returns the input for the order of a plan's steps.
func (r *Run) Source(p *plan.Plan) ordering.Source {
	return ordering.Source{Program: r.Program, Frame: r.Frame, Receivers: r.Receivers, Removals: r.Removals, Plan: p}
}

// WalkGraph runs a graph until the interrupt. It waits for running jobs until Shutdown.Abandon ends.
func (r *Run) WalkGraph(ctx context.Context, g *walk.Graph, o walk.RunOptions) walk.Result {
	o.Inside, o.Panicked = r.Settings.Shutdown.Abandon, r.Panicked
	return r.Budget.Walk(ctx, g, o)
}

// Panicked reports a panic as a diagnostic, so that the rest of the run continues.
func (r *Run) Panicked(n walk.Node, value any, stack []byte) {
	r.Bag.Add(diag.Errorf("Internal error", "This is a bug in Lethe: %v\n\n%s", value, stack))
}
