package planning

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/leases"
	"github.com/lethe-iac/lethe/internal/engine/moving"
	"github.com/lethe-iac/lethe/internal/engine/ordering"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Plan finds out what would have to be done.
func Plan(ctx context.Context, env run.Env, req Request, bag *diag.Bag) (*Result, bool) {
	req.Options.Pure = true
	if req.Options.PlanTime.IsZero() {
		req.Options.PlanTime = env.Settings.Now().UTC()
	}
	p := &planner{
		env: env,
		req: &req, prior: req.State,
		users: map[program.Decl][]walk.Node{},
		found: map[addr.Object]object.Current{}, recorded: map[program.Decl][]addr.Resource{},
		outcomes: &outcomes{prog: req.Program, failed: make([]atomic.Bool, len(req.Program.Decls())), changes: map[within]changeKind{}, behind: map[program.Decl][]program.Decl{}},
	}
	p.back = &lookBack{p: p, after: map[addr.Instance]reading{}}
	var ok bool
	p.run, ok = run.New(ctx, env, run.Request{
		Program: req.Program, Options: req.Options, Looks: req.Mode == plan.RefreshOnly || req.Quiet, Destroy: req.Mode == plan.Destroy,
		Ready: p.ready, Before: p.back.getReady,
	}, bag)
	if !ok {
		return nil, false
	}
	r := p.run
	defer r.Sessions.Keep(ctx, bag)
	defer r.End()
	p.leaseUsers = r.Leases.Users()
	if req.DeferEphemerals {
		p.spared = r.Receivers.OnlyWritten()
	}
	if req.Mode == plan.Normal && !req.Generate && !req.Quiet && !importsDeclared(req.Program, bag) || !p.prepare() {
		return nil, false
	}
	rest := &unplanned{p}
	rest.ephemerals(ctx)
	rest.provisioners(ctx)
	p.build()
	r.Frame.Begin()
	p.walk(ctx)
	r.Frame.End()
	p.run.Objects.Review()
	p.warnAbsent()
	p.moved.Faults(p.run.Frame, p.req.Mode == plan.Destroy, p.run.Bag)
	made := (&importFinisher{p}).finish(ctx)
	out := p.result()
	return &Result{Plan: out, Frame: r.Frame, Generated: made, Cut: r.Cut.Load()}, !out.Errored
}

// ready says whether an ephemeral resource may be opened: not if what it depends on is created or replaced, and
// not if that failed.
func (p *planner) ready(e program.Decl, in addr.ModuleInstance) leases.Readiness {
	switch {
	case p.outcomes.dependencyFailed(e):
		return leases.Never
	case p.spared[e] || p.outcomes.dependencyChanges(e, in, remade):
		return leases.Later
	}
	return leases.Open
}

// prepare settles what is known before anything is asked of a provider: moves and targets.
func (p *planner) prepare() bool {
	p.moved = moving.Make(p.run.Program, p.req.State)
	p.prior = p.moved.State
	p.edit, p.hosts = p.prior.Edit(), run.HostsFor(p.run.Settings, p.run.Program.Tree(), p.prior)
	filling.ExpandBefore(p.run.Program, p.run.Frame, p.prior)
	p.named = targeting.Request{
		Program: p.run.Program, Receivers: p.run.Receivers, Prior: p.prior, Stored: p.storedResources(),
		Targets: p.req.Targets, Excludes: p.req.Excludes, Replace: p.req.Replace, Destroy: p.req.Mode == plan.Destroy, Quiet: p.req.Quiet, Changed: p.req.Changed,
	}
	sel, ok := targeting.Select(p.named, p.run.Bag)
	p.sel = sel
	p.leaveBefore()
	return ok && p.checkMoved() && checkReplace(p.req.Replace, p.run.Bag)
}

// warnAbsent warns of instances that are named and not there. Where nothing is created only what is stored counts.
func (p *planner) warnAbsent() {
	root := p.run.Frame
	if p.req.Mode != plan.Normal {
		root = nil
	}
	p.named.WarnAbsent(root, p.run.Bag)
}

// build makes the graph: a node or gate for every declaration, refresh nodes for what is in the
// state, and ghosts for what only the state knows. References become Waits: failure travels with
// values, so that one mistake stops only what receives something from it.
func (p *planner) build() {
	decls := p.run.Program.Decls()
	p.decide = make([]walk.Node, len(decls))
	for _, d := range decls {
		p.decide[d.ID] = p.add(d)
	}
	for _, d := range decls {
		for _, ref := range p.run.Program.Refs(d.ID) {
			p.graph.Waits(p.decide[d.ID], p.decide[ref.To])
		}
	}
	for _, d := range decls {
		if d.Kind == program.Resource && d.Resource.Mode == addr.Managed {
			p.addRefresh(d.Resource, p.decide[d.ID], p.run.Program.ProviderOf(d.ID))
		}
	}
	p.addGhosts()
	p.addLeaseNodes()
}

