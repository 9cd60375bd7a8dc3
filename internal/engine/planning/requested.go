package planning

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
)

// This file plans the invocations of actions that the user requests with -invoke (ADR 55). Such a plan changes no
// objects. The values of objects are the refreshed values.

// requests plans the requested invocations of one action block.
type requests struct {
	p *planner
	d *program.Declaration // the declaration of the invoked action
}

// plan plans the invocations of all instances of the action, or of the instance that -invoke names. It returns false if
// an invocation cannot be planned.
func (r *requests) plan(ctx context.Context) bool {
	if r.p.sel.Skips(r.d.ID) {
		return true
	}
	frames, status := r.p.run.Frame.Instances(r.d.Module, frame.After)
	ok := status == frame.Known
	for _, f := range frames {
		keys := f.Keys(r.d.ID, frame.After, r.p.run.Bag)
		ok = ok && keys.Status == frame.Known
		for _, k := range keys.List {
			if r.p.req.Targets[0].Contains(r.d.Resource.In(f.Addr()).Instance(k)) {
				ok = r.instance(ctx, f, k) && ok
			}
		}
	}
	return ok
}

// instance plans the invocations of one instance of the action. If the configuration of the action refers to "caller",
// instance plans one invocation for each object that may be the caller, and otherwise a single invocation. It returns
// false if an error was reported.
func (r *requests) instance(ctx context.Context, f *frame.Frame, k addr.Key) bool {
	p, d := r.p, r.d
	p.run.Receive(ctx, d.ID, f.Addr(), k)
	x := &invoking{p: p, f: f, i: frame.ActionInstance{Decl: d.ID, Key: k}, at: d.Range, face: frame.After}
	resources, needed := program.Callers(p.run.Program, d.ID)
	if !needed {
		return x.plan(ctx, nil)
	}
	ok := true
	for _, by := range resources {
		for o, v := range r.callers(f, p.run.Program.Decls()[by], x.i) {
			y := *x
			y.t.Object = o
			ok = y.plan(ctx, &v) && ok
		}
	}
	return ok
}

// callers yields the objects of a resource in one module instance that may be the caller, with their values. An object
// may be the caller if its triggers name the instance of the action, and -target, if set, selects the object.
func (r *requests) callers(f *frame.Frame, by *program.Declaration, action frame.ActionInstance) func(func(addr.Object, mark.Value) bool) {
	p, targets := r.p, r.p.req.Targets[1:]
	return func(yield func(addr.Object, mark.Value) bool) {
		for _, k := range f.Expanded(by.ID, frame.After).List {
			o := by.Resource.In(f.Addr()).Instance(k).Current()
			v, ok := f.Got(by.ID, k, frame.After)
			chosen := len(targets) == 0 || slices.ContainsFunc(targets, func(t addr.Target) bool { return t.Contains(o.Instance) })
			if ok && chosen && p.prior.Get(o) != nil && names(f, by.ID, k, action) && !yield(o, v) {
				return
			}
		}
	}
}

// names reports whether an action_trigger block of the resource instance with the key k names the action instance.
func names(f *frame.Frame, by program.Decl, k addr.Key, action frame.ActionInstance) bool {
	for _, t := range frame.Actions(f).Triggers(by) {
		for _, ref := range t.Invokes {
			if i, out := frame.Actions(f).Invoked(by, k, ref, frame.After, &diag.Bag{}); out == frame.OK && i == action {
				return true
			}
		}
	}
	return false
}

// checkRequested reports an error if -invoke selects no invocation, if -target selects no caller, or if the action
// needs no caller and -target is set. The caller calls it after the graph of the plan has run.
func checkRequested(p *planner) {
	if p.req.Origin != targeting.Action || p.run.Bag.HasErrors() || p.run.Budget.Interrupted() {
		return
	}
	to, known := p.req.Targets[0], []string{}
	var action *program.Declaration
	for _, d := range p.run.Program.Decls() {
		if d.Kind != program.Action {
			continue
		}
		known = append(known, d.Resource.String())
		if to.Covers(d.Resource) {
			action = d
		}
	}
	const title = "Invalid action address"
	if action == nil {
		p.run.Bag.Add(diag.Errorf(title, "The configuration has no action %s.%s", to, diag.DidYouMean(to.String(), known)))
		return
	}
	resources, needed := program.Callers(p.run.Program, action.ID)
	switch {
	case len(p.req.Targets) > 1 && !needed:
		p.run.Bag.Add(diag.Errorf("Incompatible invoke options", "With -invoke, the option -target chooses the objects for \"caller\", and the configuration of %s does not refer to \"caller\". Remove the option.", action.Resource).At(action.Range))
	case len(p.invocations.list) > 0:
	case needed && len(resources) == 0:
		p.run.Bag.Add(diag.Errorf(title, "The configuration of %s refers to \"caller\", and no action_trigger block names the action, so \"caller\" has no value.", action.Resource).At(action.Range))
	case needed:
		p.run.Bag.Add(diag.Errorf(title, "The configuration of %s refers to \"caller\", and the state has no object that invokes the action and that the options select. Run \"lethe apply\" to create the objects, and then invoke the action.", action.Resource).At(action.Range))
	default:
		p.run.Bag.Add(diag.Errorf(title, "There is no instance %s of the action.", to).At(action.Range))
	}
}
