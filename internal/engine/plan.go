package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
)

// planner is the plan walk: over declarations, and over resources that only the state knows.
type planner struct {
	*run
	*planning
}

// planning is what a plan walk knows.
type planning struct {
	req   *Request
	prior *state.Snapshot // the previous run's, moves done
	moved *moves
	hosts Hosts
	sel   *selection

	graph  walk.Graph
	visits []visit
	decide []walk.Node               // by declaration
	users  map[lang.Decl][]walk.Node // by provider configuration: nodes that work through it
	back   lookBack

	failed  []atomic.Bool // by declaration: some instance has no value
	turnout turnout

	mu      sync.Mutex
	found   map[addr.Object]object.Current // refreshed objects
	edit    *state.Edit
	planned []*plan.Change
	drift   []*plan.Change
	changes map[within]changeKind

	recorded   map[lang.Decl][]addr.Resource
	byResource map[addr.AbsResource][]*plan.Change // decided changes, for replace_triggered_by
}

// visit is the work of a node.
type visit func(ctx context.Context, f *walk.Fan) bool

// Plan finds out what would have to be done.
func (e *Engine) Plan(ctx context.Context, req Request, bag *diag.Bag) (*Result, bool) {
	req.Options.Pure = true
	if req.Options.PlanTime.IsZero() {
		req.Options.PlanTime = e.Now().UTC()
	}
	r, ok := e.newRun(ctx, req.Program, req.Options, past{state: req.State}, bag)
	if !ok {
		return nil, false
	}
	r.looks, r.destroys = req.Mode == plan.RefreshOnly, req.Mode == plan.Destroy
	defer r.keepSessions(ctx)
	defer r.endLeases()
	p := &planner{r, &planning{
		req: &req, prior: req.State,
		users: map[lang.Decl][]walk.Node{}, back: lookBack{after: map[addr.Instance]reading{}},
		found: map[addr.Object]object.Current{}, recorded: map[lang.Decl][]addr.Resource{}, byResource: map[addr.AbsResource][]*plan.Change{},
		failed: make([]atomic.Bool, len(req.Program.Decls())), changes: map[within]changeKind{},
	}}
	if !e.checkImports(req.Program, req.Generate, bag) || !p.prepare(ctx) {
		return nil, false
	}
	spared := map[lang.Decl]bool{}
	if req.DeferEphemerals {
		spared = r.reach.onlyWritten()
	}
	r.waits = func(d lang.Decl, in addr.ModuleInstance) bool { return spared[d] || p.dependencyChanges(d, in, remade) }
	r.lacks, r.ready = p.dependencyFailed, p.getReady
	p.validateUnused(ctx, e)
	p.validateHooked(ctx, e)
	p.build()
	r.frame.Begin()
	p.walk(ctx)
	r.frame.End()
	p.objs.Review()
	p.moveFaults()
	made := p.finishImports(ctx)
	out := p.result(ctx)
	return &Result{Plan: out, Frame: r.frame, Generated: made, Cut: r.cut.Load(), request: &req}, !out.Errored
}

// scoped runs f as a planner whose errors are warnings, for what stands in a check block.
func (p *planner) scoped(f func(*planner) bool) (ok bool, said []diag.Diagnostic) {
	said = p.run.scoped(func(r *run) { ok = f(&planner{r, p.planning}) })
	return ok, said
}

// scoped runs f as a run whose errors are warnings, for what stands in a check block. It gives what
// was said, as it was.
func (r *run) scoped(f func(*run)) []diag.Diagnostic {
	var b diag.Bag
	f(&run{r.shared, &b})
	said := b.List()
	for _, d := range said {
		d.Severity = diag.Warning
		r.bag.Add(d)
	}
	return said
}

// prepare settles what is known before anything is asked of a provider: moves and targets.
func (p *planner) prepare(ctx context.Context) bool {
	p.moved = p.move()
	p.prior = p.moved.after
	p.edit, p.hosts = p.prior.Edit(), p.Hosts(p.prog.Tree(), p.prior)
	p.expandBefore(p.prior)
	sel, ok := p.selectTargets()
	p.sel = sel
	p.leaveBefore()
	return ok && p.checkMoved() && p.checkReplace()
}

