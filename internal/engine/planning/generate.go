package planning

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/style"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// importFinisher looks after imports when everything is decided.
type importFinisher struct{ p *planner }

// finish looks, when everything is decided, for imports that were not carried out: into
// instances that a resource does not have, and into resources without configuration, for which it
// is made now if that was asked for.
func (x *importFinisher) finish(ctx context.Context) map[addr.Resource]string {
	if x.p.req.Mode != plan.Normal || x.p.run.Cut.Load() {
		return nil
	}
	imports, out := x.p.run.Frame.AllImports(&diag.Bag{}) // what imports into a declared resource reports what is wrong
	if out != frame.OK {
		return nil
	}
	made := map[addr.Resource]string{}
	for _, im := range imports {
		d, declared := x.p.run.Program.Resource(im.To.Resource())
		switch {
		case !x.p.sel.Includes(im.To):
		case !declared:
			if text, ok := x.generate(ctx, im); ok {
				made[im.To.Resource()] = text
			}
		case x.p.outcomes.failed[d.ID].Load() || x.decided(im.To):
		default:
			x.p.run.Bag.Add(diag.Errorf("Configuration for import target does not exist", "The configuration for the given import %s does not exist: the resource %s is declared, but its count or for_each makes no such instance. All target instances must have an associated configuration to be imported. Correct the key in the address, or add it to the resource.", im.To, im.To.Resource()).At(im.Block.To.Range()).See("declared here", d.Range))
		}
	}
	return made
}

// decided reports whether an instance is there, or was: what the state has is not imported again, also
// where the configuration has no use for it any more.
func (x *importFinisher) decided(i addr.Instance) bool {
	return x.p.prior.Get(i.Current()) != nil || slices.ContainsFunc(x.p.decisions.list, func(c *plan.Change) bool { return c.Object == i.Current() })
}

// generate imports an object without keeping it, and writes configuration for it.
func (x *importFinisher) generate(ctx context.Context, im frame.Import) (string, bool) {
	refuse := func(why string) (string, bool) {
		x.p.run.Bag.Add(diag.Errorf("Configuration cannot be generated", "There is no configuration for the import target %s, and none can be generated for it: %s. Write its configuration by hand.", im.To, why).At(im.Block.To.Range()))
		return "", false
	}
	switch {
	case im.To.Key != addr.NoKey:
		return refuse("configuration is only made for resources without count and for_each")
	case !im.To.Module.IsRoot():
		return refuse("configuration is only made for resources of the root module")
	case im.Unknown:
		return refuse("the id is not known before apply")
	}
	u, name, ok := x.through(im)
	if !ok {
		return refuse("there is no such provider configuration")
	}
	s, ok := x.p.run.Sessions.Get(ctx, x.p.run.Bag, u, frame.After)
	typ := x.p.run.TypeOf(ctx, u.Instance.Provider, im.To.Resource(), im.To)
	if !ok || typ == nil {
		return "", false
	}
	t := &object.Tools{Object: im.To.Current(), Provider: s.Provider, Type: typ, Walk: x.p.run.Objects, Bag: x.p.run.Bag}
	v, ok := t.Existing(ctx, im.ID, im.Identity, object.Stored{Provider: u.Instance})
	if !ok {
		return "", false
	}
	g := style.Generation{Type: im.To.Type, Name: im.To.Name, ID: im.ID, Provider: name, Schema: typ.Block, Value: v}
	if objected := t.Objections(ctx, g.Config()); len(objected) > 0 {
		g.Omit = func(path cty.Path) bool {
			return slices.ContainsFunc(objected, func(o cty.Path) bool { return o.Equals(path) })
		}
	}
	return style.Generate(g), true
}

// through is the provider to import through: that of the import block, or the one that the
// type implies.
func (x *importFinisher) through(im frame.Import) (declared.Use, config.ProviderName, bool) {
	var name config.ProviderName
	if im.Provider != nil {
		name = im.Provider.ProviderName
	} else {
		name = (&config.Resource{Name: config.Name{Type: im.To.Type}}).LocalProvider()
	}
	a := x.p.run.Program.Tree().Root.Provider(name.Local)
	u := declared.Use{Instance: addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: a, Alias: name.Alias}}}
	u.Decl, u.Declared = x.p.run.Program.ProviderFor(addr.Module{}, a, name.Alias)
	return u, name, u.Declared || name.Alias == ""
}
