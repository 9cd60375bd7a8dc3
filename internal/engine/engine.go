package engine

import (
	"cmp"
	"context"
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
	"github.com/lethe-iac/lethe/internal/engine/querying"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/engine/rounds"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/engine/validating"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/lease"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/zclconf/go-cty/cty"
)

// Engine plans, applies and runs the other operations of one command.
type Engine struct {
	Settings
	handover run.Handover // data that each run of the command passes on to the next run: configured providers, provider functions that failed
	shared   *Engine      // if not nil, this engine uses the handover of shared
}

// With returns an engine with the settings s, for some runs of the same command. Both engines share the data between
// runs: each can use the configured provider processes of the other engine, and Unfinished covers the runs of both.
func (e *Engine) With(s Settings) *Engine { return &Engine{Settings: s, shared: cmp.Or(e.shared, e)} }

// The requests and results of the packages below, under the names that callers of this package use.
type (
	// Settings are the settings of the caller for all runs of one command.
	Settings = run.Settings
	// Rounds has the ephemeral resources that stay open between the rounds of a command. A round is one plan and its
	// apply (ADR 52).
	Rounds = run.Rounds
	// Hosts determines the registry host with which a run shows and stores the address of a provider.
	Hosts = run.Hosts
	// Request holds the inputs of a plan or an import.
	Request = planning.Request
	// Import imports existing objects without an apply, for the import command. It makes a plan, and returns the state
	// in req with only the imported objects added, and without the results of data sources that the setting forget_data
	// excludes. It does not write the state. If the plan has errors or an object cannot be imported, Import adds an
	// error to bag and returns false. It also returns false after an interrupt.
	Import = planning.Import
	// Earlier has the objects about which the earlier rounds of a command have decided.
	Earlier = planning.Earlier
	// Generated is the result of Generate.
	Generated = planning.Generated
	// Result is a finished plan, with the values of the configuration.
	Result = planning.Result
	// QueryRequest holds the inputs of a query.
	QueryRequest = querying.Request
	// ApplyRequest holds the inputs of an apply.
	ApplyRequest = applying.Request
	// Applied is the result of an apply.
	Applied = applying.Result
	// Recovery records the results of provider calls for an engine that crashed.
	Recovery = applying.Recovery
)

// Compile compiles a configuration to a program and checks it against the schemas of its providers. Compile continues
// after errors and reports all of them. It returns false after an error, or if the user interrupted the input of
// missing provider settings (Settings.Supply). In both cases the program may be nil.
func (e *Engine) Compile(ctx context.Context, tree *config.Tree, o vet.CheckOptions, bag *diag.Bag) (*program.Program, bool) {
	if o.Called {
		called := *tree
		called.Called = true
		tree = &called
	}
	if !frame.ResolveLifecycles(tree, o.Options, bag) {
		return nil, false
	}
	p, ok := lang.Compile(tree, bag)
	described := e.Pool.Lookup(ctx, bag)
	schemas := func(p addr.Provider) *provider.Schemas {
		if e.Providers.Absent[p] {
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
			p, _ = lang.Compile(tree, &diag.Bag{}) // the first call of lang.Compile has reported the diagnostics
		}
	}
	o.Options.Run = run.NewCaller(ctx, e.env(), bag)
	return p, vet.Check(p, schemas, o, bag) && ok
}

// Hosts returns the Hosts for a configuration and the state to which it is applied. Both may be nil.
func (e *Engine) Hosts(tree *config.Tree, s *state.Snapshot) Hosts {
	return run.HostsFor(&e.Settings, tree, s)
}

// Walked reports whether a plan, an apply or a validation of this command has begun to run.
func (e *Engine) Walked() bool { return e.handover.Walked() }

// Unfinished returns the objects for which a call is in progress that may change them or open an ephemeral resource,
// and the ephemeral resources that are open. It does not wait, so a process that must end at once can report these.
func (e *Engine) Unfinished() (changes []addr.Object, leases []lease.Left) {
	return e.handover.Unfinished()
}

// env returns the environment of runs.
func (e *Engine) env() run.Env {
	return run.Env{Settings: &e.Settings, Handover: &cmp.Or(e.shared, e).handover}
}