// build makes the graph: a node or gate for every declaration, refresh nodes for what is in the
// state, and ghosts for what only the state knows. References become Waits: failure travels with
// values, so that one mistake stops only what receives something from it.
func (p *planner) build() {
	decls := p.prog.Decls()
	p.decide = make([]walk.Node, len(decls))
	for _, d := range decls {
		p.decide[d.ID] = p.add(d)
	}
	for _, d := range decls {
		for _, ref := range p.prog.Refs(d.ID) {
			p.graph.Waits(p.decide[d.ID], p.decide[ref.To])
		}
	}
	for _, d := range decls {
		if d.Kind == lang.Resource && d.Resource.Mode == addr.Managed {
			p.addRefresh(d.Resource, p.decide[d.ID], p.prog.ProviderOf(d.ID))
		}
	}
	p.addGhosts()
	p.addClosers()
}

// add makes the deciding node of a declaration. When that was visited, nothing more comes of it.
func (p *planner) add(d *lang.Declaration) walk.Node {
	label, work := func() string { return p.label(d) }, p.work(d)
	if work == nil {
		return p.node(label, nil)
	}
	return p.node(label, func(ctx context.Context, f *walk.Fan) bool {
		defer p.frame.Past(d.ID)
		return work(ctx, f)
	})
}

// work is what is to be done at the node of a declaration, nil for a gate.
func (p *planner) work(d *lang.Declaration) visit {
	keeps := d.Kind == lang.Call && d.Repeat() != lang.Once || d.Kind == lang.Resource && d.Resource.Mode != addr.Ephemeral
	switch {
	case p.sel.skips(d.ID) && keeps:
		return func(context.Context, *walk.Fan) bool { p.leave(d); return true }
	case p.sel.skips(d.ID):
		return nil
	case d.Kind == lang.Call && keeps:
		return func(context.Context, *walk.Fan) bool { return p.expand(d) }
	case d.Kind != lang.Resource && p.tests(d):
		return func(ctx context.Context, _ *walk.Fan) bool { return p.testAll(ctx, d) }
	case d.Kind == lang.Resource && d.Resource.Mode == addr.Managed:
		return func(ctx context.Context, f *walk.Fan) bool { return p.decideAll(ctx, f, d) }
	case d.Kind == lang.Resource && d.Resource.Mode == addr.Data:
		return func(ctx context.Context, f *walk.Fan) bool { return p.readAll(ctx, f, d) }
	}
	return nil
}

func (p *planner) label(d *lang.Declaration) string {
	switch d.Kind {
	case lang.Resource:
		return d.Resource.String()
	case lang.Provider:
		return d.Provider.String()
	}
	return fmt.Sprintf("%s %s", d.Module, d.Name)
}

// node adds a node with work, or a gate.
func (p *planner) node(label func() string, v visit) walk.Node {
	var n walk.Node
	if v == nil {
		n = p.graph.Gate(label, walk.Options{})
	} else {
		n = p.graph.Add(label, walk.Options{})
	}
	p.visits = append(p.visits, v)
	return n
}

// addRefresh makes the node that looks at a resource's real objects, before decide, through some
// provider configurations. What their settings refer to is decided by then.
func (p *planner) addRefresh(res addr.Resource, decide walk.Node, through ...lang.Decl) {
	objects := p.stored(res)
	if len(objects) == 0 {
		return
	}
	n := p.node(func() string { return res.String() + " (refresh)" }, func(_ context.Context, f *walk.Fan) bool {
		f.Jobs(len(objects), func(ctx context.Context, i int) bool { return p.refresh(ctx, objects[i]) })
		return true
	})
	p.graph.Waits(decide, n)
	for _, c := range through {
		p.users[c] = append(p.users[c], n)
		p.graph.Waits(n, p.decide[c])
	}
}

