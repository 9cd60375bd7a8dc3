package program

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// A local name of a provider, with or without an alias, means in a module: the configuration that
// the call passed in under that name; the module's own block; and for names without alias, the
// default configuration of the same provider in the nearest caller. The root has an empty one of
// every provider that nothing configures.

// noDecl is where a provider configuration is missing.
const NoDecl = ^Decl(0)

// resolveProviders finds the configuration that every resource uses.
func (p *Program) resolveProviders(bag *diag.Bag) bool {
	r := &providerResolver{p: p, bag: bag, ok: true}
	p.uses = make([]Decl, len(p.decls))
	declared := p.decls // implied configurations are appended behind
	for _, d := range declared {
		p.uses[d.ID] = NoDecl
		n := p.at[d.ID]
		switch d.Kind {
		case Resource:
			p.uses[d.ID] = r.ofResource(n, d.Res)
			at, ok := p.passedKey(n, d.Res.LocalProvider())
			if ok {
				p.keyed[d.ID] = at
			}
			r.checkKey(d, ok)
		case Call:
			r.checkPassed(n, n.Unit.Defs[d.ID-n.Base])
		}
	}
	r.checkUnpassed(p.root)
	for len(p.uses) < len(p.decls) {
		p.uses = append(p.uses, NoDecl)
	}
	return r.ok
}

type providerResolver struct {
	p   *Program
	bag *diag.Bag
	ok  bool
}

func (r *providerResolver) error(d diag.Diagnostic) {
	r.bag.Add(d)
	r.ok = false
}

func (r *providerResolver) ofResource(n *Node, res *config.Resource) Decl {
	name := res.LocalProvider()
	prov := n.Config.Provider(name.Local)
	d := r.p.lookupConfig(n, name)
	if d == NoDecl && !expectsPassed(n, name) && !n.Unit.Module.Unreadable() {
		at := res.TypeRange
		if res.Provider != nil {
			at = res.Provider.Range
		}
		if takes(n, name) {
			return d // checkUnpassed says so
		}
		r.error(diag.Errorf("Provider configuration not present", "There is no configuration %q of provider %s %s. Add a provider %q block with alias = %q, or use another configuration.",
			name, prov.ForDisplay(), moduleOf(n), name.Local, name.Alias).At(at))
	}
	return d
}

// checkKey holds the choice of a provider instance against whether there are several.
func (r *providerResolver) checkKey(d *Declaration, passed bool) {
	if r.p.uses[d.ID] == NoDecl {
		return
	}
	prov := r.p.decls[r.p.uses[d.ID]].Prov
	own := d.Res.Provider != nil && d.Res.Provider.Key != nil
	at := d.Res.TypeRange
	if d.Res.Provider != nil {
		at = d.Res.Provider.Range
	}
	switch repeated := prov != nil && prov.ForEach != nil; {
	case repeated && !own && !passed:
		r.error(diag.Errorf("Missing provider instance key", "The provider configuration %q has for_each set, so one of its instances must be chosen:\n    provider = %s[each.key]", prov.ProviderName, prov.ProviderName).At(at).See("declared here", prov.Range))
	case !repeated && own:
		r.error(diag.Errorf("Unexpected provider instance key", "The provider configuration does not have for_each set, so there are no instances to choose from. Remove the key.").At(at))
	}
}

// checkUnpassed reports what the configuration_aliases of the root module name and nothing passes it.
func (r *providerResolver) checkUnpassed(root *Node) {
	if r.p.tree.Called || root.Unit.Module.Unreadable() {
		return
	}
	for _, local := range slices.Sorted(maps.Keys(root.Unit.Module.Required)) {
		req := root.Unit.Module.Required[local]
		for _, name := range req.Aliases {
			if _, own := ownConfig(root, name); !own {
				r.error(diag.Errorf("Provider configuration not present", "This module expects its caller to pass it the configuration %q (configuration_aliases), and there is no caller here. Call it from another module, with an entry for %s in the providers argument; or add a provider %q block with alias = %q, for a test to the test file.",
					name, name, name.Local, name.Alias).At(req.Range))
			}
		}
	}
}

