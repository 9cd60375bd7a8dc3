package planning

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/moving"
	"github.com/lethe-iac/lethe/internal/engine/ordering"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Plan computes a plan. It returns false if the plan has errors or an interrupt ended the planning early, and a nil
// Result if planning could not start.
func Plan(ctx context.Context, env run.Env, req Request, bag *diag.Bag) (*Result, bool) {
	return planWith(ctx, env, req, nil, bag)
}

// Generate computes a plan, and writes resource blocks for the import targets that no resource block declares. The plan
// in the result lacks these resources: the caller adds the blocks to the configuration and plans again. Generate
// returns false if the plan has errors or an interrupt ended the planning early. The result is never nil.
func Generate(ctx context.Context, env run.Env, req Request, bag *diag.Bag) (*Generated, bool) {
	out := &Generated{Blocks: map[addr.Resource]string{}}
	var ok bool
	out.Rest, ok = planWith(ctx, env, req, out.Blocks, bag)
	return out, ok
}

// planWith computes a plan. If blocks is not nil, planWith adds generated resource blocks to it. If blocks is nil, an
// import target without a resource block is an error. It returns false if the plan has errors or an interrupt ended the
// planning early, and a nil Result if planning could not start.
func planWith(ctx context.Context, env run.Env, req Request, blocks map[addr.Resource]string, bag *diag.Bag) (*Result, bool) {
	req.Options.Pure, req.Options.Defers = true, req.Rounds && req.Mode == plan.Normal && !req.Operation.Policy().ImportsOnly
	if req.Earlier != nil && !req.Earlier.planTime.IsZero() {
		req.Options.PlanTime = req.Earlier.planTime
	}
	if req.Options.PlanTime.IsZero() {
		req.Options.PlanTime = env.Settings.Now().UTC()
	}
	p := &planner{
		env: env,
		req: &req, prior: req.State,
		nodes:    newNodes(len(req.Program.Decls())),
		outcomes: &outcomes{prog: req.Program, failed: make([]atomic.Bool, len(req.Program.Decls())), changes: map[within]changeKind{}, behind: map[program.Decl][]program.Decl{}},
	}
	p.recorded.throughData = env.Settings.ForgetData != state.ForgetNone
	p.deferred = newDeferrals(p)
	p.back = &beforeFace{p: p, after: map[addr.Instance]reading{}}
	var ok bool
	p.run, ok = run.New(ctx, env, run.Request{
		Program: req.Program, Options: req.Options, Kind: run.Kind{Operation: req.Operation, Mode: req.Mode},
		Ready: p.ready, Before: p.back.getReady,
	}, bag)
	if !ok {
		return nil, false
	}
	p.imports = importRequests{req.Imports, p.run}
	r := p.run
	defer r.Sessions.Keep(ctx, bag)
	defer r.End()
	p.leaseUsers = r.Leases.Users()
	if req.DeferEphemerals {
		p.spared = r.Receivers.OnlyWritten()
	}
	if req.Mode == plan.Normal && blocks == nil && !req.Operation.Policy().ImportsOnly && !importsDeclared(req.Program, bag) || !p.prepare() {
		return nil, false
	}
	rest := &unplanned{p}
	rest.ephemerals(ctx)
	rest.provisioners(ctx)
	p.build()
	r.Frame.Begin()
	p.walk(ctx)
	r.Frame.End()
	checkRequested(p)
	p.learn()
	p.run.Objects.Guard.Review()
	explainUnknown(p)
	p.warnAbsent()
	p.moved.Faults(p.run.Frame, p.req.Mode == plan.Destroy, p.run.Bag)
	(&importFinisher{p, blocks}).finish(ctx)
	out := p.result()
	return &Result{Plan: out, Frame: r.Frame, doubts: p.state.doubts, Interrupted: r.Budget.Interrupted()}, !out.Errored
}

// ready returns plan.Known if an ephemeral resource may be opened. It returns Pending if apply must open it, because an
// object on which it depends is created or replaced, or waits for a later round (a further plan and apply). It returns
// Failed if a dependency failed.
func (p *planner) ready(e program.Decl, in addr.ModuleInstance) plan.Outcome {
	switch {
	case p.outcomes.dependencyFailed(e):
		return plan.Outcome{}
	case p.spared[e] || p.deferred.behind(e, in) != 0 || p.outcomes.dependencyChanges(e, in, remade):
		return plan.Await(plan.ReadDependencyPending)
	}
	return plan.Done(true)
}