// walk runs the graph.
func (p *planner) walk(ctx context.Context) {
	p.walkGraph(ctx, &p.graph, walk.RunOptions{
		Workers: p.hands(),
		Visit: func(ctx context.Context, n walk.Node, f *walk.Fan) bool {
			return p.visits[n](ctx, f)
		},
	})
}

// hands is how many jobs are under way at once: for each token one more than works with it, so that
// a call stands ready when the token is free. Not where there are ephemeral resources: a call that
// stands ready may keep a lease open.
func (p *planner) hands() int {
	if p.reach.any {
		return p.workers()
	}
	return p.workers() + p.parallelism()
}

// panicked turns a panic of ours into a diagnostic: the rest of the run goes on.
func (r *run) panicked(n walk.Node, value any, stack []byte) {
	r.bag.Add(diag.Errorf("Internal error", "This is a bug in Lethe: %v\n\n%s", value, stack))
}

// useOf is the provider that a declared resource uses.
func (r *run) useOf(d *lang.Declaration, key addr.Key) use {
	c := r.prog.ProviderOf(d.ID)
	return use{decl: c, declared: true, instance: addr.ProviderInstance{ProviderConfig: r.prog.Decls()[c].Provider, Key: key}}
}

// stored lists the objects of a resource in the prior snapshot, in all module instances.
func (p *planner) stored(res addr.Resource) []addr.Object {
	var out []addr.Object
	for _, r := range p.storedResources()[res] {
		for o := range r.Objects() {
			if p.sel.instance(o.Instance) {
				out = append(out, o)
			}
		}
	}
	return out
}

// storedResources groups the prior snapshot by declaration, once.
func (p *planner) storedResources() map[addr.Resource][]*state.Resource {
	return p.moved.byDeclaration()
}

// record keeps a decision.
func (p *planner) record(c *plan.Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.planned = append(p.planned, c)
	if c.Action != plan.NoOp && !c.Object.IsDeposed() {
		p.byResource[c.Object.Abs()] = append(p.byResource[c.Object.Abs()], c)
	}
}

// result collects what was decided.
func (p *planner) result(ctx context.Context) *plan.Plan {
	out := &plan.Plan{
		Mode: p.req.Mode, Changes: p.planned, Drift: p.drift,
		Previous: p.req.State, Variables: p.variables(), Targets: p.req.Targets, Excludes: p.req.Excludes,
		ForceReplace: p.req.Replace, Workspace: p.req.Options.Workspace, Backend: p.req.Backend,
		Timestamp: p.req.Options.PlanTime, SpareDeposed: p.req.SpareDeposed, Readings: p.back.readings, Settings: p.decidedSettings(),
	}
	p.keys(out)
	byObject := func(a, b *plan.Change) int { return a.Object.Compare(b.Object) }
	slices.SortFunc(out.Changes, byObject)
	slices.SortFunc(out.Drift, byObject)
	slices.SortFunc(out.Readings, func(a, b plan.Reading) int { return a.Object.Compare(b.Object) })
	out.Refreshed = p.edit.Done()
	p.orderReplacements(out)
	p.warnForgotten(out.Changes)
	p.warnRetired(out)
	out.Outputs = p.outputs()
	if p.req.Mode == plan.Normal && !p.sel.active && !p.cut.Load() {
		p.checkValues()
	}
	out.Relevant = p.relevant(out)
	out.Checks = p.allResults()
	out.Functions = p.results.digests() // of what outputs call, too
	out.Errored = p.bag.HasErrors() || p.cut.Load()
	out.Complete = !p.sel.active && !out.Errored
	if p.reach.any {
		out.Leases = p.Forecast(ctx, p.prog, p.req.Options, out)
	}
	return out
}

// variables are the root variables as they were set, for the plan: ephemeral ones leave only
// their names, elsewhere.
func (p *planner) variables() map[string]plan.Variable {
	out := map[string]plan.Variable{}
	for name, v := range p.prog.Tree().Root.Module.Variables {
		if v.Ephemeral {
			continue
		}
		if value, outcome := p.frame.Variable(name, lang.After, &diag.Bag{}); outcome == lang.OK {
			out[name] = plan.Variable{Value: value.Raw}
		}
	}
	return out
}