// expectsPassed reports whether a module declares that its caller passes a configuration.
func expectsPassed(n *Node, name config.ProviderName) bool {
	return n.Parent != nil && takes(n, name)
}

// takes reports whether a name is among the configuration_aliases of a module.
func takes(n *Node, name config.ProviderName) bool {
	req := n.Unit.Module.Required[name.Local]
	return req != nil && slices.Contains(req.Aliases, name)
}

// lookupConfig finds the declaration that a provider name means in a module, noDecl if there is
// none. It implies an empty configuration in the root where the language wants one; find does not.
func (p *Program) lookupConfig(n *Node, name config.ProviderName) Decl {
	d, root := p.find(n, name)
	if d == NoDecl && !root.Provider.IsZero() {
		return p.implied(root)
	}
	return d
}

// find is lookupConfig without implying anything. Where only an implied configuration can be meant,
// it says which one.
func (p *Program) find(n *Node, name config.ProviderName) (Decl, addr.ProviderConfig) {
	prov := n.Config.Provider(name.Local)
	for {
		if entry := passedFor(n, name); entry != nil {
			n, name = n.Parent, entry.Parent.ProviderName
			prov = n.Config.Provider(name.Local)
			continue
		}
		if i, ok := ownConfig(n, name); ok {
			return n.Decl(i), addr.ProviderConfig{}
		}
		if name.Alias != "" && !(p.tree.Called && n.Parent == nil && takes(n, name)) {
			return NoDecl, addr.ProviderConfig{}
		}
		if n.Parent == nil {
			c := addr.ProviderConfig{Provider: prov, Alias: name.Alias}
			if d, ok := p.configs[c]; ok {
				return d, addr.ProviderConfig{}
			}
			return NoDecl, c
		}
		n = n.Parent
		name = config.ProviderName{Local: localFor(n, prov)}
	}
}

// ownConfig is the module's own block of that name. In a called module an empty one without alias only
// says that the caller's configuration is meant, which it is without saying so.
func ownConfig(n *Node, name config.ProviderName) (int32, bool) {
	i, ok := n.Unit.configs[name]
	if ok && n.Parent != nil && name.Alias == "" && isEmpty(n.Unit.Defs[i].Prov) {
		return 0, false
	}
	return i, ok
}

// passedFor is the entry of the call's providers argument for a name.
func passedFor(n *Node, name config.ProviderName) *config.Passed {
	if n.Parent == nil {
		return nil
	}
	list := n.Config.Call.Providers
	for i := range list {
		if list[i].Child == name {
			return &list[i]
		}
	}
	return nil
}

// localFor is the name that a module has for a provider: under its own host, or failing that under
// that of the other registry, which a state or another module may know it by. Where it has none, and
// its type is taken for another provider, the result means no declared name.
func localFor(n *Node, prov addr.Provider) string {
	if local, ok := localOf(n, prov.Type, func(p addr.Provider) bool { return p == prov }); ok {
		return local
	}
	if local, ok := localOf(n, prov.Type, func(p addr.Provider) bool { return p.Canon() == prov.Canon() }); ok {
		return local
	}
	return prov.String()
}

// localOf is the local name of the provider that is meant: a declared one, or its type, which stands
// for it undeclared.
func localOf(n *Node, typ string, meant func(addr.Provider) bool) (string, bool) {
	for _, local := range slices.Sorted(maps.Keys(n.Unit.Module.Required)) {
		if meant(n.Unit.Module.Required[local].Source) {
			return local, true
		}
	}
	return typ, meant(n.Config.Provider(typ))
}

// implied is an empty configuration of the root: a default one, or one that a caller which is not there passes.
func (p *Program) implied(c addr.ProviderConfig) Decl {
	if d, ok := p.configs[c]; ok {
		return d
	}
	d := &Declaration{ID: Decl(len(p.decls)), Kind: Provider, Name: c.Provider.Type, Provider: c}
	p.decls = append(p.decls, d)
	p.at = append(p.at, nil)
	p.configs[c] = d.ID
	return d.ID
}

