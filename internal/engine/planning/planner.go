package planning

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/moving"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Request holds the inputs of a plan.
type Request struct {
	Operation operation.Operation // the operation of the command, which determines the policy
	Program   *program.Program
	Options   frame.Options   // values of variables, workspace, directories
	State     *state.Snapshot // the state after the previous run
	Mode      plan.Mode
	Refresh   bool // read the stored objects through their providers first; false with -refresh=false
	Targets   []addr.Target
	Excludes  []addr.Target
	Origin    targeting.Origin // the reason for the targets
	Replace   []addr.Instance
	// AllowDestroy has the addresses of objects that the plan may destroy although prevent_destroy protects them.
	AllowDestroy []addr.Target
	Imports      []Import // the imports of the command import; the configuration may have import blocks in addition
	// Unanswered has the addresses of creations in an interrupted run whose calls the provider did not answer. If the
	// plan creates an object at such an address, it asks the provider whether the earlier call has created an object.
	Unanswered []addr.Instance
	// Rewrite has the objects that an interrupted run of the command has written with the value of an ephemeral
	// resource. The plan updates them, so that they have the present value. The values of the map are the addresses of
	// the ephemeral resources.
	Rewrite map[addr.Object]string
	// DeferEphemerals keeps an ephemeral resource closed during planning if only write-only arguments receive its
	// value. Providers then plan with unknown values for these arguments.
	DeferEphemerals bool
	// Rounds allows the plan to leave decisions to a later round (a further plan and apply of the command, ADR 52), for
	// example about instances whose keys depend on objects of this plan.
	Rounds       bool
	Earlier      *Earlier // the decisions of the earlier rounds of the command; nil in the first round
	Provisioners plan.ProvisionerSettings
	Backend      string // the type of the backend, which the plan file stores

	// Part has the addresses, without keys, of the resources in State, if State is only a part of the workspace's
	// state. nil means that State is the whole state.
	Part []string
}

// Result is a finished plan. Frame has the values of the configuration during plan.
type Result struct {
	Plan  *plan.Plan
	Frame *frame.Frame

	doubts map[addr.Object]bool // objects that a later round of the command (a further plan and apply) must plan again

	// Interrupted is true if an interrupt ended the planning early.
	Interrupted bool
}

// Earlier has the objects about which the earlier rounds of a command have decided. A round is one plan and its apply
// (ADR 52). Only one round decides about an instance: later rounds take its object from the state, without a call to
// its provider. A nil Earlier has no objects.
type Earlier struct {
	planTime time.Time            // the result of plantimestamp in all rounds
	decided  map[addr.Object]bool // objects about which an earlier round has decided
	read     map[addr.Object]bool // objects that an earlier round has refreshed, but about which no round has decided
	// replaced has the deferred objects that a later round replaces, because of -replace, or because a change in an
	// earlier round triggers it (replace_triggered_by). The state has them as tainted.
	replaced map[addr.Object]plan.Reason
}

// Generated is the result of Generate.
type Generated struct {
	// Blocks has generated resource blocks for the import targets that no resource block declares.
	Blocks map[addr.Resource]string
	// Rest is the plan of the configuration without these resources, for reports if Generate fails. It is nil if
	// planning could not start.
	Rest *Result
}

// planner is the run of one plan (a plan walk). It visits declarations, and resources that are only in the state.
type planner struct {
	env   run.Env
	run   *run.Run
	req   *Request
	prior *state.Snapshot      // the state after the previous run, after the moves of moved blocks
	moved *moving.Moves        // the moves of stored objects before planning
	named targeting.Request    // the addresses in command-line options
	sel   *targeting.Selection // the declarations and instances that the options select

	nodes    *nodes               // the graph of the plan
	state    *refreshedState      // the prior state, with refreshed and imported objects and results of data sources
	imports  importRequests       // the imports of the command line and of import blocks
	recorded recordedDependencies // computes the dependencies of resources for the state
	back     *beforeFace          // sets prior values when they are needed

	failed      []string              // addresses of failed nodes
	outcomes    *outcomes             // which declarations change or have no value
	deferred    *deferrals            // the decisions that a later round makes
	decisions   decisions             // the changes that have been planned so far
	invocations invocations           // the invocations of actions that have been planned so far
	leaseUsers  *leases.Users         // closes leases of single instances after their last users
	spared      map[program.Decl]bool // ephemeral resources that stay closed during planning, because Request.DeferEphemerals leaves their opening to apply
	again       sync.Once             // ensures that the message about reads of data sources whose results the state lacks is sent once
}

// deferrals are the decisions that a plan leaves to a later round (ADR 52). The methods may be called concurrently.
//
// A declaration waits (for a later round: a further plan and apply) if its instance keys are unknown, or if it refers
// to a declaration that waits, directly or through values. The walk decides about all references of a declaration
// before the declaration itself. So the result of deferrals.behind for a declaration does not change after the first
// call.
type deferrals struct {
	p   *planner
	any atomic.Bool // whether any decision is deferred; in most plans, none is

	mu     sync.Mutex
	list   []*plan.Change         // the deferred changes
	noted  map[within]bool        // the declarations that wait, for their module instance and all module instances around it
	waits  map[within]program.Use // the results of the method behind
	errors []diag.Diagnostic      // the errors that a plan without rounds reports, such as unknown keys
}

// beforeFace sets the prior values of a plan walk (the before face; the after face has the planned values) when they
// are needed.
type beforeFace struct {
	p   *planner
	got sync.Map // by program.Decl: a *sync.Once, which sets the declaration's values once

	mu       sync.Mutex
	after    map[addr.Instance]reading // planned results (after face) of data sources whose prior results may differ
	readings []plan.Reading            // the prior results that the plan passes to the apply (Plan.Readings)
}

