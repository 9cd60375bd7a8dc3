package run

import (
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/ordering"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Run is one walk through a program, for planning, applying, validating or querying. It has the parts that the jobs of
// the walk share. Jobs that read data sources of a check block use a copy of the Run with another bag (With). A copy
// shares all other parts.
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

	done func() bool // removes the function that asks processes to stop at the interrupt
}

// With returns a copy of the run that reports to another bag.
func (r *Run) With(bag *diag.Bag) *Run {
	copied := *r
	copied.Bag = bag
	return &copied
}

// ScopedData is for the data source d in a check block. It calls f with a copy of the run whose errors become warnings.
// It returns the diagnostics of f with their original severities.
func (r *Run) ScopedData(d *program.Declaration, f func(*Run)) []diag.Diagnostic {
	return r.Bag.Lenient(func(bag *diag.Bag) {
		f(r.With(bag))
		bag.Blame(d.CheckBlock())
	})
}

// Receive opens the ephemeral resources whose values an instance of the declaration d uses, unless they are open. at
// and own are the module instance and the key of this instance. If an ephemeral resource cannot be opened, its place in
// the frame has no value or an unknown value.
func (r *Run) Receive(ctx context.Context, d program.Decl, at addr.ModuleInstance, own addr.Key) {
	r.Leases.Receive(ctx, r.Bag, d, at, own, frame.After)
}

// Source returns the input for package ordering, which computes the order of the steps of the plan p.
func (r *Run) Source(p *plan.Plan) ordering.Source {
	return ordering.Source{Program: r.Program, Frame: r.Frame, Receivers: r.Receivers, Removals: r.Removals, Plan: p}
}

// WalkGraph runs a graph. After the interrupt, it starts no more nodes, except closers, and waits for running jobs,
// whose context ends with Shutdown.Abandon. names has the title of the walk and the names of nodes, for users.
func (r *Run) WalkGraph(ctx context.Context, g *walk.Graph, names Names, o walk.RunOptions) walk.Result {
	o.Inside, o.Panicked = r.Settings.Shutdown.Abandon, r.Panicked
	if r.Settings.Times == nil {
		return r.Budget.Walk(ctx, g, o)
	}
	w := &event.Walk{Title: names.Title, Names: make([]string, g.Len()), Lazy: make([]bool, g.Len()), After: g.Before(), Began: time.Now()}
	for i := range w.Names {
		n := walk.Node(i)
		if w.Lazy[i] = g.IsLazy(n); !g.IsGate(n) {
			w.Names[i] = names.Of(n)
		}
	}
	o.Around = func(ctx context.Context, n walk.Node, job int, do func(context.Context) bool) bool {
		v := event.Visit{Walk: w, Node: int(n), Job: job}
		ok, began := false, time.Now()
		defer func() { // runs also after a panic
			r.Settings.Times.Send(event.Visited{Visit: v, Began: began, Ended: time.Now(), Failed: !ok})
		}()
		ok = do(event.WithVisit(ctx, v))
		return ok
	}
	result := r.Budget.Walk(ctx, g, o)
	w.Ended = time.Now()
	r.Settings.Times.Send(event.Walked{Walk: w})
	return result
}

// Names has the title of a walk and the names of its nodes, for users.
type Names struct {
	Title string
	Of    func(walk.Node) string
}

// Panicked reports a panic in a node as an error. The other nodes of the walk continue.
func (r *Run) Panicked(n walk.Node, value any, stack []byte) {
	r.Bag.Add(diag.Errorf("Internal error", "This is a bug in Lethe: %v\n\n%s", value, stack))
}