// prepare computes the moves of objects and the selection of -target and -exclude, before the plan calls a provider. It
// returns false if it reports an error.
func (p *planner) prepare() bool {
	p.moved = moving.Make(p.run.Program, p.req.State)
	p.prior = p.req.Earlier.untainted(p.moved.State)
	p.state = newRefreshedState(p.prior, run.HostsFor(p.run.Settings, p.run.Program.Tree(), p.prior))
	p.state.holders = &holders{run: p.run, prior: p.prior}
	filling.ExpandBefore(p.run.Program, p.run.Frame, p.prior)
	p.named = targeting.Request{
		Program: p.run.Program, Receivers: p.run.Receivers, Prior: p.prior, Stored: p.moved.ByDeclaration(),
		Targets: p.req.Targets, Excludes: p.req.Excludes, Replace: p.req.Replace, Mode: p.req.Mode, Origin: p.req.Origin,
	}
	sel, ok := targeting.Select(p.named, p.run.Bag)
	p.sel = sel
	rewrite(p)
	p.leaveBefore()
	return ok && p.checkMoved() && checkReplace(p.req.Replace, p.run.Bag)
}

// warnAbsent warns of addresses in command-line options that name no instance. In a normal plan, an address names an
// instance if the instance is declared or in the state. In destroy and refresh-only plans, the instance must be in the
// state.
func (p *planner) warnAbsent() {
	root := p.run.Frame
	if p.req.Mode != plan.Normal {
		root = nil
	}
	p.named.WarnAbsent(root, p.run.Bag)
}

// build builds the graph: a node with work or a gate (a node without work) for every declaration, nodes that refresh
// stored objects, and nodes for resources that are only in the state. A reference becomes an edge that waits for the
// end of the other node, with or without success. A failure stops a dependent only when it evaluates the missing value.
func (p *planner) build() {
	decls := p.run.Program.Decls()
	for _, d := range decls {
		p.nodes.decide[d.ID] = p.add(d)
	}
	for _, d := range decls {
		for _, ref := range p.run.Program.Refs(d.ID) {
			p.nodes.graph.Waits(p.nodes.decide[d.ID], p.nodes.decide[ref.To])
		}
		if d.Kind == program.Action && p.req.Origin == targeting.Action {
			callers, _ := program.Callers(p.run.Program, d.ID)
			for _, by := range callers {
				p.nodes.graph.Waits(p.nodes.decide[d.ID], p.nodes.decide[by])
			}
		}
	}
	for _, d := range decls {
		if d.Kind == program.Resource && d.Resource.Mode == addr.Managed {
			if objects := p.stored(d.Resource); len(objects) > 0 {
				waitForKey(p, d, p.addRefresh(objects, d.Resource, p.nodes.decide[d.ID], p.run.Program.ProviderOf(d.ID)))
			}
		}
	}
	p.addGhosts()
	p.addLeaseNodes()
}

// waitForKey makes the refresh node of a resource wait for the data sources from which the key of its provider is
// computed. The refresh evaluates the key if the key in the state may no longer be valid (storedObject.presentUse).
func waitForKey(p *planner, d *program.Declaration, refresh walk.Node) {
	if p.run.Program.Decls()[p.run.Program.ProviderOf(d.ID)].Repeat() == program.Once {
		return
	}
	for _, to := range declared.ForKey(p.run.Program, d) {
		if p.run.Receivers.Steady(to) {
			p.nodes.graph.Waits(refresh, p.nodes.decide[to])
		}
	}
}

// add adds the node that decides about (plans) a declaration. When the node ends, it calls Frame.Past: from then on, an
// evaluation that needs a value which the node has not set fails, without a further error.
func (p *planner) add(d *program.Declaration) walk.Node {
	work := p.work(d)
	if work == nil {
		return p.nodes.add("", nil)
	}
	return p.nodes.add(d.String(), func(ctx context.Context, f *walk.Fan) bool {
		defer p.run.Frame.Past(d.ID)
		return work(ctx, f)
	})
}