// add makes the deciding node of a declaration. When that was visited, nothing more comes of it.
func (p *planner) add(d *program.Declaration) walk.Node {
	work := p.work(d)
	if work == nil {
		return p.node("", nil)
	}
	return p.node(d.String(), func(ctx context.Context, f *walk.Fan) bool {
		defer p.run.Frame.Past(d.ID)
		return work(ctx, f)
	})
}

// work is what is to be done at the node of a declaration, nil for a gate.
func (p *planner) work(d *program.Declaration) visit {
	keeps := d.Kind == program.Call && d.Repeat() != program.Once || d.Kind == program.Resource && d.Resource.Mode != addr.Ephemeral
	switch {
	case p.sel.Skips(d.ID) && keeps:
		return func(context.Context, *walk.Fan) bool { p.leave(d); return true }
	case p.sel.Skips(d.ID):
		return nil
	case d.Kind == program.Call && keeps:
		return func(context.Context, *walk.Fan) bool { return p.expand(d) }
	case d.Kind != program.Resource && p.tests(d):
		return func(ctx context.Context, _ *walk.Fan) bool { return p.testAll(ctx, d) }
	case d.Kind == program.Resource && d.Resource.Mode == addr.Managed:
		return func(ctx context.Context, f *walk.Fan) bool { return p.decideAll(ctx, f, d) }
	case d.Kind == program.Resource && d.Resource.Mode == addr.Data:
		return func(ctx context.Context, f *walk.Fan) bool { return p.readAll(ctx, f, d) }
	}
	return nil
}

// walk runs the graph.
func (p *planner) walk(ctx context.Context) {
	result := p.run.WalkGraph(ctx, &p.graph, walk.RunOptions{
		Workers: maxJobs(p.run.Settings, p.run.Receivers),
		Visit: func(ctx context.Context, n walk.Node, f *walk.Fan) bool {
			return p.visits[n](ctx, f)
		},
	})
	for i, name := range p.names {
		if result.Of(walk.Node(i)) == walk.Failed {
			p.failed = append(p.failed, name)
		}
	}
}

// result collects what was decided.
func (p *planner) result() *plan.Plan {
	out := &plan.Plan{
		Mode: p.req.Mode, Changes: p.decisions.list, Drift: p.drift,
		Previous: p.req.State, Variables: variables(p.run), Targets: p.req.Targets, Excludes: p.req.Excludes, Part: p.req.Part, Changed: p.req.Changed,
		Workspace: p.req.Options.Workspace, Backend: p.req.Backend,
		Timestamp: p.req.Options.PlanTime, SpareDeposed: p.req.SpareDeposed, Readings: p.back.readings, NoBefore: p.run.Sessions.NoBefore(),
	}
	filling.CollectKeys(p.run.Program, p.run.Frame, out)
	byObject := func(a, b *plan.Change) int { return a.Object.Compare(b.Object) }
	slices.SortFunc(out.Changes, byObject)
	slices.SortFunc(out.Drift, byObject)
	slices.SortFunc(out.Readings, func(a, b plan.Reading) int { return a.Object.Compare(b.Object) })
	out.Refreshed = p.edit.Objects()
	ordering.SettleReplacements(p.run.Source(out))
	warnForgotten(p.run, out.Changes)
	warnRetired(p.run, out)
	p.keepImported(out.Changes)
	out.Outputs = (&rootOutputs{p}).changes()
	if p.req.Mode == plan.Normal && !p.sel.Active && !p.run.Cut.Load() {
		p.run.CheckValues()
	}
	out.Relevant = relevant(p.run, out)
	out.Checks = p.run.AllResults(!p.sel.Active)
	out.Functions = p.run.Results.Digests() // of what outputs call, too
	p.run.Account(p.failed...)
	out.Errored = p.run.Bag.HasErrors() || p.run.Cut.Load()
	out.Complete = !p.sel.Active && !out.Errored
	out.Leases = ordering.PreviewLeases(p.run.Program, p.run.Receivers, p.req.Options, out)
	return out
}

// variables are the root variables as they were set, for the plan: ephemeral ones leave only
// their names, elsewhere.
func variables(r *run.Run) map[string]plan.Variable {
	out := map[string]plan.Variable{}
	for name, v := range r.Program.Tree().Root.Module.Variables {
		if v.Ephemeral {
			continue
		}
		if value, outcome := r.Frame.Named(program.Variable, name, frame.After, &diag.Bag{}); outcome == frame.OK {
			out[name] = plan.Variable{Value: value.Raw}
		}
	}
	return out
}