// ProviderFor finds the configuration that a provider and alias mean in a module, for objects
// without a declaration: the module itself may be gone. False if there is none.
func (p *Program) ProviderFor(m addr.Module, prov addr.Provider, alias string) (Decl, bool) {
	n := p.nodes[m]
	for n == nil && !m.IsRoot() {
		m = m.Parent()
		n = p.nodes[m]
	}
	d := p.Existing(n, prov, alias)
	return d, d != NoDecl
}

// Existing finds a configuration by provider, without implying anything.
func (p *Program) Existing(n *Node, prov addr.Provider, alias string) Decl {
	d, _ := p.find(n, config.ProviderName{Local: localFor(n, prov), Alias: alias})
	if d == NoDecl && alias != "" && n.Parent != nil {
		return p.Existing(n.Parent, prov, alias) // aliases are not inherited, but objects may outlive what passed them
	}
	return d
}

// PassedKey is where a calling module chose the provider instance of a resource; false if none did.
func (p *Program) PassedKey(d Decl) (PassedKey, bool) {
	at, ok := p.keyed[d]
	return at, ok
}

// passedKey finds the entry that chooses the provider instance for a name, if one does.
func (p *Program) passedKey(n *Node, name config.ProviderName) (PassedKey, bool) {
	for up := 0; n.Parent != nil; up++ {
		i := slices.IndexFunc(n.Config.Call.Providers, func(e config.Passed) bool { return e.Child == name })
		switch _, own := ownConfig(n, name); {
		case i >= 0 && n.Config.Call.Providers[i].Parent.Key != nil:
			return PassedKey{up, i}, true
		case i >= 0:
			name = n.Config.Call.Providers[i].Parent.ProviderName
		case own || name.Alias != "":
			return PassedKey{}, false
		default:
			name = config.ProviderName{Local: localFor(n.Parent, n.Config.Provider(name.Local))}
		}
		n = n.Parent
	}
	return PassedKey{}, false
}

// checkPassed holds a call's providers argument against the module it calls.
func (r *providerResolver) checkPassed(n *Node, call *Def) {
	child := n.Children[call.Nth]
	if child == nil {
		return
	}
	for i := range call.Mod.Providers {
		r.checkEntry(n, child, &call.Mod.Providers[i])
	}
	r.checkWanted(child, call.Mod)
	r.checkLegacy(child, call)
}

func (r *providerResolver) checkEntry(n, child *Node, e *config.Passed) {
	if n.Unit.Module.Unreadable() || child.Unit.Module.Unreadable() {
		return // some of this is not known
	}
	if r.p.lookupConfig(n, e.Parent.ProviderName) == NoDecl && !expectsPassed(n, e.Parent.ProviderName) {
		if takes(n, e.Parent.ProviderName) {
			return // checkUnpassed says so
		}
		r.error(diag.Errorf("Provider configuration not present", "The configuration %q is not declared %s, so it cannot be passed to module.%s.", e.Parent.ProviderName, moduleOf(n), child.Config.Call.Name).At(e.Parent.Range))
		return
	}
	given, wanted := n.Config.Provider(e.Parent.Local), child.Config.Provider(e.Child.Local)
	req := child.Unit.Module.Required[e.Child.Local]
	listed := req != nil && req.Range != (diag.Range{}) // in required_providers, not by the type of a resource
	own, declared := child.Unit.Module.Providers[e.Child]
	switch {
	case declared && !isEmpty(own):
		r.error(diag.Errorf("Cannot override provider configuration", "The configuration of %s has its own local configuration for %s, and so it cannot accept an overridden configuration provided by its caller.", child.Config.Path, e.Child).At(e.Range).See("declared here", own.Range))
	case given != wanted && given.Canon() != wanted.Canon():
		text := fmt.Sprintf("The assigned configuration is for provider %q, but local name %q in %s represents %q.", given.ForDisplay(), e.Child.Local, child.Config.Path, wanted.ForDisplay())
		if !listed {
			text += fmt.Sprintf("\n\nIf you also control the child module, add a required_providers entry named %q with the source address %q.", e.Child.Local, given.ForDisplay())
		}
		r.error(diag.Errorf("Provider type mismatch", "%s", text).At(e.Range))
	case declared || listed && (e.Child.Alias == "" || slices.Contains(req.Aliases, e.Child)):
	case listed && wanted.Namespace != "hashicorp": // Terraform's rule
		r.error(diag.Errorf("Reference to undefined provider", "The child module does not declare any provider requirement with the local name %q.\n\nIf you also control the child module, you can add an entry for %s to configuration_aliases in its required_providers block to accept this provider configuration.", e.Child, e.Child).At(e.Range))
	default:
		how := fmt.Sprintf("a required_providers entry named %q with the source address %q", e.Child, wanted.ForDisplay())
		if e.Child.Alias != "" {
			how = fmt.Sprintf("%s to configuration_aliases of its required_providers entry for %q", e.Child, wanted.ForDisplay())
		}
		r.bag.Add(diag.Warningf("Reference to undefined provider", "There is no explicit declaration for local provider name %q in %s, so it is taken to mean %q.\n\nIf you also control the child module, add %s.", e.Child, child.Config.Path, wanted.ForDisplay(), how).At(e.Range))
	}
}

