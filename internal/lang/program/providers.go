package program

import (
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// A local name of a provider, with or without an alias, means the first of these configurations that exists:
//   - the configuration that the module call passes under that name;
//   - the configuration of the module's own block;
//   - for a name without an alias, the default configuration of the same provider in the nearest calling module.
//
// The root module has an implied, empty configuration of every provider without a configuration.

// NoDecl is the Decl of a missing provider configuration.
const NoDecl = ^Decl(0)

// resolveProviders finds the provider configuration that every resource and action uses. If it reports an error, it
// returns false.
func (p *Program) resolveProviders(bag *diag.Bag) bool {
	r := &providerResolver{p: p, bag: bag, ok: true}
	p.uses = make([]Decl, len(p.decls))
	declared := p.decls // only the declared ones, because implied configurations are appended to p.decls
	for _, d := range declared {
		p.uses[d.ID] = NoDecl
		n := p.at[d.ID]
		switch d.Kind {
		case Resource, Action:
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

// ofResource returns the provider configuration that a resource in the module n uses. If the configuration does not
// exist, ofResource returns NoDecl, and reports an error. It reports none if another check reports it, or if the module
// has a part that could not be read, which may declare the configuration.
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
			return d // checkUnpassed reports the missing configuration
		}
		r.error(diag.Errorf("Provider configuration not present", "There is no configuration %q of provider %s %s. Add a provider %q block with alias = %q, or use another configuration.",
			name, prov.ForDisplay(), moduleOf(n), name.Local, name.Alias).At(at))
	}
	return d
}

// checkKey reports an error if a resource selects an instance of its provider configuration and the configuration has
// no for_each, or the reverse. passed is true if a calling module has selected the instance.
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
		r.error(diag.Errorf("Missing provider instance key", "The provider configuration %q has for_each set. Select one of its instances, for example:\n    provider = %s[each.key]", prov.ProviderName, prov.ProviderName).At(at).See("declared here", prov.Range))
	case !repeated && own:
		r.error(diag.Errorf("Unexpected provider instance key", "The provider configuration does not have for_each set, so it has no instances. Remove the key.").At(at))
	}
}

// checkUnpassed reports an error for each entry of configuration_aliases in the root module for which the root module
// has no provider block, because no caller can pass that configuration.
func (r *providerResolver) checkUnpassed(root *Node) {
	if r.p.tree.Called || root.Unit.Module.Unreadable() {
		return
	}
	for _, local := range slices.Sorted(maps.Keys(root.Unit.Module.Required)) {
		req := root.Unit.Module.Required[local]
		for _, name := range req.Aliases {
			if _, own := ownConfig(root, name); !own {
				r.error(diag.Errorf("Provider configuration not present", "This module expects the configuration %q from its caller (configuration_aliases), and it has no caller here. Call it from another module with an entry for %s in the providers argument, or add a provider %q block with alias = %q. For a test, add it to the test file.",
					name, name, name.Local, name.Alias).At(req.Range))
			}
		}
	}
}

// expectsPassed reports whether a called module declares, with configuration_aliases, that its caller must pass the
// configuration with this name.
func expectsPassed(n *Node, name config.ProviderName) bool {
	return n.Parent != nil && takes(n, name)
}

// takes reports whether a name is in the configuration_aliases of a module.
func takes(n *Node, name config.ProviderName) bool {
	req := n.Unit.Module.Required[name.Local]
	return req != nil && slices.Contains(req.Aliases, name)
}

// lookupConfig returns the provider configuration that a name means in a module, or NoDecl if it does not exist. If the
// language requires an implied configuration in the root module, lookupConfig creates it; find does not.
func (p *Program) lookupConfig(n *Node, name config.ProviderName) Decl {
	d, root := p.find(n, name)
	if d == NoDecl && !root.Provider.IsZero() {
		return p.implied(root)
	}
	return d
}

// find returns the provider configuration that a name means in a module, and creates none. If the name can only mean an
// implied configuration that was not created yet, find returns NoDecl and the address of that configuration. If the
// name has an alias that is not configured, find returns NoDecl and the zero address.
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

// ownConfig returns the index of the module's own provider block with that name, and false if the module has none. In a
// called module, an empty block without an alias does not count: it only declares that the module uses the
// configuration of its caller, which is the default anyway.
func ownConfig(n *Node, name config.ProviderName) (int32, bool) {
	i, ok := n.Unit.configs[name]
	if ok && n.Parent != nil && name.Alias == "" && isEmpty(n.Unit.Defs[i].Src.Prov) {
		return 0, false
	}
	return i, ok
}

// passedFor returns the entry for a name in the providers argument of the call of the module, or nil.
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