// maxJobs is how many jobs are under way at once: for each token one more than works with it, so that
// a call stands ready when the token is free. Not where there are ephemeral resources: a call that
// stands ready may keep a lease open.
func maxJobs(s *run.Settings, r *receivers.Analysis) int {
	if r.Any {
		return s.Workers()
	}
	return s.Workers() + s.Tokens()
}

// checkMoved refuses a selection that leaves out objects which have moved. Where an object is now
// has to be planned with the objects around it, and a plan of the rest would keep it at an address
// that the configuration does not know, or move it without showing that.
func (p *planner) checkMoved() bool {
	left := map[string]bool{}
	for to := range p.moved.Origins {
		if !p.sel.Includes(to.Instance) && !p.req.Quiet {
			left[to.Abs().String()] = true
		}
	}
	if len(left) == 0 {
		return true
	}
	flag, way, each := "target", "or add the following additional target options:", "\n  -target=%q"
	if len(p.req.Excludes) > 0 {
		flag, way, each = "exclude", "or leave none of these out:", "\n  %s"
	}
	text := ""
	for _, a := range slices.Sorted(maps.Keys(left)) {
		text += fmt.Sprintf(each, a)
	}
	p.run.Bag.Add(diag.Errorf("Moved resource instances excluded by targeting", "Resource instances in your current state have moved to new addresses in the latest configuration. Lethe must include those resource instances while planning in order to ensure a correct result, but your -%s=... options do not fully cover all of those resource instances.\n\nTo create a valid plan, either remove your -%s=... options altogether %s%s\n\nNote that this may include further resource instances in your plan, in order to respect object dependencies.", flag, flag, way, text))
	return false
}

// checkReplace refuses -replace for what cannot be replaced.
func checkReplace(list []addr.Instance, bag *diag.Bag) bool {
	ok := true
	for _, i := range list {
		if i.Mode != addr.Managed {
			bag.Add(diag.Errorf("Invalid force-replace address", "Only managed resources can be used with the -replace option, and %s is not one.", i))
			ok = false
		}
	}
	return ok
}

// warnForgotten says what a plan leaves in place that nothing manages then.
func warnForgotten(r *run.Run, changes []*plan.Change) {
	list, unsaid, removed := "", map[*config.Removed]bool{}, false
	for _, c := range changes {
		if c.Action != plan.Forget {
			continue
		}
		list += fmt.Sprintf("\n  - %s", c.Object)
		b, ok := r.Removals.Of(c.Object.Instance)
		removed = removed || ok
		if ok && !c.SkipDestroy && !unsaid[b.Block] {
			unsaid[b.Block] = true
			r.Bag.Add(diag.Warningf("Removed block does not say whether to destroy",
				"The objects that this block names are removed from the state and not destroyed. Terraform would destroy them. Say which you want, with `lifecycle { destroy = false }` or `lifecycle { destroy = true }` in the block.").At(b.Block.Range))
		}
	}
	if list == "" {
		return
	}
	why := ""
	if r.Destroys {
		why = "\n\nTheir configuration says destroy = false, which also holds when everything is destroyed."
	}
	if r.Destroys && removed {
		why += " Terraform and OpenTofu would destroy what a removed block names then."
	}
	r.Bag.Add(diag.Warningf("Some objects will no longer be managed by Lethe",
		"If this plan is applied, Lethe discards what it knows of the following objects, and does not delete them:%s\n\nTo manage them again they have to be imported.%s", list, why))
}

// warnRetired warns of destroy-time provisioners that run when their object's successor is there.
// Scripts that name what both are called mean the old one and meet the new one.
func warnRetired(r *run.Run, out *plan.Plan) {
	if out.SpareDeposed {
		return
	}
	warned := map[program.Decl]bool{}
	for _, c := range out.Changes {
		if !declared.Deposes(c) {
			continue
		}
		h := declared.ProvisionersOf(r.Program, r.Removals, c, c.Entry, true)
		if len(h.List) == 0 || h.Decl == nil || warned[h.Decl.ID] {
			continue
		}
		warned[h.Decl.ID] = true
		r.Bag.Add(diag.Warningf("Destroy-time provisioners run after the replacement is created",
			"The old object of %s is destroyed after the new one was created, and its destroy-time provisioners run then. If they find it by a name that both objects have, they find the new one. Have them use something that only the old one has, such as self.id.\n\nTerraform and OpenTofu do not run them. To skip them here as well, set skip_deposed_provisioners = true in the CLI configuration, or LETHE_SKIP_DEPOSED_PROVISIONERS=true in the environment.", c.Object.Instance).At(h.List[0].Range).About(c.Object.Instance))
	}
}