// work returns the work of the declaration's node, or nil if the node is a gate.
func (p *planner) work(d *program.Declaration) nodeWork {
	keeps := d.Kind == program.Call && d.Repeat() != program.Once || d.Kind == program.Resource && d.Resource.Mode != addr.Ephemeral
	switch {
	case p.sel.Skips(d.ID) && keeps:
		return func(context.Context, *walk.Fan) bool { p.leave(d); return true }
	case p.sel.Skips(d.ID):
		return nil
	case d.Kind == program.Call && keeps:
		return func(context.Context, *walk.Fan) bool { return p.expand(d) }
	case d.Kind == program.Action && p.req.Origin == targeting.Action:
		return func(ctx context.Context, _ *walk.Fan) bool { return (&requests{p, d}).plan(ctx) }
	case d.Kind != program.Resource && p.tests(d):
		return func(ctx context.Context, _ *walk.Fan) bool { return p.testAll(ctx, d) }
	case d.Kind == program.Resource && d.Resource.Mode == addr.Managed:
		return func(ctx context.Context, f *walk.Fan) bool { return p.decideAll(ctx, f, d) }
	case d.Kind == program.Resource && d.Resource.Mode == addr.Data:
		return func(ctx context.Context, f *walk.Fan) bool { return p.readAll(ctx, f, d) }
	}
	return nil
}

// walk runs the graph, and sets p.failed to the addresses of the failed nodes.
func (p *planner) walk(ctx context.Context) {
	p.failed = p.nodes.failed(p.run.WalkGraph(ctx, &p.nodes.graph, run.Names{Title: "plan", Of: p.nodes.name}, walk.RunOptions{
		Workers: maxJobs(p.run.Settings, p.run.Receivers), Run: p.nodes.work,
	}))
}

// result returns the plan with all decisions of the walk.
func (p *planner) result() *plan.Plan {
	out := &plan.Plan{
		Mode: p.req.Mode, Deferred: p.deferred.finish(), Drift: p.state.drift,
		Previous: p.req.State, Part: p.req.Part, Changed: p.req.Origin == targeting.Changes,
		Request:    plan.Request{Variables: variables(p.run), Targets: p.req.Targets, Excludes: p.req.Excludes},
		Evaluation: plan.Evaluation{Readings: p.back.readings, NoBefore: p.run.Sessions.NoBefore()},
		Origin:     plan.Origin{Workspace: p.req.Options.Workspace, Backend: p.req.Backend},
		Timestamp:  p.req.Options.PlanTime, ProvisionerSettings: p.req.Provisioners,
	}
	out.Changes = p.decisions.list
	out.Invocations = p.invocations.sorted()
	out.LaterInvocations = laterInvocations(p, out.Deferred)
	filling.CollectKeys(p.run.Program, p.run.Frame, out)
	byObject := func(a, b *plan.Change) int { return a.Object.Compare(b.Object) }
	slices.SortFunc(out.Changes, byObject)
	slices.SortFunc(out.Drift, byObject)
	slices.SortFunc(out.Readings, func(a, b plan.Reading) int { return a.Object.Compare(b.Object) })
	omitResults(p, out)
	ordering.SettleReplacements(p.run.Source(out))
	p.deferred.leaveOld(out.Changes)
	leaveInvocations(out)
	warnForgotten(p.run, out.Changes)
	warnRetired(p.run, out)
	warnApart(p.run, out)
	if p.req.Earlier == nil && len(out.Deferred) == 0 { // this is the only round (plan and apply), so no later round destroys a protected object
		checkAllowed(p.req.AllowDestroy, out.Changes, p.run.Bag)
	}
	p.imports.keep(p.state, out.Changes)
	out.Outputs = (&rootOutputs{p}).changes()
	if p.req.Mode == plan.Normal && !p.sel.Active && !p.run.Budget.Interrupted() {
		p.run.Conditions.CheckValues(p.run.Bag)
	}
	out.Relevant = relevant(p.run, out)
	out.Checks = p.run.Conditions.All(!p.sel.Active)
	out.Functions = p.run.Results.Digests() // after the evaluation of outputs, whose function calls count, too
	if len(out.Deferred) > 0 && !out.Decides() {
		p.run.Bag.Add(p.deferred.errors...) // this plan changes nothing, so a later round could not decide more
	}
	p.run.Account(p.failed...)
	out.Errored = p.run.Bag.HasErrors() || p.run.Budget.Interrupted()
	out.Complete = !p.sel.Active && !out.Errored && len(out.Deferred) == 0
	out.Leases = ordering.PreviewLeases(p.run.Program, p.run.Receivers, p.req.Options, out)
	return out
}

