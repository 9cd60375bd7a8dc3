package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/applying"
	"github.com/lethe-iac/lethe/internal/engine/changed"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/footprint"
	"github.com/lethe-iac/lethe/internal/engine/ordering"
	"github.com/lethe-iac/lethe/internal/engine/planning"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/engine/validating"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/state"
)

// Engine plans, applies and so on for one command.
type Engine struct {
	Settings
	handover run.Handover
	shared   *Engine // whose handover is used instead; nil: its own
}

// With is an engine with other settings for some runs of the same command: processes that one has configured can be
// handed over to the other, and Unfinished knows of both.
func (e *Engine) With(s Settings) *Engine { return &Engine{Settings: s, shared: cmp.Or(e.shared, e)} }

// The requests and results of the engine's rooms, under the names that callers use.
type (
	// Settings are what the caller sets for all runs of one command.
	Settings = run.Settings
	// Hosts says under which registry host providers are known in one run.
	Hosts = run.Hosts
	// Request says what to plan, or what to import.
	Request = planning.Request
	// Import asks for an existing object to be taken in.
	Import = planning.Import
	// Result is a finished plan with what an apply right after it can go on using.
	Result = planning.Result
	// ApplyRequest says what to carry out.
	ApplyRequest = applying.Request
	// Applied is what came of it.
	Applied = applying.Result
	// Late makes records for a process that was lost.
	Late = applying.Late
)

// Compile makes a program of a configuration and holds it against its providers' schemas, also after
// mistakes: all of them are reported.
func (e *Engine) Compile(ctx context.Context, tree *config.Tree, o vet.CheckOptions, bag *diag.Bag) (*program.Program, bool) {
	if o.Called {
		called := *tree
		called.Called = true
		tree = &called
	}
	p, ok := lang.Compile(tree, bag)
	described := e.Pool.Lookup(ctx, bag)
	schemas := func(p addr.Provider) *provider.Schemas {
		if e.Absent[p] {
			return nil
		}
		return described(p)
	}
	if ok && e.Supply != nil && !bag.HasErrors() {
		added, supplied := e.Supply(p, schemas)
		if !supplied {
			return nil, false
		}
		if added {
			p, _ = lang.Compile(tree, &diag.Bag{}) // what it has to say was said
		}
	}
	o.Options.Run = run.NewCaller(ctx, e.env(), bag)
	return p, vet.Check(p, schemas, o, bag) && ok
}

// Hosts is for a configuration and the state that it is applied to; either may be nil.
func (e *Engine) Hosts(tree *config.Tree, s *state.Snapshot) Hosts {
	return run.HostsFor(&e.Settings, tree, s)
}

// Walked reports whether a walk has begun.
func (e *Engine) Walked() bool { return e.handover.Walked() }

// Unfinished is what is under way at this moment: changes and openings whose outcome is not known,
// and leases that are open. It waits for nothing: a process that must end at once names what it leaves behind.
func (e *Engine) Unfinished() (changes []addr.Object, leases []lease.Left) {
	return e.handover.Unfinished()
}

// env is what runs take place in.
func (e *Engine) env() run.Env {
	return run.Env{Settings: &e.Settings, Handover: &cmp.Or(e.shared, e).handover}
}

// Validate holds a compiled program against its providers' own rules, with everything unknown that
// is not written out. Nothing is configured, no state is needed. It may be called after Compile
// failed: what mistakes were found in is left out.
func (e *Engine) Validate(ctx context.Context, prog *program.Program, o frame.Options, bag *diag.Bag) bool {
	ok := validating.Program(ctx, e.env(), prog, o, bag)
	mustSay(ctx, "Validating", ok, bag)
	return ok
}

// Plan finds out what would have to be done.
func (e *Engine) Plan(ctx context.Context, req Request, bag *diag.Bag) (*Result, bool) {
	result, ok := planning.Plan(ctx, e.env(), req, bag)
	mustSay(ctx, "Planning", ok, bag)
	return result, ok
}

// Apply carries a plan out.
func (e *Engine) Apply(ctx context.Context, req ApplyRequest, bag *diag.Bag) (*Applied, bool) {
	result, ok := applying.Apply(ctx, e.env(), req, bag)
	mustSay(ctx, "Applying", ok, bag)
	return result, ok
}

