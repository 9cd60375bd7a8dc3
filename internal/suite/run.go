package suite

import (
	"context"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
)

// run runs one run and judges it.
func (x *execution) run(ctx context.Context, r *Run) {
	var bag diag.Bag
	v := &verdict{x: x, run: r}
	x.suite.Logged() // what comes before is no business of this run
	x.do(ctx, r, v, &bag)
	v.close(&bag)
}

// do plans and applies, as far as it comes.
func (x *execution) do(ctx context.Context, r *Run, v *verdict, bag *diag.Bag) {
	tree, module, ok := x.module(r, bag)
	if !ok {
		return
	}
	changed := x.variant(r, tree)
	root := changed.root(tree.Root.Module)
	given, ok := x.values(r, root, bag)
	if !ok || !x.known(r.AssertRefs(), r, bag) {
		return
	}
	e := &evaluation{x: x, run: r, static: sync.OnceValue(func() *frame.StaticFrame { return x.static(given, root) }), bag: bag, ok: true}
	e.modules(changed, tree)
	d := e.doubles(changed, tree)
	if !e.ok {
		return
	}
	c, ok := x.compile(ctx, changed, tree, module, bag)
	if r.program = c.program; !ok || !sound(r, c.program, bag) {
		return
	}
	v.given = taken(given, root)
	key := module
	if r.StateKey != "" {
		key = "key " + r.StateKey
	}
	k := x.states[key]
	if k == nil {
		k = &kept{snapshot: &state.Snapshot{}}
		x.states[key] = k
	}
	h := how{c.program, x.engine(d), x.suite.Options(root.Dir)}
	h.options.Variables, h.options.Applying = v.given, !r.Plan
	f, ok := x.carryOut(ctx, k, h, r, bag)
	v.applied = r.State != nil
	l := look{f, frame.After}
	if v.applied && !ok && v.onlyExpected(bag) { // what failed has no value in the walk, but it is there
		l = look{face: frame.Before}
		l.frame, _ = h.engine.Frame(ctx, h.program, h.options, k.snapshot, bag)
	}
	if l.frame == nil {
		return
	}
	if ok || v.onlyExpected(bag) && ctx.Err() == nil {
		d.leases.lend(l)
		v.judge(l, d.leases, bag)
	}
	x.outputs[r.Name] = l.outputs()
}

// engine is what the run is planned and applied with.
func (x *execution) engine(d *doubles) *engine.Engine {
	settings := x.suite.Engine.Settings
	settings.Supply, settings.Sink, settings.KeepSessions = nil, event.Discard, true
	settings.Doubles = d
	return x.suite.Engine.With(settings)
}

// use notes that a state is worked with last, by a run and as it does.
func (x *execution) use(k *kept, r *Run, h how) {
	x.suite.mu.Lock()
	defer x.suite.mu.Unlock()
	k.by, k.how = r, h
	for i, other := range x.used {
		if other == k {
			x.used = append(x.used[:i], x.used[i+1:]...)
			break
		}
	}
	x.used = append(x.used, k)
}

// carryOut plans, and applies if that is asked for. It gives what there is to look at, and whether all went well.
func (x *execution) carryOut(ctx context.Context, k *kept, h how, r *Run, bag *diag.Bag) (*frame.Frame, bool) {
	req := engine.Request{
		Program: h.program, Options: h.options, State: k.snapshot, Refresh: !r.NoRefresh,
		Targets: r.Targets, Replace: r.Replace,
	}
	if r.RefreshOnly {
		req.Mode = plan.RefreshOnly
	}
	result, ok := h.engine.Plan(ctx, req, bag)
	if result == nil {
		return nil, false
	}
	r.Planned = result.Plan
	if r.Plan || !ok {
		return result.Frame, ok
	}
	x.use(k, r, h)
	done, ok := h.engine.Apply(ctx, engine.ApplyRequest{Program: h.program, Options: h.options, Plan: result.Plan, Journal: k}, bag)
	k.set(done.Snapshot)
	r.State = done.Snapshot
	return done.Frame, ok && done.Frame != nil
}

// objects lists what a state has of managed objects.
func objects(s *state.Snapshot) []addr.Object {
	var out []addr.Object
	for o := range s.Objects() {
		if o.Mode == addr.Managed {
			out = append(out, o)
		}
	}
	return out
}
