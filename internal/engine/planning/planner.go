package planning

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/moving"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
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
	Operation operation.Operation // operation of the command; determines its policy
	Program   *program.Program
	Options   frame.Options   // variables, workspace, directories
	State     *state.Snapshot // the state after the previous run
	Mode      plan.Mode
	Refresh   bool // refresh the stored objects first
	Targets   []addr.Target
	Excludes  []addr.Target
	Origin    targeting.Origin // of the targets
	Replace   []addr.Instance
	// AllowDestroy are addresses whose protection by prevent_destroy this plan overrides.
	AllowDestroy []addr.Target
	Imports      []Import // imports of the command line; the configuration may have others
	// Unanswered are the addresses of creations that no provider answered. If the plan creates an object at one of
	// them, the provider is asked whether the first object exists.
	Unanswered []addr.Instance
	// Rewrite are objects that an earlier run has written with a value of an ephemeral resource, and did not finish. The
	// values are the addresses of the resources. Their updates have the present value.
	Rewrite map[addr.Object]string
	// DeferEphemerals keeps a lease closed during planning if only write-only arguments receive its value. Providers
	// plan with unknown values in these arguments.
	DeferEphemerals bool
	// Rounds lets a later round decide about instances whose keys depend on objects of this plan.
	Rounds       bool
	Earlier      *Earlier // the decisions of the earlier rounds of the command; nil in the first round
	Provisioners plan.ProvisionerSettings
	Backend      string // for the plan file

	// Part lists the resources in the state, if it is a part of the state of the workspace. See plan.Plan.
	Part []string
}

// Result is a finished plan, with its frame for an apply that follows immediately.
type Result struct {
	Plan  *plan.Plan
	Frame *frame.Frame

	doubts map[addr.Object]bool // see refreshedState.doubt

	// Interrupted is true if an interrupt ended the planning early.
	Interrupted bool
}

// Earlier holds the decisions of the earlier rounds of a command (ADR 52). Each instance is decided once: a later round
// takes its object from the state, and asks no provider about it. A nil Earlier has no decisions.
type Earlier struct {
	planTime time.Time
	decided  map[addr.Object]bool
	read     map[addr.Object]bool // refreshed, but not decided
	// triggered are deferred objects that a change of an earlier round replaces (replace_triggered_by). They are tainted.
	triggered map[addr.Object]bool
}

// Generated is the result of Generate.
type Generated struct {
	// Blocks are resource blocks for the import targets that no resource block declares.
	Blocks map[addr.Resource]string
	// Rest is the plan of the configuration without these resources. It is for reports about a Generate that failed;
	// nil if nothing was planned.
	Rest *Result
}

// planner is a plan walk. It visits declarations, and resources that only the state has.
type planner struct {
	env   run.Env
	run   *run.Run
	req   *Request
	prior *state.Snapshot // the state after the previous run, with moves applied
	moved *moving.Moves
	named targeting.Request // the addresses in command-line options
	sel   *targeting.Selection

	nodes    *nodes
	state    *refreshedState
	imports  importRequests
	recorded recordedDependencies
	back     *beforeFace

	failed      []string // addresses of failed nodes
	outcomes    *outcomes
	deferred    *deferrals
	decisions   decisions
	invocations invocations
	leaseUsers  *leases.Users
	spared      map[program.Decl]bool // ephemeral resources that remain closed during planning
	again       sync.Once             // reports that data sources are read because their results are not stored
}

// deferrals are the decisions that a plan leaves to a later round (ADR 52). Its methods may be called concurrently.
//
// A declaration waits if its keys are not known, or if it refers to a declaration that waits, directly or through
// values. All references of a declaration were decided before it, so the answer of behind does not change later.
type deferrals struct {
	p   *planner
	any atomic.Bool // something is deferred; most plans never look further

	mu     sync.Mutex
	list   []*plan.Change
	noted  map[within]bool
	waits  map[within]program.Use // results of behind
	errors []diag.Diagnostic      // of unknown keys, as a plan without rounds reports them
}

// beforeFace makes values ready on the before face of a plan walk.
type beforeFace struct {
	p   *planner
	got sync.Map // by declaration: a *sync.Once

	mu       sync.Mutex
	after    map[addr.Instance]reading // results of data sources whose faces may differ
	readings []plan.Reading
}

// reading is the result of a data source and its configuration.
type reading struct {
	config cty.Value
	value  mark.Value
}

// invocations are the invocations of actions that a plan walk has planned so far (ADR 55).
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

// stored lists the selected objects of a resource in the prior state, in all module instances.
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

// stores reports whether the prior state has the object that a trigger names, whether or not targets select it.
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

// recordedDependencies are the dependencies of each resource that the state stores. They are computed once.
type recordedDependencies struct {
	throughData bool // see receivers.Analysis.Recorded

	mu sync.Mutex
	by map[program.Decl][]addr.Resource
}

// of returns the dependencies of a declaration.
func (r *recordedDependencies) of(a *receivers.Analysis, d program.Decl) []addr.Resource {
	r.mu.Lock()
	defer r.mu.Unlock()
	deps, ok := r.by[d]
	if !ok {
		if r.by == nil {
			r.by = map[program.Decl][]addr.Resource{}
		}
		deps = a.Recorded(d, r.throughData)
		r.by[d] = deps
	}
	return deps
}

// recordedOf returns the dependencies of a resource that the state will store.
func (p *planner) recordedOf(d program.Decl) []addr.Resource {
	return p.recorded.of(p.run.Receivers, d)
}

// useStored returns the stored result of a data source if it need not be read again: with -refresh=false and an
// unchanged configuration. A later round reads all data sources that it decides about: the changes that they waited for
// were made in an earlier one.
func (p *planner) useStored(d *program.Declaration, t *object.Tools, config mark.Value, inst addr.Instance) (mark.Value, *state.Entry, bool) {
	if p.req.Refresh || p.req.Earlier != nil || d.Res.Check != "" || d.Resource.Type == "terraform_remote_state" {
		return mark.Value{}, nil, false
	}
	entry := p.prior.Get(inst.Current())
	if entry == nil && p.run.Settings.ForgetData.Forgets(d.Resource, t.Type.HasSensitive() || config.Has(mark.Sensitive)) {
		p.again.Do(func() {
			p.run.Settings.Send(event.Note{Text: "Reading data sources although -refresh=false is set, because their results are not in the state (forget_data)."})
		})
	}
	return t.StoredData(config, entry)
}

// evaluate calls f and reports its diagnostics. In a refresh-only plan it reports only failures of providers, because
// declared objects need not exist yet.
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

// faceOf returns the face for the evaluation of settings about the end of objects: the before face, or the after face
// if the module instance does not exist on the before face.
func (p *planner) faceOf(f *frame.Frame) frame.Face {
	if p.run.Frame.At(f.Addr(), frame.Before) == nil {
		return frame.After
	}
	return frame.Before
}

// placeholder returns the unknown value of a resource's type.
func (p *planner) placeholder(d *program.Declaration) mark.Value {
	return mark.Plain(p.run.Program.Schema(d.ID).Unknown())
}
