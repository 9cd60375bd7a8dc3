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
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/zclconf/go-cty/cty"
)

// importFinisher checks, after all instances are planned, that each import was planned, and generates blocks for
// undeclared import targets.
type importFinisher struct {
	p      *planner
	blocks map[addr.Resource]string // blocks that Generate writes; nil if blocks are not requested
}

// finish reports each import that was not carried out because its resource has no such instance, or because an earlier
// import gives another object to this instance. If Generate requested blocks, finish writes a block for each import
// target that no resource block declares. It does nothing in destroy and refresh-only plans, and after an interrupt.
func (x *importFinisher) finish(ctx context.Context) {
	if x.p.req.Mode != plan.Normal || x.p.run.Budget.Interrupted() {
		return
	}
	into := map[addr.Instance]frame.Import{}
	for _, im := range x.imports() {
		if first, again := into[im.To]; again {
			if x.p.sel.Includes(im.To) && !im.SameObject(first) {
				x.p.run.Bag.Add(diag.Errorf("Duplicate import configuration for \""+im.To.String()+"\"", "Two imports have the target %s, and a resource instance can be imported only once. Remove one of them, or give the target a key that differs.", im.To).At(im.Block.To.Range()).See("the first import", first.Block.Range).About(im.To))
			}
			continue
		}
		into[im.To] = im
		d, declared := x.p.run.Program.Resource(im.To.Resource())
		switch {
		case !x.p.sel.Includes(im.To):
		case !declared && x.blocks == nil: // importsDeclared has reported the error
		case !declared:
			if text, ok := x.generate(ctx, im); ok {
				x.blocks[im.To.Resource()] = text
			}
		case x.p.outcomes.failed[d.ID].Load() || x.decided(im.To):
		default:
			x.p.run.Bag.Add(diag.Errorf("Configuration for import target does not exist", "There is no instance %s: the resource %s is declared, but its count or for_each has no such key. Correct the key in the address, or add it to the resource.", im.To, im.To.Resource()).At(im.Block.To.Range()).See("declared here", d.Range))
		}
	}
}

// imports returns all imports of the configuration. It also reports errors in import blocks: an instance evaluates
// import blocks only if the state has no object for it, so some errors were not reported yet.
func (x *importFinisher) imports() []frame.Import {
	var all, selected diag.Bag
	out, _ := x.p.run.Frame.AllImports(&all)
	if !x.p.sel.Active {
		selected.Add(all.List()...)
	}
	for _, d := range x.p.run.Program.Decls() {
		if d.Kind == program.Resource && x.p.sel.Active && !x.p.sel.Skips(d.ID) {
			_, _ = x.p.run.Frame.Imports(d.ID, &selected)
		}
	}
	for _, d := range selected.List() {
		if !x.p.req.Operation.Policy().ImportsOnly && !x.p.run.Bag.Reported(d) {
			x.p.run.Bag.Add(d)
		}
	}
	return out
}

// decided reports whether the walk has decided about the instance i, which an import names. This is true if the prior
// state or the plan has the instance, or if a later round (a further plan and apply) decides about it. A stored object
// is not imported again, even if the configuration no longer declares it.
func (x *importFinisher) decided(i addr.Instance) bool {
	if d, ok := x.p.run.Program.Resource(i.Resource()); ok && x.p.deferred.is(d.ID, i.Module) {
		return true
	}
	return x.p.prior.Get(i.Current()) != nil || slices.ContainsFunc(x.p.decisions.list, func(c *plan.Change) bool { return c.Object == i.Current() })
}

// generate reads an existing object and returns a resource block for it. The object is not kept in the state. If
// generate cannot write the block, it reports an error and returns false.
func (x *importFinisher) generate(ctx context.Context, im frame.Import) (string, bool) {
	refuse := func(why string) (string, bool) {
		x.p.run.Bag.Add(diag.Errorf("Configuration cannot be generated", "There is no configuration for the import target %s, and Lethe cannot generate it: %s. Write the configuration.", im.To, why).At(im.Block.To.Range()))
		return "", false
	}
	switch {
	case im.To.Key != addr.NoKey:
		return refuse("configuration is only generated for resources without count and for_each")
	case !im.To.Module.IsRoot():
		return refuse("configuration is only generated for resources of the root module")
	case im.Unknown:
		return refuse("the id is not known before apply")
	}
	u, name, ok := x.through(im)
	if !ok {
		return refuse("there is no such provider configuration, or its key is not constant")
	}
	s, ok := x.p.run.Sessions.Get(ctx, x.p.run.Bag, u, frame.After)
	typ := x.p.run.Types.Of(ctx, x.p.run.Bag, u.Instance.Provider, im.To.Resource(), im.To)
	if !ok || typ == nil {
		return "", false
	}
	t := &object.Tools{Object: im.To.Current(), Provider: guard.Of(s.Provider), Type: typ, Walk: x.p.run.Objects, Bag: x.p.run.Bag}
	if !conform(t, &im) {
		return "", false
	}
	v, ok := t.Existing(ctx, im.ID, im.Identity, object.Stored{Provider: u.Instance})
	if !ok {
		return "", false
	}
	g := style.Generation{Type: im.To.Type, Name: im.To.Name, ID: im.ID, Provider: style.ProviderOf(im.To.Type, name, u.Instance.Key), Schema: typ.Block, Value: v}
	g.Settle(func(config cty.Value) []cty.Path { return t.Objections(ctx, config) })
	return style.Generate(g), true
}

// through returns the provider instance for an import: the provider of the import block, or else the provider that the
// resource type implies. It returns false if the root module has no such provider configuration, or if the key is not a
// constant.
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
	ok := u.Declared || name.Alias == ""
	if im.Provider != nil && im.Provider.Key != nil {
		key, ds := im.Provider.Key.Value(nil)
		u.Instance.Key, ok = addr.KeyOf(key)
		ok = ok && !ds.HasErrors() && u.Declared
	}
	return u, name, ok
}