// Validate checks a compiled program against the rules of its providers. Values that the configuration does not contain
// are unknown. Validate configures no provider and needs no state. If Compile has reported errors in some declarations,
// Validate skips these. It returns false if bag has errors.
func (e *Engine) Validate(ctx context.Context, prog *program.Program, o frame.Options, bag *diag.Bag) bool {
	ok := validating.Program(ctx, e.env(), prog, o, bag)
	mustReport(ctx, "Validating", ok, bag)
	return ok
}

// Alternatives returns the arguments that the provider p recommends to replace by write-only arguments. config is the
// configuration of a managed resource. The parameters name and s are the name and the schema of its type. Alternatives
// configures no provider. It returns an error if the provider cannot be started. It first registers the sensitive
// values of config, which messages and logs then mask.
func (e *Engine) Alternatives(ctx context.Context, p addr.Provider, name string, s *schema.Schema, config cty.Value) ([]object.Alternative, error) {
	s.EachSensitive(config, func(path cty.Path, v cty.Value) {
		e.Secrets.MaskInMessages(v, secret.Origin{Addr: name, Path: mark.PathBelow(path), Sensitive: true})
	})
	return validating.Alternatives(ctx, e.Pool, p, name, s, config)
}

// Plan computes a plan. It returns false if the plan has errors or an interrupt ended the planning early. The result is
// nil if planning could not start.
func (e *Engine) Plan(ctx context.Context, req Request, bag *diag.Bag) (*Result, bool) {
	result, ok := planning.Plan(ctx, e.env(), req, bag)
	mustReport(ctx, "Planning", ok, bag)
	return result, ok
}

// Generate plans a configuration and writes resource blocks for the import targets that it does not declare. The caller
// then plans the configuration with these blocks, and this plan reports the same events. So Generate sends its events
// to sink instead of Settings.Sink, so that users do not see them twice. Generate returns false if the plan has errors
// or an interrupt ended the planning early.
func (e *Engine) Generate(ctx context.Context, req Request, sink event.Sink, bag *diag.Bag) (*Generated, bool) {
	settings := e.Settings
	settings.Sink = sink
	out, ok := planning.Generate(ctx, e.With(settings).env(), req, bag)
	mustReport(ctx, "Planning", ok, bag)
	return out, ok
}

// Query searches for existing objects, as the list blocks of the program request. It returns the numbers of results,
// and false if a search failed or did not run.
func (e *Engine) Query(ctx context.Context, req QueryRequest, bag *diag.Bag) (querying.Counts, bool) {
	counts, ok := querying.Query(ctx, e.env(), req, bag)
	mustReport(ctx, "The query", ok, bag)
	return counts, ok
}

// Apply applies a plan. It returns false if a step failed or did not run. The result is never nil, and the caller must
// store its state even after a failure.
func (e *Engine) Apply(ctx context.Context, req ApplyRequest, bag *diag.Bag) (*Applied, bool) {
	result, ok := applying.Apply(ctx, e.env(), req, bag)
	mustReport(ctx, "Applying", ok, bag)
	return result, ok
}

// mustReport adds an error if an operation failed without an error and without an interrupt, so that no failure is
// silent. ok is true if the operation succeeded. The argument what names the operation in the error.
func mustReport(ctx context.Context, what string, ok bool, bag *diag.Bag) {
	if !ok && !bag.HasErrors() && ctx.Err() == nil {
		bag.Add(diag.Errorf("Internal error", "%s failed without a message. This is a bug in Lethe: please report it. The log (TF_LOG=debug) may show the cause.", what))
	}
}

// PreviewLeases returns the ephemeral resources that an apply of the plan will open, with the declarations that use
// their values. It computes them from the configuration and the plan only: it opens nothing and starts no provider.
// Ephemeral variables need no value.
func (e *Engine) PreviewLeases(prog *program.Program, o frame.Options, p *plan.Plan) []plan.Lease {
	return ordering.PreviewLeases(prog, receivers.Analyse(prog, e.Providers.Echoes), o, p)
}

// EarlierValues returns, by ephemeral resource, the objects that were written with its value. A command that needs
// several rounds (a plan with its apply) calls it for the plan p of each round. If the command does not finish, these
// objects keep values that no later command can obtain.
//
// earlier is the result for the previous round; nil: p is the plan of the first round. The result has the objects in
// earlier. It also has an object that p creates or updates, if the object uses the value of an ephemeral resource in
// write-only arguments. This ephemeral resource must be in earlier, or changes that p defers to later rounds must need
// its value. The result is nil if earlier is empty and p defers nothing.
func (e *Engine) EarlierValues(prog *program.Program, p *plan.Plan, earlier []journal.EarlierValue) []journal.EarlierValue {
	return rounds.Earlier(prog, e.Providers.Echoes, p, earlier)
}

