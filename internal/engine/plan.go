package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/moving"
	"github.com/lethe-iac/lethe/internal/engine/ordering"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
)

// planner is the plan walk: over declarations, and over resources that only the state knows.
type planner struct {
	env   Env
	run   *run
	req   *Request
	prior *state.Snapshot // the previous run's, moves done
	moved *moving.Moves
	hosts Hosts
	sel   *targeting.Selection

	graph  walk.Graph
	visits []visit
	decide []walk.Node               // by declaration
	users  map[lang.Decl][]walk.Node // by provider configuration: nodes that work through it
	back   *lookBack

	outcomes   *outcomes
	leaseUsers *leases.Users
	spared     map[lang.Decl]bool // ephemeral resources that are kept closed while planning

	mu      sync.Mutex
	found   map[addr.Object]object.Current // refreshed objects
	edit    *state.Edit
	planned []*plan.Change
	drift   []*plan.Change

	recorded   map[lang.Decl][]addr.Resource
	byResource map[addr.AbsResource][]*plan.Change // decided changes, for replace_triggered_by
}

// visit is the work of a node.
type visit func(ctx context.Context, f *walk.Fan) bool

// makePlan finds out what would have to be done.
func makePlan(ctx context.Context, env Env, req Request, bag *diag.Bag) (*Result, bool) {
	req.Options.Pure = true
	if req.Options.PlanTime.IsZero() {
		req.Options.PlanTime = env.Settings.Now().UTC()
	}
	p := &planner{
		env: env,
		req: &req, prior: req.State,
		users: map[lang.Decl][]walk.Node{},
		found: map[addr.Object]object.Current{}, recorded: map[lang.Decl][]addr.Resource{}, byResource: map[addr.AbsResource][]*plan.Change{},
		outcomes: newOutcomes(req.Program),
	}
	p.back = &lookBack{p: p, after: map[addr.Instance]reading{}}
	var ok bool
	p.run, ok = newRun(ctx, env, runRequest{
		Program: req.Program, Options: req.Options, Looks: req.Mode == plan.RefreshOnly, Destroy: req.Mode == plan.Destroy,
		Ready: p.ready, Before: p.back.getReady,
	}, bag)
	if !ok {
		return nil, false
	}
	r := p.run
	defer r.sessions.keep(ctx, bag)
	defer r.end()
	p.leaseUsers = r.leases.Users()
	if req.DeferEphemerals {
		p.spared = r.receivers.OnlyWritten()
	}
	if !checkImports(req.Program, req.Generate, bag) || !p.prepare(ctx) {
		return nil, false
	}
	p.validateUnused(ctx)
	p.validateHooked(ctx)
	p.build()
	r.frame.Begin()
	p.walk(ctx)
	r.frame.End()
	p.run.objs.Review()
	p.moved.Faults(p.run.frame, p.req.Mode == plan.Destroy, p.run.bag)
	made := (&importFinisher{p}).finish(ctx)
	out := p.result(ctx)
	return &Result{Plan: out, Frame: r.frame, Generated: made, Cut: r.cut.Load()}, !out.Errored
}

// ready says whether an ephemeral resource may be opened: not if what it depends on is created or replaced, and
// not if that failed.
func (p *planner) ready(e lang.Decl, in addr.ModuleInstance) leases.Readiness {
	switch {
	case p.outcomes.dependencyFailed(e):
		return leases.Never
	case p.spared[e] || p.outcomes.dependencyChanges(e, in, remade):
		return leases.Later
	}
	return leases.Open
}

// prepare settles what is known before anything is asked of a provider: moves and targets.
func (p *planner) prepare(ctx context.Context) bool {
	p.moved = moving.Make(p.run.prog, p.req.State)
	p.prior = p.moved.State
	p.edit, p.hosts = p.prior.Edit(), hostsFor(p.run.settings, p.run.prog.Tree(), p.prior)
	filling.ExpandBefore(p.run.prog, p.run.frame, p.prior)
	sel, ok := targeting.Select(targeting.Request{
		Program: p.run.prog, Receivers: p.run.receivers, Prior: p.prior, Stored: p.storedResources(),
		Targets: p.req.Targets, Excludes: p.req.Excludes, Destroy: p.req.Mode == plan.Destroy, Quiet: p.req.quiet,
	}, p.run.bag)
	p.sel = sel
	p.leaveBefore()
	return ok && p.checkMoved() && p.checkReplace()
}