// checkWanted reports what a module must be passed and is not.
func (r *providerResolver) checkWanted(child *Node, call *config.Call) {
	for _, local := range slices.Sorted(maps.Keys(child.Unit.Module.Required)) {
		req := child.Unit.Module.Required[local]
		for _, alias := range req.Aliases {
			if passedFor(child, alias) == nil {
				r.error(diag.Errorf("Missing required provider configuration", "The child module requires an additional configuration for provider %s, with the local name %q.\n\nRefer to the module's documentation to understand the intended purpose of this additional provider configuration, and then add an entry for %s in the \"providers\" meta-argument in the module block to choose which provider configuration the module should use for that purpose.",
					req.Source.ForDisplay(), alias, alias).At(call.Range).See("required here", req.Range))
			}
		}
	}
}

// checkLegacy refuses repetition of modules that configure providers themselves.
func (r *providerResolver) checkLegacy(child *Node, call *Def) {
	if call.Repetition == nil && len(call.Mod.DependsOn) == 0 {
		return
	}
	own := firstOwnConfig(child)
	if own == nil {
		return
	}
	at := call.At
	if call.Repetition != nil {
		at = call.Repetition.Range()
	}
	r.error(diag.Errorf("Module is incompatible with count, for_each, and depends_on", "The module at %s is a legacy module which contains its own local provider configurations, and so calls to it may not use the count, for_each, enabled, or depends_on arguments.\n\nIf you also control the module %q, consider updating this module to instead expect provider configurations to be passed by its caller.",
		child.Config.Path, child.Config.Source).At(at).See("a provider configured here", own.Range))
}

// firstOwnConfig finds a provider block with settings in a module or below it.
func firstOwnConfig(n *Node) *config.Provider {
	for _, i := range sortedConfigs(n.Unit) {
		if p := n.Unit.Defs[i].Prov; !isEmpty(p) {
			return p
		}
	}
	for _, child := range n.Children {
		if child == nil {
			continue
		}
		if p := firstOwnConfig(child); p != nil {
			return p
		}
	}
	return nil
}

func sortedConfigs(u *Unit) []int32 {
	out := make([]int32, 0, len(u.configs))
	for _, i := range u.configs {
		out = append(out, i)
	}
	slices.Sort(out)
	return out
}

// isEmpty reports whether a provider block says nothing: the old way to declare that the caller
// passes a configuration.
func isEmpty(p *config.Provider) bool {
	if p.ForEach != nil || len(p.Versions) > 0 || p.Body == nil {
		return p.Body == nil
	}
	attrs, diags := p.Body.JustAttributes()
	return len(attrs) == 0 && len(diags) == 0
}

// Describe names a declaration for panics, also one that is missing.
func (p *Program) Describe(d Decl) string {
	if int(d) >= len(p.decls) {
		return fmt.Sprintf("declaration %d", d)
	}
	return p.decls[d].String()
}