// mustSay adds an error if an operation failed without one, and was not interrupted: no failure is silent.
func mustSay(ctx context.Context, what string, ok bool, bag *diag.Bag) {
	if !ok && !bag.HasErrors() && ctx.Err() == nil {
		bag.Add(diag.Errorf("Internal error", "%s failed without a message. This is a bug in Lethe, please report it. The log (TF_LOG=debug) may show what came before.", what))
	}
}

// PreviewLeases says which leases the apply walk of a plan will open, as far as the configuration and
// the plan tell, and what receives them. Nothing is opened or started, and a plan never holds it.
// Ephemeral variables need no value.
func (e *Engine) PreviewLeases(prog *program.Program, o frame.Options, p *plan.Plan) []plan.Lease {
	return ordering.PreviewLeases(prog, receivers.Analyse(prog, e.Tested), o, p)
}

// Footprint finds out which parts of a state plans of a program work on.
func (e *Engine) Footprint(prog *program.Program) *footprint.Finder { return footprint.New(prog) }

// Stamps finds out what the configuration says of each resource, for plans of what changed.
func (e *Engine) Stamps(prog *program.Program, o frame.Options, version func(addr.Provider) (version string, fixed bool)) *changed.Stamps {
	var bag diag.Bag
	f, ok := frame.New(prog, o, &bag)
	return changed.New(changed.Request{Program: prog, Version: version, Variable: func(name string) string {
		if !ok {
			return ""
		}
		v, _ := f.Named(program.Variable, name, frame.After, &bag)
		return fmt.Sprintf("%#v", v.Raw)
	}})
}

// Frame gives a frame whose before face is a stored state, for looking around: nothing is read,
// planned or opened. What the state does not have is unknown.
func (e *Engine) Frame(ctx context.Context, prog *program.Program, o frame.Options, s *state.Snapshot, bag *diag.Bag) (*frame.Frame, bool) {
	r, ok := run.New(ctx, e.env(), run.Request{Program: prog, Options: o}, bag)
	if !ok {
		return nil, false
	}
	if s == nil {
		s = &state.Snapshot{}
	}
	filling.Stored(prog, r.Frame, s)
	return r.Frame, true
}

// Import takes existing objects in at once, as the import command does: a plan with more priors,
// of which only the imported objects are kept. Errors about other objects do not matter.
func (e *Engine) Import(ctx context.Context, req Request, bag *diag.Bag) (*state.Snapshot, bool) {
	for _, im := range req.Imports {
		t, err := addr.ParseTarget(im.To.String())
		if err != nil {
			bag.Add(diag.Errorf("Invalid import address", "%s.", err))
			return nil, false
		}
		req.Targets = append(req.Targets, t)
	}
	req.Quiet = true
	result, ok := e.Plan(ctx, req, bag)
	if result == nil || !ok {
		return nil, false
	}
	next, hosts := req.State.Edit(), e.Hosts(req.Program.Tree(), req.State)
	for _, im := range req.Imports {
		c := imported(result.Plan, im.To)
		if c == nil {
			bag.Add(diag.Errorf("Configuration for import target does not exist", "No instance has the address %s, although %s is declared. Objects can only be imported to instances that the configuration declares: check the key of the address, and what count, for_each or enabled of the block and of the modules around it say.", im.To, im.To.Resource()))
			return nil, false
		}
		if c.Importing == nil { // a moved block, or a new count, gives the address another object
			bag.Add(diag.Errorf("Resource already managed by Lethe", "The object at %s moves to %s, so nothing can be imported to that address. If it is the object that you want there, `lethe apply` records the move, and there is nothing to import. If it is not, remove the moved block, or remove the object from the state.", c.Was, im.To))
			return nil, false
		}
		next.Put(c.Object, hosts.Hosted(c.Object, run.Amended(c, c.Entry)))
	}
	return next.Done(), true
}

// imported is what a plan found for the target of an import; nil if no such instance is declared.
func imported(p *plan.Plan, to addr.Instance) *plan.Change {
	i := slices.IndexFunc(p.Changes, func(c *plan.Change) bool { return c.Object == to.Current() && c.Entry != nil })
	if i < 0 {
		return nil
	}
	return p.Changes[i]
}
