package planning

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/validating"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// current returns the refreshed object of an instance. If the state has no object and an import is requested, current
// imports the object. The entry in the result is nil if no object exists. current returns false if the refresh or the
// import failed.
func (x *instance) current(ctx context.Context) (object.Current, *plan.Importing, bool) {
	o := x.inst.Current()
	cur, seen := x.p.state.get(o)
	if seen && cur.Entry != nil {
		return cur, nil, true
	}
	if x.p.prior.Get(o) != nil { // a stored object that no longer exists, or whose refresh failed, is not imported again
		return object.Current{}, nil, seen
	}
	return x.importFor(ctx)
}

// importFor imports an existing object for a declared instance, if an import block or the command line requests this.
// The caller checks that the state has no object for the instance. importFor returns false if the import fails or waits
// for a later round (a further plan and apply). It returns no object and true if nothing requests an import, if a
// deposed object of the instance is the named one, or if the object does not exist and the import block permits that
// (if_exists).
func (x *instance) importFor(ctx context.Context) (object.Current, *plan.Importing, bool) {
	im, found, ok := x.p.imports.find(x.d, x.inst)
	if !ok || !found {
		return object.Current{}, nil, ok
	}
	if im.Unknown {
		unknown := diag.Errorf("Invalid import id argument", "The id in the import block for %s depends on values that are known only after apply. Use a known value, or first apply the resources that it depends on with -target.", x.inst).At(im.Range)
		if !x.p.req.Options.Defers {
			x.run.Bag.Add(unknown)
			return object.Current{}, nil, false
		}
		x.p.deferred.blame(unknown)
		x.importLater = plan.Defer(plan.ResourceConfigUnknown)
		return object.Current{}, nil, false
	}
	if x.deposed(im) {
		return object.Current{}, nil, true
	}
	t, u, out := x.tools(ctx)
	if out.Kind == plan.Known && x.p.req.Options.Defers && x.run.Sessions.Unknown(u) { // the provider could find another object
		x.p.deferred.blame(diag.Errorf("Invalid provider configuration", "The configuration of %s depends on values that are known only after apply, so %s cannot be imported through it. Use known values, or first apply the resources that they depend on with -target.", u.Instance, x.inst).At(im.Range))
		out = plan.Defer(plan.ProviderConfigUnknown)
	}
	if out.Kind == plan.Deferred {
		x.importLater = out
	}
	if out.Kind != plan.Known || !through(x.run.Bag, &im, u) || !conform(t, &im) {
		return object.Current{}, nil, false
	}
	entry, known, ok := t.Import(ctx, im.ID, im.Identity, object.Stored{Provider: u.Instance, Several: x.p.imports.byCommand(x.inst)})
	if !ok {
		return object.Current{}, nil, false
	}
	cur := object.Current{Entry: entry}
	if entry != nil {
		cur.Entry, cur.Known, ok = t.Read(ctx, entry, known)
	}
	switch {
	case !ok:
		return object.Current{}, nil, false
	case cur.Entry != nil:
	case im.Block != nil && im.Block.IfExists:
		return object.Current{}, nil, true
	default:
		x.run.Bag.Add(object.NotFound(x.inst).At(im.Range))
		return object.Current{}, nil, false
	}
	x.p.state.adopt(x.inst.Current(), cur)
	return cur, &plan.Importing{ID: im.ID, Identity: im.Identity}, true
}

// deposed reports whether the instance has a deposed object (a replaced object that is still to be destroyed) that an
// import names. A run that was interrupted may have imported the object and then deposed it to create another.
func (x *instance) deposed(im frame.Import) bool {
	r := x.p.prior.Resource(x.inst.Abs())
	if r == nil {
		return false
	}
	for o, e := range r.Objects() {
		if o.IsDeposed() && o.Instance == x.inst && slices.ContainsFunc(namesOf(e), func(n name) bool { return n.isIn(im.ID, im.Identity) }) {
			return true
		}
	}
	return false
}

// imported returns the planned change of an instance and a function for its planned value, in a plan of the import
// command: the instance keeps its object, or imports an object. imported does not evaluate the arguments, because the
// user may not have written them yet. It returns false if an error was reported.
func (x *instance) imported(ctx context.Context) (*plan.Change, func() mark.Value, bool) {
	cur, importing, ok := x.current(ctx)
	if !ok {
		return nil, nil, false
	}
	if cur.Entry == nil { // no object exists: another import depends on this instance, so the instance needs a placeholder, an unknown value
		v := x.p.placeholder(x.d)
		return &plan.Change{Object: x.inst.Current(), Was: x.inst.Current(), Action: plan.Create, Before: mark.Plain(cty.NullVal(v.Raw.Type())), After: v}, func() mark.Value { return v }, true
	}
	t, u, ok := x.run.ToolsAfter(ctx, x.d, x.f, x.inst.Key, x.inst)
	if !ok {
		return nil, nil, false
	}
	c := &plan.Change{
		Object: x.inst.Current(), Was: x.p.moved.Origin(x.inst.Current()), Entry: cur.Entry, Unchanged: true,
		Provider: u.Instance, Importing: importing, Recorded: x.p.recordedOf(x.d.ID),
	}
	return c, lazy(t, cur), true
}

// importsDeclared reports an error for each import block whose target resource is not declared, and returns false if it
// reports an error. Only plans call it: validate accepts a block whose target a plan can generate.
func importsDeclared(prog *program.Program, bag *diag.Bag) bool {
	ok := validating.Imports(prog, bag)
	for to, b := range prog.UndeclaredImports() {
		if program.NotGenerated(to, b) == "" {
			bag.Add(validating.Undeclared(to, b, "Declare the resource, or generate its configuration:\n\n  lethe plan -generate-config-out=generated.tf"))
			ok = false
		}
	}
	return ok
}