// localFor returns a module's local name for a provider. It looks for the same source address first, and then for the
// same provider at the other registry host, which a state or another module may use. If the module has no name for the
// provider, and the type of the provider is the local name of another provider, localFor returns the address of the
// provider, which is no declared name.
func localFor(n *Node, prov addr.Provider) string {
	if local, ok := localOf(n, prov.Type, func(p addr.Provider) bool { return p == prov }); ok {
		return local
	}
	if local, ok := localOf(n, prov.Type, func(p addr.Provider) bool { return p.Canon() == prov.Canon() }); ok {
		return local
	}
	return prov.String()
}

// localOf returns the first local name in a module for a provider p with meant(p) true: a declared name, or typ, which
// names a provider even without a declaration. It returns false if there is no such name.
func localOf(n *Node, typ string, meant func(addr.Provider) bool) (string, bool) {
	for _, local := range slices.Sorted(maps.Keys(n.Unit.Module.Required)) {
		if meant(n.Unit.Module.Required[local].Source) {
			return local, true
		}
	}
	return typ, meant(n.Config.Provider(typ))
}

// implied returns the declaration of an implied configuration of the root module, which is empty. It creates the
// declaration if necessary. If the root of the tree is a module that other modules call, the declaration also
// represents a configuration that the missing caller would pass.
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

// ProviderFor returns the configuration of a provider and alias in a module, for objects without a declaration. It
// returns false if the module no longer exists, or if the module has no block for the configuration and its caller
// passes none. It never returns another configuration instead, such as the calling module's, because another
// configuration may belong to another account.
func (p *Program) ProviderFor(m addr.Module, prov addr.Provider, alias string) (Decl, bool) {
	n := p.nodes[m]
	if n == nil {
		return NoDecl, false
	}
	name := config.ProviderName{Local: localFor(n, prov), Alias: alias}
	if _, declared := n.Unit.configs[name]; n.Parent != nil && !declared && passedFor(n, name) == nil {
		return NoDecl, false
	}
	d, _ := p.find(n, name)
	return d, d != NoDecl
}

// ImpliedProvider returns the default configuration of the provider that the name of a resource type implies, in the
// module of the resource, or in the nearest calling module that exists.
func (p *Program) ImpliedProvider(res addr.Resource) addr.ProviderConfig {
	m := res.Module
	for p.nodes[m] == nil {
		m = m.Parent()
	}
	d, root := p.find(p.nodes[m], config.ProviderName{Local: config.ImpliedProvider(res.Type)})
	if d != NoDecl {
		return p.decls[d].Provider
	}
	return root
}

// Existing returns the configuration of a provider and alias in a module, or NoDecl. If the module has no configuration
// with the alias, Existing searches the calling modules. It never creates an implied configuration.
func (p *Program) Existing(n *Node, prov addr.Provider, alias string) Decl {
	d, _ := p.find(n, config.ProviderName{Local: localFor(n, prov), Alias: alias})
	if d == NoDecl && alias != "" && n.Parent != nil {
		return p.Existing(n.Parent, prov, alias) // a function call may use an alias of a calling module
	}
	return d
}

// PassedKey returns the providers entry by which a calling module has selected the provider instance of a resource. It
// returns false if no calling module has.
func (p *Program) PassedKey(d Decl) (PassedKey, bool) {
	at, ok := p.keyed[d]
	return at, ok
}

// passedKey returns the providers entry by which a calling module selects the instance of the provider called name in
// the module n. It returns false if no entry does.
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

// checkPassed reports mistakes in the providers argument of a module call, by comparison with the called module.
func (r *providerResolver) checkPassed(n *Node, call *Def) {
	child := n.Children[call.Nth]
	if child == nil {
		return
	}
	for i := range call.Src.Mod.Providers {
		r.checkEntry(n, child, &call.Src.Mod.Providers[i])
	}
	r.checkWanted(child, call.Src.Mod)
	r.checkLegacy(child, call)
}