// EndRounds closes the ephemeral resources that stayed open for further rounds (plans and applies of the command). The
// caller calls it after the last round, also after a failure. It adds an error for each ephemeral resource that it
// cannot close.
func (e *Engine) EndRounds(bag *diag.Bag) { e.Rounds.End(e.Pool, e.Send, bag) }

// Footprint returns a Finder, which finds the parts of a state that a plan of a program reads or changes.
func (e *Engine) Footprint(prog *program.Program) *footprint.Finder { return footprint.New(prog) }

// Stamps returns the digests of the configurations of all resources, with which a command plans only the changed
// resources (plan -changed). version returns the version of a provider, or "" if the provider has no version. It
// returns false for fixed if the program of the provider may change without a new version. Stamps reports no errors. If
// a variable cannot be evaluated, its value counts as an empty text.
func (e *Engine) Stamps(prog *program.Program, o frame.Options, version func(addr.Provider) (version string, fixed bool)) *changed.Stamps {
	var bag diag.Bag
	f, ok := frame.New(prog, o, &bag)
	return changed.New(changed.Request{Program: prog, Version: version, Variable: func(name string) string {
		if !ok {
			return ""
		}
		v, out := f.Named(program.Variable, name, frame.After, &bag)
		if out != frame.OK {
			return ""
		}
		// Unlike the text of Go's %#v, the protocol's form of a value is the same in every release of the library.
		form, err := schema.Encode(v.Raw, cty.DynamicPseudoType)
		if err != nil {
			return err.Error()
		}
		return string(form)
	}})
}

// Frame returns a frame (the values of a program) whose prior values (before face) are the objects in the state s. A
// nil state is empty. The values of resources without objects in s are unknown. Frame reads and plans nothing, and
// opens no ephemeral resource. It returns false if the frame could not be created, for example because a root variable
// is invalid.
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

// Import imports existing objects without an apply, for the import command. It makes a plan, and returns the state in
// req with only the imported objects added. It does not write the state. If the plan has errors or an object cannot be
// imported, Import adds an error to bag and returns false.
func (e *Engine) Import(ctx context.Context, req Request, bag *diag.Bag) (*state.Snapshot, bool) {
	for _, im := range req.Imports {
		t, err := addr.ParseTarget(im.To.String())
		if err != nil {
			bag.Add(diag.Errorf("Invalid import address", "%s.", err))
			return nil, false
		}
		req.Targets = append(req.Targets, t)
	}
	req.Operation, req.Origin = operation.Import, targeting.Imports
	result, ok := e.Plan(ctx, req, bag)
	if result == nil || !ok {
		return nil, false
	}
	next, hosts := req.State.Edit(), e.Hosts(req.Program.Tree(), req.State)
	for _, im := range req.Imports {
		c := imported(result.Plan, im.To)
		if c == nil {
			bag.Add(diag.Errorf("Configuration for import target does not exist", "There is no instance %s, although %s is declared. Correct the key of the address, or change count, for_each or enabled in the block or in the modules around it.", im.To, im.To.Resource()))
			return nil, false
		}
		if c.Importing == nil { // a moved block or a new count gives another object this address
			bag.Add(diag.Errorf("Resource already managed by Lethe", "A moved block moves the object at %s to %s, so no other object can be imported there. If it is the object that you want to import, run `lethe apply` instead. Otherwise, remove the moved block, or remove the object from the state.", c.Was, im.To))
			return nil, false
		}
		next.Put(c.Object, hosts.Hosted(c.Object, run.Amended(c, c.Entry)))
	}
	kept, _ := e.Split(req.Program, next.Done())
	return kept, true
}

// imported returns the change in the plan p of the current object of an instance that an import names. It returns nil
// if the plan has no such change, or if the change has no entry for the state.
func imported(p *plan.Plan, to addr.Instance) *plan.Change {
	i := slices.IndexFunc(p.Changes, func(c *plan.Change) bool { return c.Object == to.Current() && c.Entry != nil })
	if i < 0 {
		return nil
	}
	return p.Changes[i]
}
