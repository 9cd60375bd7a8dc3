package suite

import (
	"context"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// run plans and applies one run, and evaluates its assertions and expected failures.
func (x *execution) run(ctx context.Context, r *Run) {
	var bag diag.Bag
	v := &verdict{x: x, run: r}
	x.suite.Traces.Logged() // drop the log of earlier runs, which Logged returns
	x.do(ctx, r, v, &bag)
	v.close(&bag)
}

// prepared is a run that can be planned.
type prepared struct {
	key     string // the key of the state that the run uses
	how     how
	doubles *doubles
}

// prepare evaluates the values, mocks and overrides of a run, and compiles its module. If one of these steps fails,
// prepare returns false.
func (x *execution) prepare(ctx context.Context, r *Run, bag *diag.Bag) (*prepared, bool) {
	tree, module, ok := x.module(r, bag)
	if !ok {
		return nil, false
	}
	changed := x.variant(r, tree)
	root := changed.root(tree.Root.Module)
	given, ok := x.values(r, root, bag)
	if !ok || !x.known(r.AssertRefs(), r, bag) || !x.providers(changed, root, r, bag) {
		return nil, false
	}
	e := &evaluation{x: x, run: r, tree: tree, static: sync.OnceValue(func() *frame.StaticFrame { return x.static(given, root) }), bag: bag, ok: true}
	modules := e.modules()
	d := e.doubles(changed)
	if !e.ok {
		return nil, false
	}
	c, ok := x.compile(ctx, changed, tree, module, bag)
	if r.program = c.program; !ok || !sound(r, c.program, bag) {
		return nil, false
	}
	p := &prepared{module, how{c.program, x.engine(r, d), x.suite.Modules.FrameOptions()}, d}
	p.how.options.Replaced = outputsOf(modules)
	p.how.options.Variables, p.how.options.Applying = declaredOnly(given, root), !r.Plan
	if r.StateKey != "" {
		p.key = "key " + r.StateKey
	}
	return p, true
}

// do plans, applies and judges a run. If a step fails, it returns without the later steps. It judges a failed run only
// if all its errors are expected.
func (x *execution) do(ctx context.Context, r *Run, v *verdict, bag *diag.Bag) {
	p, ok := x.prepare(ctx, r, bag)
	if !ok {
		return
	}
	v.given, v.module = p.how.options.Variables, p.how.program.Tree().Root.Module
	k, ok := x.state(ctx, p.key, r, bag)
	if !ok {
		return
	}
	settings := p.how.engine.Settings
	settings.Leases = k
	p.how.engine = p.how.engine.With(settings)
	f, ok := x.carryOut(ctx, k, p.how, r, bag)
	v.applied = r.State != nil
	l := look{f, frame.After}
	if v.applied && !ok && v.onlyExpected(bag) { // the frame lacks objects whose apply failed, so read them from the state
		l = look{face: frame.Before}
		l.frame, _ = p.how.engine.Frame(ctx, p.how.program, p.how.options, k.snapshot, bag)
	}
	if l.frame == nil {
		return
	}
	if ok || v.onlyExpected(bag) && ctx.Err() == nil {
		p.doubles.leases.lend(l)
		v.judge(l, p.doubles.leases, bag)
	}
	r.outputs = l.outputs()
}

// destroyedByTest is the advice for users after a provider has not answered a call in a test. It differs from the usual
// advice, because no later plan uses the state.
var destroyedByTest = object.Advice{
	event.Create: "may exist, because Lethe asked its provider to create it. It is in no state, so the test does not destroy it. If it exists, delete it.",
	event.Update: "may have been changed. The test destroys it, or lists it as remaining.",
	event.Delete: "may have been destroyed. The test destroys it if it exists, or lists it as remaining.",
}

// engine returns an engine with the settings for a run.
func (x *execution) engine(r *Run, d *doubles) *engine.Engine {
	settings := x.suite.Engine.Settings
	settings.Supply, settings.Providers.KeepSessions, settings.Rounds = nil, true, &engine.Rounds{}
	settings.Sink = &behind{to: settings.Sink, run: r}
	if settings.Times != nil {
		settings.Times = titled{settings.Times, r.Name}
	}
	settings.Providers.Substitutes, settings.Unanswered = d, destroyedByTest
	return x.suite.Engine.With(settings)
}

// behind forwards the events that report a start, an end or a repetition. It wraps them in event.Behind, so that views
// print no line for them. It also records the invocations of actions.
type behind struct {
	to  event.Sink // receives the events; nil: events are dropped
	run *Run

	mu sync.Mutex
}

// Send forwards an event in the form event.Behind if the event reports a start, an end or a repetition. It drops other
// events, and only records event.ActionDone.
func (b *behind) Send(e event.Event) {
	switch e := e.(type) {
	case event.ActionDone:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.run.Invoked = append(b.run.Invoked, e)
	case event.Started, event.Done, event.Failed, event.Retried, event.ProvisionStarted, event.ProvisionDone:
		if b.to != nil {
			b.to.Send(event.Behind{Event: e, Run: b.run.Name})
		}
	}
}

// titled forwards events with times, and adds the name of the run to the titles of its walks.
type titled struct {
	event.Sink
	run string
}

// Send forwards an event. It adds the name of the run to the title of an event.Walked.
func (t titled) Send(e event.Event) {
	if w, ok := e.(event.Walked); ok {
		w.Walk.Title = t.run + ": " + w.Walk.Title
	}
	t.Sink.Send(e)
}

// use records r as the last run that uses a state, with its settings.
func (x *execution) use(k *kept, r *Run, h how) {
	x.suite.mu.Lock()
	defer x.suite.mu.Unlock()
	k.by, k.how = r, h
	if r.SkipCleanup {
		k.stays, k.asItWas = r, h
	}
}

// carryOut plans a run, and applies the plan unless the run only plans. An apply has as many rounds (plans, each with
// its apply) as it needs, because no user approves them (ADR 52). It returns the frame of the last round, or nil if
// this round has made no frame. It returns false if a step failed.
func (x *execution) carryOut(ctx context.Context, k *kept, h how, r *Run, bag *diag.Bag) (*frame.Frame, bool) {
	req := engine.Request{
		Operation: operation.Test, Program: h.program, Options: h.options, State: k.snapshot, Refresh: !r.NoRefresh,
		Targets: r.Targets, Replace: r.Replace,
	}
	if r.RefreshOnly {
		req.Mode = plan.RefreshOnly
	}
	req.Rounds = !r.Plan
	defer h.engine.EndRounds(bag)
	for {
		result, ok := h.engine.Plan(ctx, req, bag)
		if result == nil {
			return nil, false
		}
		r.Planned = result.Plan
		if r.Plan || !ok {
			return result.Frame, ok
		}
		x.use(k, r, h)
		if len(result.Plan.Deferred) > 0 && req.Earlier == nil {
			req.Earlier, h.options.Now, h.options.UUIDs = &engine.Earlier{}, h.engine.Now(), &frame.UUIDs{}
		}
		done, ok := k.apply(ctx, h, result.Plan, bag)
		r.State = done.Snapshot
		if !ok || done.Frame == nil || len(result.Plan.Deferred) == 0 {
			return done.Frame, ok && done.Frame != nil
		}
		r.Earlier = append(r.Earlier, result.Plan)
		req.Earlier.Add(result)
		req.State, req.Options = k.snapshot, h.options
	}
}

// objects returns the managed objects of a state.
func objects(s *state.Snapshot) []addr.Object {
	var out []addr.Object
	for o := range s.Objects() {
		if o.Mode == addr.Managed {
			out = append(out, o)
		}
	}
	return out
}
