package engine

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// checkImports refuses import blocks into resources that nothing declares, unless configuration is
// to be made for them.
func (e *Engine) checkImports(prog *lang.Program, generate bool, bag *diag.Bag) bool {
	if generate {
		return true
	}
	ok := true
	for to, b := range prog.UndeclaredImports() {
		bag.Add(diag.Errorf("Configuration for import target does not exist", "The configuration for the given import target %s does not exist. To have configuration made for this resource, use the -generate-config-out option of lethe plan. Otherwise, make sure the target resource exists within your configuration. For example:\n\n  lethe plan -generate-config-out=generated.tf", to).At(b.Range))
		ok = false
	}
	return ok
}

// finishImports looks, when everything is decided, for imports that nobody carried out: into
// instances that a resource does not have, and into resources without configuration, for which it
// is made now if that was asked for.
func (p *planner) finishImports(ctx context.Context) map[addr.Resource]string {
	if p.req.Mode != plan.Normal || p.run.cut.Load() {
		return nil
	}
	imports, out := p.run.frame.AllImports(&diag.Bag{}) // who imports into a declared resource reports what is wrong
	if out != lang.OK {
		return nil
	}
	made := map[addr.Resource]string{}
	for _, im := range imports {
		d, declared := p.run.prog.Resource(im.To.Resource())
		switch {
		case !p.sel.Includes(im.To):
		case !declared:
			if text, ok := p.generate(ctx, im); ok {
				made[im.To.Resource()] = text
			}
		case p.failed[d.ID].Load() || p.decided(im.To):
		default:
			p.run.bag.Add(diag.Errorf("Configuration for import target does not exist", "The resource %s is declared, but has no instance %s. Import into an instance that its count or for_each makes.", im.To.Resource(), im.To).At(im.Block.Range).See("declared here", d.Range))
		}
	}
	return made
}

// decided reports whether something was decided about an instance that is to be there.
func (p *planner) decided(i addr.Instance) bool {
	return slices.ContainsFunc(p.planned, func(c *plan.Change) bool { return c.Object == i.Current() && c.Action != plan.Delete })
}

// generate imports an object without keeping it, and writes configuration for it.
func (p *planner) generate(ctx context.Context, im lang.Import) (string, bool) {
	refuse := func(why string) (string, bool) {
		p.run.bag.Add(diag.Errorf("Configuration cannot be generated", "There is no configuration for the import target %s, and none can be made for it: %s. Write its configuration by hand.", im.To, why).At(im.Range))
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
	u, name, ok := p.generateThrough(im)
	if !ok {
		return refuse("there is no such provider configuration")
	}
	s, ok := p.run.sessions.get(ctx, p.run.bag, u, lang.After)
	typ := p.run.typeOf(ctx, u.Instance.Provider, im.To.Resource(), im.To)
	if !ok || typ == nil {
		return "", false
	}
	t := &object.Tools{Object: im.To.Current(), Provider: s.provider, Type: typ, Walk: p.run.objs, Bag: p.run.bag}
	v, ok := t.Existing(ctx, im.ID, im.Identity, object.Stored{Provider: u.Instance})
	if !ok {
		return "", false
	}
	g := config.Generation{Type: im.To.Type, Name: im.To.Name, ID: im.ID, Provider: name, Schema: typ.Block, Value: v}
	if objected := t.Objections(ctx, g.Config()); len(objected) > 0 {
		g.Omit = func(path cty.Path) bool {
			return slices.ContainsFunc(objected, func(o cty.Path) bool { return o.Equals(path) })
		}
	}
	return config.Generate(g), true
}

// generateThrough is the provider to import through: that of the import block, or the one that the
// type implies.
func (p *planner) generateThrough(im lang.Import) (declared.Use, config.ProviderName, bool) {
	var name config.ProviderName
	if im.Provider != nil {
		name = im.Provider.ProviderName
	} else {
		name = (&config.Resource{Name: config.Name{Type: im.To.Type}}).LocalProvider()
	}
	a := p.run.prog.Tree().Root.Provider(name.Local)
	u := declared.Use{Instance: addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: a, Alias: name.Alias}}}
	u.Decl, u.Declared = p.run.prog.ProviderFor(addr.Module{}, a, name.Alias)
	return u, name, u.Declared || name.Alias == ""
}