// reading is the result of a data source and its configuration.
type reading struct {
	config cty.Value
	value  mark.Value
}

// invocations are the action invocations that a plan walk has planned so far (ADR 55).
type invocations struct {
	mu   sync.Mutex
	list []*plan.Invocation
}

func (x *invocations) add(i *plan.Invocation) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = append(x.list, i)
}

// sorted returns the invocations in the order of the plan.
func (x *invocations) sorted() []*plan.Invocation {
	slices.SortFunc(x.list, (*plan.Invocation).Compare)
	return x.list
}

// stored lists the objects of the resource res in the prior state, in all module instances, without objects that
// -target or -exclude leaves out.
func (p *planner) stored(res addr.Resource) []addr.Object {
	var out []addr.Object
	for _, r := range p.moved.ByDeclaration()[res] {
		for o := range r.Objects() {
			if p.sel.Includes(o.Instance) {
				out = append(out, o)
			}
		}
	}
	return out
}

// stores reports whether the prior state has the object that a reference in replace_triggered_by names. Objects that
// -target or -exclude leaves out count, too.
func stores(prior *moving.Moves, t frame.Trigger) bool {
	for _, r := range prior.ByDeclaration()[t.Resource.Resource()] {
		for o := range r.Objects() {
			if o.Abs() == t.Resource && o.Key == t.Key {
				return true
			}
		}
	}
	return false
}

// recordedDependencies computes the resources on which a resource depends, for the state, and caches them for each
// resource.
type recordedDependencies struct {
	throughData bool // the result also has the dependencies of data sources, whose own dependencies the state may lack

	mu sync.Mutex
	by map[program.Decl][]addr.Resource
}

// of returns the dependencies of the resource d that the state will store.
func (r *recordedDependencies) of(run *run.Run, d program.Decl) []addr.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	deps, ok := r.by[d]
	if !ok {
		if r.by == nil {
			r.by = map[program.Decl][]addr.Resource{}
		}
		deps = run.Receivers.Recorded(d, func(to *program.Declaration) bool {
			return r.throughData && to.Resource.Mode == addr.Data || empty(run.Frame, to)
		})
		r.by[d] = deps
	}
	return deps
}

// empty reports whether a resource will have no instances, so that the state will lack its dependencies.
func empty(f *frame.Frame, d *program.Declaration) bool {
	in, status := f.Instances(d.Module, frame.After)
	return status == frame.Known && !slices.ContainsFunc(in, func(f *frame.Frame) bool {
		keys := f.Expanded(d.ID, frame.After)
		return keys.Status != frame.Known || len(keys.List) > 0
	})
}

// recordedOf returns the dependencies that the state will store for the resource d. It caches them.
func (p *planner) recordedOf(d program.Decl) []addr.Resource {
	return p.recorded.of(p.run, d)
}

// useStored returns the stored result of a data source and its state entry. It returns false if the walk must read the
// data source. It uses the stored result only if all of these are true:
//
//   - -refresh=false is set;
//   - this is the first round (plan and apply) of the command: in later rounds, the changes for which a data source
//     waited have been made;
//   - the data source is not in a check block, and is not terraform_remote_state;
//   - its configuration and its provider instance are the same as when the result was stored.
func (p *planner) useStored(d *program.Declaration, t *object.Tools, config mark.Value, inst addr.Instance, u declared.Use) (mark.Value, *state.Entry, bool) {
	if p.req.Refresh || p.req.Earlier != nil || d.Res.Check != "" || d.Resource.Type == "terraform_remote_state" {
		return mark.Value{}, nil, false
	}
	entry := p.prior.Get(inst.Current())
	if entry == nil && p.run.Settings.ForgetData.Forgets(d.Resource, t.Type.HasSensitive() || config.Has(mark.Sensitive)) {
		p.again.Do(func() {
			p.run.Settings.Send(event.Note{Text: "Reading data sources although -refresh=false is set, because their results are not in the state (forget_data)."})
		})
	}
	if entry == nil || !declared.SameInstance(entry.Provider, u.Instance) {
		return mark.Value{}, nil, false
	}
	return t.StoredData(config, entry)
}

// evaluate calls f and reports the diagnostics of f. In a refresh-only plan, it reports only failures of providers and
// of provider functions: other errors may occur because declared objects need not exist.
func (p *planner) evaluate(f func(*diag.Bag)) {
	if p.req.Mode != plan.RefreshOnly {
		f(p.run.Bag)
		return
	}
	var bag diag.Bag
	f(&bag)
	shared := p.run.Sessions.Failures()
	for _, d := range bag.List() {
		if d.Foreign || shared.Has(d) || d.Call != nil && strings.HasPrefix(d.Call.Function, "provider::") {
			p.run.Bag.Add(d)
		}
	}
}

// faceOf returns the face on which to evaluate settings for the destruction of an object in the module instance f. This
// is the before face (prior values), or the after face (planned values) if the prior state does not have the module
// instance.
func (p *planner) faceOf(f *frame.Frame) frame.Face {
	if p.run.Frame.At(f.Addr(), frame.Before) == nil {
		return frame.After
	}
	return frame.Before
}

// placeholder returns an unknown value of a resource's type.
func (p *planner) placeholder(d *program.Declaration) mark.Value {
	return mark.Plain(p.run.Program.Schema(d.ID).Unknown())
}