// variables returns the values of the root variables that are not ephemeral.
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

// maxJobs returns the maximum number of concurrent jobs. A token is the permission for one provider call
// (-parallelism). The maximum is Settings.Workers plus the number of tokens, so that another job is ready to call when
// a token becomes free. If the configuration has ephemeral resources, it is only Settings.Workers, because a job that
// waits for a token may keep an ephemeral resource open.
func maxJobs(s *run.Settings, r *receivers.Analysis) int {
	if r.Any {
		return s.Workers()
	}
	return s.Workers() + s.Tokens()
}

// checkMoved reports an error and returns false if -target or -exclude leaves out objects that moved blocks move. A
// plan of the other objects would either keep the moved objects at an address that is not declared, or move them
// without showing this.
func (p *planner) checkMoved() bool {
	left := map[string]bool{}
	for to := range p.moved.Origins {
		if !p.sel.Includes(to.Instance) && !p.req.Operation.Policy().ImportsOnly {
			left[to.Abs().String()] = true
		}
	}
	if len(left) == 0 {
		return true
	}
	flag, trail, each := "target", "or add the following additional target options:", "\n  -target=%q"
	if len(p.req.Excludes) > 0 {
		flag, trail, each = "exclude", "or leave none of these out:", "\n  %s"
	}
	text := ""
	for _, a := range slices.Sorted(maps.Keys(left)) {
		text += fmt.Sprintf(each, a)
	}
	if p.req.Origin == targeting.Action {
		p.run.Bag.Add(diag.Errorf("Moved resource instances excluded by targeting", "Some resource instances have moved to new addresses, and a plan with -invoke leaves out %s.\n\nRun \"lethe apply\" to record the moves, and then invoke the action.", strings.Join(slices.Sorted(maps.Keys(left)), ", ")))
		return false
	}
	p.run.Bag.Add(diag.Errorf("Moved resource instances excluded by targeting", "Some resource instances have moved to new addresses. The plan must include all of them, but your -%s=... options do not.\n\nRemove the -%s=... options, %s%s\n\nThe plan may then include more resource instances, because of dependencies.", flag, flag, trail, text))
	return false
}

// checkReplace reports an error for each -replace address that is not a managed resource. It returns false if it
// reported an error.
func checkReplace(list []addr.Instance, bag *diag.Bag) bool {
	ok := true
	for _, i := range list {
		if i.Mode != addr.Managed {
			bag.Add(diag.Errorf("Invalid force-replace address", "Only managed resources can be used with the -replace option, and %s is not a managed resource.", i))
			ok = false
		}
	}
	return ok
}

// warnForgotten warns of the objects that the plan removes from the state without destroying them.
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
				"Lethe removes the objects of this block from the state and does not destroy them. Terraform destroys them. Add `lifecycle { destroy = false }` or `lifecycle { destroy = true }` to the block.").At(b.Block.Range))
		}
	}
	if list == "" {
		return
	}
	why := ""
	if r.Kind.Destroys() {
		why = "\n\nTheir configuration has destroy = false, which also applies to a destroy plan."
	}
	if r.Kind.Destroys() && removed {
		why += " Terraform and OpenTofu would destroy the objects of removed blocks."
	}
	r.Bag.Add(diag.Warningf("Some objects will no longer be managed by Lethe",
		"This plan removes the following objects from the state, without destroying them:%s\n\nTo manage them again, import them.%s", list, why))
}

// warnRetired warns of destroy-time provisioners that run after the new object of a replacement was created. A script
// that finds its object by a name would act on the new object, if the old and the new object have the same name.
func warnRetired(r *run.Run, out *plan.Plan) {
	if out.SkipDeposed {
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
			"The destroy-time provisioners of the old object of %s run after the new object is created. A name that both objects have selects the new object. Use a value that only the old object has, such as self.id.\n\nTerraform and OpenTofu do not run these provisioners. To skip them, set skip_deposed_provisioners = true in the CLI configuration, or LETHE_SKIP_DEPOSED_PROVISIONERS=true in the environment.", c.Object.Instance).At(h.List[0].Range).About(c.Object.Instance))
	}
}
