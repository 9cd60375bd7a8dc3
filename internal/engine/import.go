package engine

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
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
		p.bag.Add(diag.Errorf("Invalid import id argument", "The import block for %s has an id that depends on values that cannot be determined until apply, so that Lethe cannot plan to import this resource.", inst).At(im.Range))
		return object.Current{}, nil, false
	}
	t, u, ok := p.toolsAfter(ctx, d, f, inst.Key, inst)
	if !ok {
		return object.Current{}, nil, false
	}
	entry, known, ok := t.Import(ctx, im.ID, im.Identity, object.Stored{Provider: u.instance})
	if !ok {
		return object.Current{}, nil, false
	}
	cur := object.Current{Entry: entry}
	if cur.Entry, cur.Known, ok = t.Read(ctx, entry, known); !ok {
		return object.Current{}, nil, false
	}
	if cur.Entry == nil {
		p.bag.Add(diag.Errorf("Cannot import non-existent remote object", "While attempting to import an existing object to %q, the provider detected that no object exists with the given id. Only pre-existing objects can be imported; check that the id is correct and that it is associated with the provider's configured region or endpoint, or use `lethe apply` to create a new remote object for this resource.", inst.String()).At(im.Range).About(inst))
		return object.Current{}, nil, false
	}
	p.mu.Lock()
	p.found[inst.Current()] = cur
	p.mu.Unlock()
	return cur, &plan.Importing{ID: im.ID, Identity: im.Identity}, true
}

// importOf finds the import that names an instance.
func (p *planner) importOf(d *lang.Declaration, inst addr.Instance) (lang.Import, bool, bool) {
	for _, im := range p.req.Imports {
		if im.To == inst {
			return lang.Import{To: inst, ID: im.ID, Identity: cty.NilVal}, true, true
		}
	}
	imports, out := p.frame.Imports(d.ID, p.bag)
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
