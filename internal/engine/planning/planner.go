package planning

import (
	"context"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/moving"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
	"github.com/zclconf/go-cty/cty"
)

// Request says what to plan.
type Request struct {
	Program  *program.Program
	Options  frame.Options   // variables, workspace, directories
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
	// Unprotected destroys what prevent_destroy keeps from that, too.
	Unprotected bool
	Backend     string // for the plan file

	// Quiet says that the targets are those of the import command, not the user's: only what is imported is looked
	// at, and no warnings say that the plan is a part.
	Quiet bool

	// Part are the resources that the state has, where it is a part; Changed says that the targets are what changed, and
	// maybe none. See plan.Plan.
	Part    []string
	Changed bool
}

// Import asks for an existing object to be taken in.
type Import struct {
	To addr.Instance
	ID string
}

// Result is a finished plan with what an apply right after it can go on using.
type Result struct {
	Plan  *plan.Plan
	Frame *frame.Frame

	// Cut says that an interrupt kept something from being looked at.
	Cut bool

	// Generated is configuration for imported resources that have none, if it was asked for. The
	// plan says nothing of them: it is to be made again with this configuration.
	Generated map[addr.Resource]string
}

// planner is the plan walk: over declarations, and over resources that only the state knows.
type planner struct {
	env   run.Env
	run   *run.Run
	req   *Request
	prior *state.Snapshot // the previous run's, moves done
	moved *moving.Moves
	hosts run.Hosts
	named targeting.Request // what options name
	sel   *targeting.Selection

	graph  walk.Graph
	visits []visit
	names  []string                     // of the nodes, for messages
	decide []walk.Node                  // by declaration
	users  map[program.Decl][]walk.Node // by provider configuration: nodes that work through it
	back   *lookBack

	failed     []string // addresses of what failed
	outcomes   *outcomes
	decisions  decisions
	leaseUsers *leases.Users
	spared     map[program.Decl]bool // ephemeral resources that are kept closed while planning

	mu    sync.Mutex
	found map[addr.Object]object.Current // refreshed objects
	edit  *state.Edit
	drift []*plan.Change

	recorded map[program.Decl][]addr.Resource
}

// visit is the work of a node.
type visit func(ctx context.Context, f *walk.Fan) bool

// lookBack is what a plan walk knows of the before face.
type lookBack struct {
	p   *planner
	got sync.Map // by declaration: a *sync.Once

	mu       sync.Mutex
	after    map[addr.Instance]reading // what was read of data whose faces may differ
	readings []plan.Reading
}

// reading is what a data source gave, and what it was asked.
type reading struct {
	config cty.Value
	value  mark.Value
}

// node adds a node with work, or a gate. name is the address that it works on.
func (p *planner) node(name string, v visit) walk.Node {
	p.visits, p.names = append(p.visits, v), append(p.names, name)
	if v == nil {
		return p.graph.Gate(walk.Options{})
	}
	return p.graph.Add(walk.Options{})
}

// stored lists the objects of a resource in the prior snapshot, in all module instances.
func (p *planner) stored(res addr.Resource) []addr.Object {
	var out []addr.Object
	for _, r := range p.storedResources()[res] {
		for o := range r.Objects() {
			if p.sel.Includes(o.Instance) {
				out = append(out, o)
			}
		}
	}
	return out
}

// stores reports whether the prior snapshot has the object that a trigger names, whatever the targets.
func (p *planner) stores(t frame.Trigger) bool {
	for _, r := range p.storedResources()[t.Resource.Resource()] {
		for o := range r.Objects() {
			if o.Abs() == t.Resource && o.Key == t.Key {
				return true
			}
		}
	}
	return false
}

// storedResources groups the prior snapshot by declaration, once.
func (p *planner) storedResources() map[addr.Resource][]*state.Resource {
	return p.moved.ByDeclaration()
}

// recordedOf is what the state is to remember as a resource's dependencies.
func (p *planner) recordedOf(d program.Decl) []addr.Resource {
	p.mu.Lock()
	defer p.mu.Unlock()
	deps, ok := p.recorded[d]
	if !ok {
		deps = p.run.Receivers.Recorded(d)
		p.recorded[d] = deps
	}
	return deps
}

// useStored takes the result of the last run instead of reading again: with -refresh=false, where
// the question is the same (seed 002).
func (p *planner) useStored(d *program.Declaration, t *object.Tools, config mark.Value, inst addr.Instance) (mark.Value, *state.Entry, bool) {
	if p.req.Refresh || d.Res.Check != "" || d.Resource.Type == "terraform_remote_state" {
		return mark.Value{}, nil, false
	}
	return t.StoredData(config, p.prior.Get(inst.Current()))
}

func (p *planner) put(o addr.Object, e *state.Entry) {
	e = p.hosts.Hosted(o, e)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.edit.Put(o, e)
}

// refreshed gives what refreshing found of an object, and whether it did: an object that is gone has no entry.
func (p *planner) refreshed(o addr.Object) (object.Current, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cur, seen := p.found[o]
	return cur, seen
}

// unseen reports whether an object of the state could not be looked at.
func (p *planner) unseen(o addr.Object) bool {
	_, seen := p.refreshed(o)
	return !seen && p.prior.Get(o) != nil
}

// evaluate runs f with the bag for what f reports. If nothing is decided, what is declared need not be there yet, so only
// failures of providers are reported.
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

// placeholder is the value of an instance that nothing is known about.
func (p *planner) placeholder(d *program.Declaration) mark.Value {
	return mark.Plain(p.run.Program.Schema(d.ID).Unknown())
}