// build makes the graph: a node or gate for every declaration, refresh nodes for what is in the
// state, and ghosts for what only the state knows. References become Waits: failure travels with
// values, so that one mistake stops only what receives something from it.
func (p *planner) build() {
	decls := p.run.prog.Decls()
	p.decide = make([]walk.Node, len(decls))
	for _, d := range decls {
		p.decide[d.ID] = p.add(d)
	}
	for _, d := range decls {
		for _, ref := range p.run.prog.Refs(d.ID) {
			p.graph.Waits(p.decide[d.ID], p.decide[ref.To])
		}
	}
	for _, d := range decls {
		if d.Kind == lang.Resource && d.Resource.Mode == addr.Managed {
			p.addRefresh(d.Resource, p.decide[d.ID], p.run.prog.ProviderOf(d.ID))
		}
	}
	p.addGhosts()
	p.addLeaseNodes()
}

// add makes the deciding node of a declaration. When that was visited, nothing more comes of it.
func (p *planner) add(d *lang.Declaration) walk.Node {
	label, work := func() string { return p.label(d) }, p.work(d)
	if work == nil {
		return p.node(label, nil)
	}
	return p.node(label, func(ctx context.Context, f *walk.Fan) bool {
		defer p.run.frame.Past(d.ID)
		return work(ctx, f)
	})
}

// work is what is to be done at the node of a declaration, nil for a gate.
func (p *planner) work(d *lang.Declaration) visit {
	keeps := d.Kind == lang.Call && d.Repeat() != lang.Once || d.Kind == lang.Resource && d.Resource.Mode != addr.Ephemeral
	switch {
	case p.sel.Skips(d.ID) && keeps:
		return func(context.Context, *walk.Fan) bool { p.leave(d); return true }
	case p.sel.Skips(d.ID):
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
		f.Jobs(len(objects), func(ctx context.Context, i int) bool {
			return (&storedObject{p, objects[i], p.prior.Get(objects[i])}).look(ctx)
		})
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
	p.run.walkGraph(ctx, &p.graph, walk.RunOptions{
		Workers: maxJobs(p.run.settings, p.run.receivers),
		Visit: func(ctx context.Context, n walk.Node, f *walk.Fan) bool {
			return p.visits[n](ctx, f)
		},
	})
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

// storedResources groups the prior snapshot by declaration, once.
func (p *planner) storedResources() map[addr.Resource][]*state.Resource {
	return p.moved.ByDeclaration()
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
		Timestamp: p.req.Options.PlanTime, SpareDeposed: p.req.SpareDeposed, Readings: p.back.readings, Settings: p.run.sessions.decided(),
	}
	filling.CollectKeys(p.run.prog, p.run.frame, out)
	byObject := func(a, b *plan.Change) int { return a.Object.Compare(b.Object) }
	slices.SortFunc(out.Changes, byObject)
	slices.SortFunc(out.Drift, byObject)
	slices.SortFunc(out.Readings, func(a, b plan.Reading) int { return a.Object.Compare(b.Object) })
	out.Refreshed = p.edit.Done()
	ordering.SettleReplacements(p.run.source(out))
	p.warnForgotten(out.Changes)
	p.warnRetired(out)
	out.Outputs = (&rootOutputs{p}).changes()
	if p.req.Mode == plan.Normal && !p.sel.Active && !p.run.cut.Load() {
		p.run.checkValues()
	}
	out.Relevant = p.relevant(out)
	out.Checks = p.allResults()
	out.Functions = p.run.results.digests() // of what outputs call, too
	out.Errored = p.run.bag.HasErrors() || p.run.cut.Load()
	out.Complete = !p.sel.Active && !out.Errored
	out.Leases = ordering.PreviewLeases(p.run.prog, p.run.receivers, p.req.Options, out)
	return out
}

// variables are the root variables as they were set, for the plan: ephemeral ones leave only
// their names, elsewhere.
func (p *planner) variables() map[string]plan.Variable {
	out := map[string]plan.Variable{}
	for name, v := range p.run.prog.Tree().Root.Module.Variables {
		if v.Ephemeral {
			continue
		}
		if value, outcome := p.run.frame.Variable(name, lang.After, &diag.Bag{}); outcome == lang.OK {
			out[name] = plan.Variable{Value: value.Raw}
		}
	}
	return out
}

// maxJobs is how many jobs are under way at once: for each token one more than works with it, so that
// a call stands ready when the token is free. Not where there are ephemeral resources: a call that
// stands ready may keep a lease open.
func maxJobs(s *Settings, r *receivers.Analysis) int {
	if r.Any {
		return s.workers()
	}
	return s.workers() + s.parallelism()
}
