package planning

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// importOf finds the import that names an instance.
func (p *planner) importOf(d *program.Declaration, inst addr.Instance) (frame.Import, bool, bool) {
	for _, im := range p.req.Imports {
		if im.To == inst {
			return frame.Import{To: inst, ID: im.ID, Identity: cty.NilVal}, true, true
		}
	}
	imports, out := p.run.Frame.Imports(d.ID, p.run.Bag)
	if out != frame.OK {
		return frame.Import{}, false, false
	}
	for _, im := range imports {
		if im.To == inst {
			return im, true, true
		}
	}
	return frame.Import{}, false, true
}

// current is the refreshed object that an instance has, or the one it is to import.
func (x *instance) current(ctx context.Context) (object.Current, *plan.Importing, bool) {
	o := x.inst.Current()
	cur, seen := x.p.refreshed(o)
	if seen && cur.Entry != nil {
		return cur, nil, true
	}
	if x.p.prior.Get(o) != nil { // it is gone, or refreshing it failed: an import block has had its turn
		return object.Current{}, nil, seen
	}
	return x.importFor(ctx)
}

// importFor takes an existing object in for a declared instance that has none, if an import block
// or the command line says so.
func (x *instance) importFor(ctx context.Context) (object.Current, *plan.Importing, bool) {
	im, found, ok := x.p.importOf(x.d, x.inst)
	if !ok || !found {
		return object.Current{}, nil, ok
	}
	if im.Unknown {
		x.run.Bag.Add(diag.Errorf("Invalid import id argument", "The import block for %s has an id that depends on values that cannot be determined until apply, so that Lethe cannot plan to import this resource.", x.inst).At(im.Range))
		return object.Current{}, nil, false
	}
	if x.deposed(im.ID) {
		return object.Current{}, nil, true
	}
	t, u, ok := x.run.ToolsAfter(ctx, x.d, x.f, x.inst.Key, x.inst)
	if !ok {
		return object.Current{}, nil, false
	}
	entry, known, ok := t.Import(ctx, im.ID, im.Identity, object.Stored{Provider: u.Instance, Several: x.p.commanded(x.inst)})
	if !ok {
		return object.Current{}, nil, false
	}
	cur := object.Current{Entry: entry}
	if cur.Entry, cur.Known, ok = t.Read(ctx, entry, known); !ok {
		return object.Current{}, nil, false
	}
	if cur.Entry == nil {
		x.run.Bag.Add(object.NotThere(x.inst).At(im.Range))
		return object.Current{}, nil, false
	}
	x.p.mu.Lock()
	x.p.found[x.inst.Current()] = cur
	x.p.mu.Unlock()
	return cur, &plan.Importing{ID: im.ID, Identity: im.Identity}, true
}

// commanded reports whether the import command imports an instance.
func (p *planner) commanded(inst addr.Instance) bool {
	return slices.ContainsFunc(p.req.Imports, func(im Import) bool { return im.To == inst })
}

// deposed is whether the instance has the object with an id already, which is on its way out: a run that was lost
// imported it, and was about to make another in its place.
func (x *instance) deposed(id string) bool {
	r := x.p.prior.Resource(x.inst.Abs())
	if r == nil {
		return false
	}
	for o, e := range r.Objects() {
		if o.IsDeposed() && o.Instance == x.inst && id != "" && e.ID() == id {
			return true
		}
	}
	return false
}

// keepImported refuses to import an object that the same plan destroys where it was: it would be lost. It is the same one
// if both have the id that it is imported by, through whatever configuration of their provider; what is imported by
// something else may have the id that all of its kind have.
func (p *planner) keepImported(changes []*plan.Change) {
	type known struct {
		provider addr.Provider
		kind, id string
	}
	of := func(o addr.Object, e *state.Entry) known { return known{e.Provider.Provider.Canon(), o.Type, e.ID()} }
	imported := map[known]addr.Object{}
	for _, c := range changes {
		if e := p.found[c.Object].Entry; c.Importing != nil && e != nil && e.ID() == c.Importing.ID && e.ID() != "" {
			imported[of(c.Object, e)] = c.Object
		}
	}
	for _, c := range changes {
		e := p.prior.Get(c.Object)
		if len(imported) == 0 || e == nil || !c.Action.Downs() || c.Action == plan.Forget || c.Action == plan.ForgetCreate {
			continue
		}
		if to, is := imported[of(c.Object, e)]; is && to != c.Object {
			was, now, other := e.Provider, p.found[to].Entry.Provider, ""
			was.Provider, now.Provider = was.Provider.Canon(), now.Provider.Canon()
			if was != now {
				other = " If it is another object, of another account say, import it first, with -target."
			}
			d, _ := p.run.Program.Resource(to.Resource())
			p.run.Bag.Add(diag.Errorf("Imported object would be destroyed", "%s imports the object %q, which is %s in the state, and this plan destroys that. To keep the object under its new address, write a moved block from %[3]s to %[1]s in the place of the import; or a removed block for %[3]s with destroy = false.%s", to, e.ID(), c.Object, other).At(d.Range).About(to.Instance))
		}
	}
}

// takenIn is what the import command makes of an instance: what there is of it, or what it imports. Its
// arguments are not looked at, they may have yet to be written.
func (x *instance) takenIn(ctx context.Context) (*plan.Change, func() mark.Value, bool) {
	cur, importing, ok := x.current(ctx)
	if !ok {
		return nil, nil, false
	}
	if cur.Entry == nil { // something that the import goes through, to be made one day
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

// importsDeclared refuses import blocks into resources that nothing declares. Validating does not: configuration
// may be made for them.
func importsDeclared(prog *program.Program, bag *diag.Bag) bool {
	ok := true
	for to, b := range prog.UndeclaredImports() {
		why := "If you wish to automatically generate config for this resource, use the -generate-config-out option within lethe plan. Otherwise, make sure the target resource exists within your configuration. For example:\n\n  lethe plan -generate-config-out=generated.tf"
		if b.Keyed() {
			why = "It cannot be generated: the -generate-config-out option cannot be used with resources which use for_each or count. Declare the resource in your configuration."
		}
		bag.Add(diag.Errorf("Configuration for import target does not exist", "The configuration for the given import target %s does not exist. %s", to, why).At(b.To.Range()))
		ok = false
	}
	return ok
}
