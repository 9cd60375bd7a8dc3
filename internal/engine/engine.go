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
// happens at its nodes; session.go, providers; apply.go, the walk over steps; reach.go, questions
// about references; move.go and the like, policies of one statement each.
package engine

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/walk"
	"github.com/zclconf/go-cty/cty"
)

// Engine is what all runs of one command share.
type Engine struct {
	Pool        *provider.Pool
	Sink        event.Sink
	Secrets     *secret.Set
	Parallelism int          // calls that may touch an API at once; 0: 10
	Closed      shortcut.Set // what is not to be taken
	Now         func() time.Time

	CloseTimeout time.Duration // for closing one lease; 0: a minute

	// Provisioners run in Dir ("": the process's) with the environment Env (nil: the process's).
	Dir string
	Env []string

	// The context of a run merely keeps more from starting. When Halt ends, providers and
	// provisioners are asked to give up; when Abandon ends, nothing waits for a call any more but
	// for those that close leases, and for these no longer than until Leave ends. nil: never.
	Halt, Abandon, Leave context.Context

	// Leases takes note of what is open, for the case that the process is lost. nil: no note is taken.
	Leases journal.Leases

	// Tested says which providers a test program runs: to see what they do, and some to see what
	// they are configured with. nil: none.
	Tested func(addr.Provider) bool

	// Named gives a provider the registry host under which somebody attached it. nil: nobody did.
	Named func(addr.Provider) (addr.Provider, bool)

	// Host is the registry host of providers for which nothing else says one. "": of their address.
	Host string

	// Absent are the providers that are not to be started; that, or why, was reported.
	Absent map[addr.Provider]bool

	// Supply adds what the provider blocks of a program lack, before it is held against its
	// providers' schemas, and reports whether it added anything. nil: nobody can be asked.
	Supply func(p *lang.Program, schemas func(addr.Provider) *provider.Schemas) (added, ok bool)

	kept keep
	mute mute
	now  atomic.Pointer[shared] // the latest walk
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
	o.Options.Caller = &caller{ctx: ctx, run: &run{shared: &shared{Engine: e}, bag: bag}}
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

// run is one walk: planning, applying, validating. What happens inside a check block is done by a
// run with a bag of its own.
type run struct {
	*shared
	bag *diag.Bag
}

// shared is what all parts of a walk have in common.
type shared struct {
	*Engine
	all       *diag.Bag       // of the whole walk
	ctx       context.Context // ends when nothing new is to be started
	prog      *lang.Program
	frame     *lang.Frame
	objs      *object.Walk
	shown     shown
	tokens    *walk.Tokens
	receivers *receivers.Analysis
	removals  *declared.Removals

	mu       sync.Mutex
	types    map[typeKey]*object.Type
	sessions map[sessionKey]*session
	leases   map[leaseKey]*opening
	leased   map[lang.Decl][]leaseKey // the same, by ephemeral resource
	ledger   *lease.Ledger
	calls    map[addr.Object]bool                      // changes and openings under way
	waits    func(lang.Decl, addr.ModuleInstance) bool // an ephemeral resource must not be opened yet; nil: this walk opens all it needs
	lacks    func(lang.Decl) bool                      // something that it depends on has no value; nil: nothing has none
	waiting  map[addr.Object]bool                      // those of which it was told that they wait
	checks   *checks
	results  *results
	looks    bool                             // nothing is decided: conditions are for information
	destroys bool                             // nothing will be there: everything is served by what is
	ready    func(context.Context, lang.Decl) // gets the before face ready for a declaration; nil: it is
	cut      atomic.Bool                      // an interrupt kept something from being done
}

// past is what a walk goes on from.
type past struct {
	state   *state.Snapshot   // the previous run's; nil: there is none, or it does not matter
	results map[string]string // digests of what functions gave when the plan was made
}

// idleRun is a walk that nothing is known of outside: it starts and tells nothing.
func (e *Engine) idleRun(ctx context.Context, prog *lang.Program, from past, bag *diag.Bag) *run {
	r := &run{bag: bag, shared: &shared{
		Engine: e, all: bag, ctx: ctx, prog: prog, receivers: receivers.Analyse(prog, e.Tested), removals: declared.NewRemovals(prog.Tree().Root),
		types: map[typeKey]*object.Type{}, sessions: map[sessionKey]*session{}, leases: map[leaseKey]*opening{}, leased: map[lang.Decl][]leaseKey{}, checks: newChecks(e.Secrets),
		calls:   map[addr.Object]bool{},
		waiting: map[addr.Object]bool{},
		results: newResults(from.results),
	}}
	r.ledger = lease.NewLedger(lease.Options{
		Now: e.Now, Sink: e.Sink, CloseTimeout: e.CloseTimeout, Parallelism: e.parallelism(), Abandon: e.Abandon, Leave: e.Leave,
		Panicked: func(value any, stack []byte) { r.panicked(0, value, stack) },
	})
	r.tokens = walk.NewTokens(r.parallelism())
	r.objs = &object.Walk{Sink: e.Sink, Secrets: e.Secrets, Token: r.token, Closed: e.Closed}
	if e.Tested != nil {
		r.objs.Shows = r.shown.holds
	}
	return r
}

func (e *Engine) newRun(ctx context.Context, prog *lang.Program, o lang.Options, from past, bag *diag.Bag) (*run, bool) {
	r := e.idleRun(ctx, prog, from, bag)
	if e.Secrets != nil {
		e.Secrets.Elsewhere((&plainly{shared: r.shared, known: map[string]bool{}}).holds)
	}
	e.now.Store(r.shared)
	if e.Halt != nil {
		context.AfterFunc(e.Halt, r.halt)
	}
	o.Observe = r.observe
	if e.Secrets != nil && !o.Validate {
		o.Guard, o.Handed = r.guardVariable, r.guardArguments
	}
	o.Steady, o.Caller = r.receivers.Steady, &caller{ctx: ctx, run: r, validating: o.Validate}
	var ok bool
	if r.frame, ok = lang.NewFrame(prog, o, bag); ok && o.Guard != nil {
		r.guardVariables()
	}
	return r, ok
}

func (e *Engine) parallelism() int {
	if e.Parallelism > 0 {
		return e.Parallelism
	}
	return 10
}

// workers is how many nodes run at once: more than the tokens, because a node holds a token only
// around a call.
func (e *Engine) workers() int { return e.parallelism() + runtime.GOMAXPROCS(0) }

func (e *Engine) tell(ev event.Event) {
	if e.Sink != nil {
		e.Sink.Tell(ev)
	}
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

// walkGraph runs a graph until the run is asked to end.
func (r *run) walkGraph(ctx context.Context, g *walk.Graph, o walk.RunOptions) walk.Result {
	o.Inside, o.Panicked = r.Abandon, r.panicked
	result := g.Run(ctx, o)
	if result.Cut {
		r.cut.Store(true)
	}
	return result
}

type typeKey struct {
	provider addr.Provider
	mode     addr.Mode
	name     string
	meta     bool        // its module has a provider_meta block
	module   addr.Module // that module
}

// typeOf describes the objects of one type to the kinds; nil, with a diagnostic, if the provider
// does not know the type.
func (r *run) typeOf(ctx context.Context, p addr.Provider, res addr.Resource, about addr.Instance) *object.Type {
	k := typeKey{provider: p, mode: res.Mode, name: res.Type}
	meta := r.prog.Meta(res.Module, p)
	if meta != cty.NilVal {
		k.meta, k.module = true, res.Module
	}
	r.mu.Lock()
	t := r.types[k]
	r.mu.Unlock()
	if t != nil {
		return t
	}
	schemas, ds := r.Pool.Schemas(ctx, p)
	if r.bag.Add(ds...); ds.HasErrors() {
		return nil
	}
	sch, err := schemas.Usable(res.Mode, res.Type)
	if err != nil {
		r.bag.Add(diag.Errorf("Invalid provider schema", "The schema of %s %s in provider %s cannot be used: %s.\n\nThis is a bug in the provider, to be reported there.", res.Mode.Block(), res.Type, p.ForDisplay(), err).About(about))
		return nil
	}
	if sch == nil {
		r.bag.Add(diag.Errorf("Invalid resource type", "Provider %s does not support the %s type %q, which the state has an object of. Select a version of the provider that supports it, or remove the object from the state with `lethe state rm`.", p.ForDisplay(), noun(res.Mode), res.Type).About(about))
		return nil
	}
	identity, _ := schemas.Identity(res.Type)
	t = &object.Type{Schema: sch, Name: res.Type, Mode: res.Mode, Identity: identity}
	if meta != cty.NilVal {
		t.Meta.Msgpack, _ = schema.Encode(meta, schemas.Meta.Type()) // constants that were made to fit it
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.types[k]; have != nil {
		return have
	}
	r.types[k] = t
	return t
}

// noun is what a mode's resources are called in messages.
func noun(m addr.Mode) string {
	switch m {
	case addr.Data:
		return "data source"
	case addr.Ephemeral:
		return "ephemeral resource"
	}
	return "resource"
}
