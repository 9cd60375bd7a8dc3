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
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// Engine plans, applies and so on for one command.
type Engine struct {
	Settings
	handover handover
}

// Request says what to plan.
type Request struct {
	Program  *lang.Program
	Options  lang.Options    // variables, workspace, directories
	State    *state.Snapshot // the previous run's
	Mode     plan.Mode
	Refresh  bool // look at real objects first
	Targets  []addr.Target
	Excludes []addr.Target
	Replace  []addr.Instance
	Imports  []Import // from the command line, beside those of the configuration
	Generate bool     // make configuration for imported objects that have none
	// DeferEphemerals keeps leases closed during planning where only write-only arguments receive
	// them: providers plan with unknown values there.
	DeferEphemerals bool
	// SpareDeposed runs no destroy-time provisioners for objects that a create-first replacement
	// deposes, as Terraform and OpenTofu do.
	SpareDeposed bool
	Backend      string // for the plan file

	quiet bool // the targets are ours, not the user's: nothing is said or asked of them
}

// Import asks for an existing object to be taken in.
type Import struct {
	To addr.Instance
	ID string
}

// Result is a finished plan with what an apply right after it can go on using.
type Result struct {
	Plan    *plan.Plan
	Frame   *lang.Frame
	request *Request

	// Cut says that an interrupt kept something from being looked at.
	Cut bool

	// Generated is configuration for imported resources that have none, if it was asked for. The
	// plan says nothing of them: it is to be made again with this configuration.
	Generated map[addr.Resource]string
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
	o.Options.Caller = &caller{ctx: ctx, run: &run{settings: &e.Settings, handover: &e.handover, bag: bag}}
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
func (e *Engine) Walked() bool { return e.handover.now.Load() != nil }

// Unfinished is what is under way at this moment: changes and openings whose outcome is not known,
// and leases that are open. It waits for nothing: a process that must end at once names what it leaves behind.
func (e *Engine) Unfinished() (changes []addr.Object, leases []lease.Left) {
	return e.handover.unfinished()
}
