// Package engine plans, applies, validates, refreshes and imports.
//
// Everything that happens is a node of one of two graphs. The plan walk goes over declarations:
// a managed resource has a node that refreshes what is there and one that decides what will be;
// variables, locals and outputs are gates between them. The apply walk goes over the steps that
// plan.Order derives from the changes. Values are never stored here: they are in the slots of a
// lang.Frame, on the face where they belong (before: what is there; after: what will be), and
// whoever needs one evaluates it where it stands.
//
// A Request says what is wanted; Plan answers with a plan.Plan, Apply with a new snapshot. Both go
// through the same functions for one object (package object) and the same sessions with providers.
//
// Files: plan.go, the walk over declarations; refresh.go, decide.go, data.go, orphan.go, what
// happens at its nodes; session.go, providers; apply.go, the walk over steps. Rooms below:
// declared, receivers, ordering, targeting, moving.
package engine

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// Engine plans, applies and so on for one command.
type Engine struct {
	Settings
	handover Handover
}

// Compile makes a program of a configuration and holds it against its providers' schemas, also after
// mistakes: all of them are reported.
func (e *Engine) Compile(ctx context.Context, tree *config.Tree, o lang.CheckOptions, bag *diag.Bag) (*lang.Program, bool) {
	p, ok := lang.Compile(tree, bag)
	schemas := e.schemas(ctx, bag)
	if ok && e.Supply != nil && !bag.HasErrors() {
		added, supplied := e.Supply(p, schemas.Of)
		if !supplied {
			return nil, false
		}
		if added {
			p, _ = lang.Compile(tree, &diag.Bag{}) // what it has to say was said
		}
	}
	o.Options.Run = newCaller(ctx, e.env(), bag)
	return p, lang.Vet(p, schemas, o, bag) && ok
}

// schemas asks providers for their schemas as they are needed, each once, and reports those that
// do not answer.
func (e *Engine) schemas(ctx context.Context, bag *diag.Bag) *schemaSource {
	return &schemaSource{ctx: ctx, engine: e, bag: bag}
}

type schemaSource struct {
	ctx    context.Context
	engine *Engine
	bag    *diag.Bag
}

// Of gives a provider's schemas, nil if they cannot be had.
func (s *schemaSource) Of(p addr.Provider) *provider.Schemas {
	if s.engine.Absent[p] {
		return nil
	}
	schemas, ds := s.engine.Pool.Schemas(s.ctx, p)
	s.bag.Add(ds...)
	if ds.HasErrors() {
		return nil
	}
	return schemas
}

// Hosts is for a configuration and the state that it is applied to; either may be nil.
func (e *Engine) Hosts(tree *config.Tree, s *state.Snapshot) Hosts {
	return hostsFor(&e.Settings, tree, s)
}

// Walked reports whether a walk has begun.
func (e *Engine) Walked() bool { return e.handover.walked() }

// Unfinished is what is under way at this moment: changes and openings whose outcome is not known,
// and leases that are open. It waits for nothing: a process that must end at once names what it leaves behind.
func (e *Engine) Unfinished() (changes []addr.Object, leases []lease.Left) {
	return e.handover.unfinished()
}

// env is what runs take place in.
func (e *Engine) env() Env { return Env{&e.Settings, &e.handover} }

// Validate holds a compiled program against its providers' own rules, with everything unknown that
// is not written out. Nothing is configured, no state is needed. It may be called after Compile
// failed: what mistakes were found in is left out.
func (e *Engine) Validate(ctx context.Context, prog *lang.Program, o lang.Options, bag *diag.Bag) bool {
	return validateProgram(ctx, e.env(), prog, o, bag)
}

// Plan finds out what would have to be done.
func (e *Engine) Plan(ctx context.Context, req Request, bag *diag.Bag) (*Result, bool) {
	return makePlan(ctx, e.env(), req, bag)
}

// Apply carries a plan out.
func (e *Engine) Apply(ctx context.Context, req ApplyRequest, bag *diag.Bag) (*Applied, bool) {
	return applyPlan(ctx, e.env(), req, bag)
}
