package engine

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// importFor takes an existing object in for a declared instance that has none, if an import block
// or the command line says so.
func (p *planner) importFor(ctx context.Context, d *lang.Declaration, f *lang.Frame, inst addr.Instance) (object.Current, *plan.Importing, bool) {
	im, found, ok := p.importOf(d, inst)
	if !ok || !found {
		return object.Current{}, nil, ok
	}
	if im.Unknown {
		p.run.bag.Add(diag.Errorf("Invalid import id argument", "The import block for %s has an id that depends on values that cannot be determined until apply, so that Lethe cannot plan to import this resource.", inst).At(im.Range))
		return object.Current{}, nil, false
	}
	t, u, ok := p.run.toolsAfter(ctx, d, f, inst.Key, inst)
	if !ok {
		return object.Current{}, nil, false
	}
	entry, known, ok := t.Import(ctx, im.ID, im.Identity, object.Stored{Provider: u.Instance})
	if !ok {
		return object.Current{}, nil, false
	}
	cur := object.Current{Entry: entry}
	if cur.Entry, cur.Known, ok = t.Read(ctx, entry, known); !ok {
		return object.Current{}, nil, false
	}
	if cur.Entry == nil {
		p.run.bag.Add(diag.Errorf("Cannot import non-existent remote object", "While attempting to import an existing object to %q, the provider detected that no object exists with the given id. Only pre-existing objects can be imported; check that the id is correct and that it is associated with the provider's configured region or endpoint, or use `lethe apply` to create a new remote object for this resource.", inst.String()).At(im.Range).About(inst))
		return object.Current{}, nil, false
	}
	p.mu.Lock()
	p.found[inst.Current()] = cur
	p.mu.Unlock()
	return cur, &plan.Importing{ID: im.ID, Identity: im.Identity}, true
}

// takenIn is what the import command makes of an instance: what there is of it, or what it imports. Its
// arguments are not looked at, they may have yet to be written.
func (p *planner) takenIn(ctx context.Context, d *lang.Declaration, f *lang.Frame, inst addr.Instance) (*plan.Change, func() mark.Value, bool) {
	cur, importing, ok := p.current(ctx, d, f, inst)
	if !ok {
		return nil, nil, false
	}
	if cur.Entry == nil { // something that the import goes through, to be made one day
		v := p.placeholder(d)
		return &plan.Change{Object: inst.Current(), Was: inst.Current(), Action: plan.Create, Before: mark.Plain(cty.NullVal(v.Raw.Type())), After: v}, func() mark.Value { return v }, true
	}
	t, u, ok := p.run.toolsAfter(ctx, d, f, inst.Key, inst)
	if !ok {
		return nil, nil, false
	}
	c := &plan.Change{
		Object: inst.Current(), Was: p.moved.Origin(inst.Current()), Entry: cur.Entry, Unchanged: true,
		Provider: u.Instance, Importing: importing, Recorded: p.recordedOf(d.ID),
	}
	return c, lazy(t, cur), true
}

// importOf finds the import that names an instance.
func (p *planner) importOf(d *lang.Declaration, inst addr.Instance) (lang.Import, bool, bool) {
	for _, im := range p.req.Imports {
		if im.To == inst {
			return lang.Import{To: inst, ID: im.ID, Identity: cty.NilVal}, true, true
		}
	}
	imports, out := p.run.frame.Imports(d.ID, p.run.bag)
	if out != lang.OK {
		return lang.Import{}, false, false
	}
	for _, im := range imports {
		if im.To == inst {
			return im, true, true
		}
	}
	return lang.Import{}, false, true
}