func (r *providerResolver) checkEntry(n, child *Node, e *config.Passed) {
	if n.Unit.Module.Unreadable() || child.Unit.Module.Unreadable() {
		return // the missing blocks may be in a part of a module that could not be read
	}
	if r.p.lookupConfig(n, e.Parent.ProviderName) == NoDecl && !expectsPassed(n, e.Parent.ProviderName) {
		if takes(n, e.Parent.ProviderName) {
			return // checkUnpassed reports the missing configuration
		}
		r.error(diag.Errorf("Provider configuration not present", "The configuration %q is not declared %s. Declare it, or pass another configuration to module.%s.", e.Parent.ProviderName, moduleOf(n), child.Config.Call.Name).At(e.Parent.Range))
		return
	}
	given, wanted := n.Config.Provider(e.Parent.Local), child.Config.Provider(e.Child.Local)
	req := child.Unit.Module.Required[e.Child.Local]
	listed := req != nil && req.Range != (diag.Range{}) // the entry is in required_providers, and not implied by the type of a resource
	own, declared := child.Unit.Module.Providers[e.Child]
	switch {
	case declared && !isEmpty(own):
		r.error(diag.Errorf("Cannot override provider configuration", "%s configures the provider %s itself, so its caller cannot pass a configuration. Remove the entry here, or the provider block in the module.", child.Config.Path, e.Child).At(e.Range).See("declared here", own.Range))
	case given != wanted && given.Canon() != wanted.Canon():
		text := fmt.Sprintf("The assigned configuration is for provider %q, but local name %q in %s represents %q.", given.ForDisplay(), e.Child.Local, child.Config.Path, wanted.ForDisplay())
		if !listed {
			text += fmt.Sprintf("\n\nIf you also control the child module, add a required_providers entry named %q with the source address %q.", e.Child.Local, given.ForDisplay())
		}
		r.error(diag.Errorf("Provider type mismatch", "%s", text).At(e.Range))
	case declared || listed && (e.Child.Alias == "" || slices.Contains(req.Aliases, e.Child)):
	case listed && wanted.Namespace != "hashicorp": // Terraform has the same rule
		r.error(diag.Errorf("Reference to undefined provider", "The child module does not require a provider with the local name %q. Remove the entry.\n\nIf you also control the child module, you can add %s to configuration_aliases in its required_providers block instead.", e.Child, e.Child).At(e.Range))
	default:
		how := fmt.Sprintf("a required_providers entry named %q with the source address %q", e.Child, wanted.ForDisplay())
		if e.Child.Alias != "" {
			how = fmt.Sprintf("%s to configuration_aliases of its required_providers entry for %q", e.Child, wanted.ForDisplay())
		}
		r.bag.Add(diag.Warningf("Reference to undefined provider", "The local provider name %q is not declared in %s, so it means %q.\n\nIf you also control the child module, add %s.", e.Child, child.Config.Path, wanted.ForDisplay(), how).At(e.Range))
	}
}

// checkWanted reports an error for each provider configuration that a module requires and that the call of the module
// does not pass.
func (r *providerResolver) checkWanted(child *Node, call *config.Call) {
	for _, local := range slices.Sorted(maps.Keys(child.Unit.Module.Required)) {
		req := child.Unit.Module.Required[local]
		for _, alias := range req.Aliases {
			if passedFor(child, alias) == nil {
				r.error(diag.Errorf("Missing required provider configuration", "The child module requires a configuration for provider %s, with the local name %q. See the module's documentation for its purpose.\n\nAdd an entry for %s to the \"providers\" argument of the module block.",
					req.Source.ForDisplay(), alias, alias).At(call.Range).See("required here", req.Range))
			}
		}
	}
}

// checkLegacy reports an error if a module call with count, for_each, enabled or depends_on calls a module that
// configures providers itself.
func (r *providerResolver) checkLegacy(child *Node, call *Def) {
	if call.Repetition == nil && len(call.Src.Mod.DependsOn) == 0 {
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
	r.error(diag.Errorf("Module is incompatible with count, for_each, and depends_on", "The module at %s contains provider configurations, so calls to it cannot use count, for_each, enabled or depends_on.\n\nRemove the argument. If you also control the module %q, remove its provider blocks and pass configurations from the caller.",
		child.Config.Path, child.Config.Source).At(at).See("a provider configured here", own.Range))
}

// firstOwnConfig returns a provider block that has settings, in a module or in a module below it, or nil if no block
// has settings.
func firstOwnConfig(n *Node) *config.Provider {
	for _, i := range sortedConfigs(n.Unit) {
		if p := n.Unit.Defs[i].Src.Prov; !isEmpty(p) {
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

// isEmpty reports whether a provider block has no settings. In old configurations, an empty block declares that the
// caller passes a configuration.
func isEmpty(p *config.Provider) bool {
	if p.ForEach != nil || len(p.Versions) > 0 || p.Body == nil {
		return p.Body == nil
	}
	attrs, diags := p.Body.JustAttributes()
	return len(attrs) == 0 && len(diags) == 0
}

// Describe returns the address of a declaration for messages. For an index that does not exist, it returns a text with
// the index, for the message of a panic.
func (p *Program) Describe(d Decl) string {
	if int(d) >= len(p.decls) {
		return fmt.Sprintf("declaration %d", d)
	}
	return p.decls[d].String()
}
