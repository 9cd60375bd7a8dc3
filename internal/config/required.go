package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

// requiredProviders takes the entries of a required_providers block. Those of an override file
// replace the entries of the same name.
func (l *loader) requiredProviders(b *hcl.Block, over bool) {
	if !over && !l.first("required_providers", place(b), "Duplicate required providers configuration", "A module may have only one required_providers block, and one was given at %s. Put all entries into one of them.") {
		return
	}
	attrs, ds := b.Body.JustAttributes()
	l.rd.hcl(ds)
	maps.Copy(l.entries, attrs)
}

// requirement reads one entry: an object, or in the old form a version constraint.
func (l *loader) requirement(local string, a *hcl.Attribute) {
	if !l.rd.localName(local, a.NameRange) {
		return
	}
	r := &Requirement{Local: local, Source: addr.Default(local), Range: a.Range}
	pairs, ds := hcl.ExprMap(a.Expr)
	if !ds.HasErrors() {
		if !l.requirementObject(r, pairs) {
			return
		}
	} else if !requirementText(l.rd, r, a.Expr) {
		return
	}
	if r.Source.IsBuiltin() && len(r.Versions) > 0 {
		l.rd.error(a.Range, "Invalid dependency on built-in provider", "Provider %s is built in to Lethe, so it has no versions of its own. Remove the version argument.", r.Source)
		return
	}
	l.mod.Required[local] = r
}

const badRequirement = `An entry of required_providers is an object such as { source = "hashicorp/aws", version = "~> 5.0" }, or in the old form a version constraint.`

func requirementText(rd *reader, r *Requirement, e hcl.Expression) bool {
	if _, ok := rd.string(e, "Invalid required_providers object", badRequirement); !ok {
		return false
	}
	c, ok := rd.constraint(e, "the version of a provider")
	r.Versions = append(r.Versions, c)
	return ok
}

func (l *loader) requirementObject(r *Requirement, pairs []hcl.KeyValuePair) bool {
	ok := true
	for _, p := range pairs {
		key, good := l.rd.constant(p.Key)
		if !good || key.Type() != cty.String || key.IsNull() {
			ok = false
			continue
		}
		switch name := key.AsString(); name {
		case "version":
			c, good := l.rd.constraint(p.Value, "the version of a provider")
			r.Versions = append(r.Versions, c)
			ok = ok && good
		case "source":
			ok = l.source(r, p.Value) && ok
		case "configuration_aliases":
			ok = l.configurationAliases(r, p.Value) && ok
		case "//": // a comment in JSON syntax
		default:
			l.rd.error(p.Key.Range(), "Invalid required_providers object", `required_providers objects can only contain "version", "source" and "configuration_aliases" attributes, and not %q.%s To configure a provider, use a "provider" block.`, name, suggestion(name, []string{"version", "source", "configuration_aliases"}))
			ok = false
		}
	}
	return ok
}

func (l *loader) source(r *Requirement, e hcl.Expression) bool {
	src, ok := l.rd.string(e, "Invalid source", "Source must be specified as a string, such as \"hashicorp/aws\".")
	if !ok {
		return false
	}
	p, err := addr.ParseProvider(src)
	if err != nil {
		l.rd.error(e.Range(), "Invalid provider source string", `The "source" attribute must be in the format "[hostname/][namespace/]name": %v.`, err)
		return false
	}
	if p.Namespace == addr.LegacyNamespace {
		l.rd.error(e.Range(), "Invalid legacy provider address", "%q is an address from before Terraform 0.13, which no registry has any more. Name the provider with its namespace, such as \"hashicorp/%s\". If a state has the old address too, run: lethe state replace-provider %s NEW", src, p.Type, src)
		return false
	}
	r.Source = p
	r.HostGiven = strings.Count(src, "/") == 2
	return true
}

func (l *loader) configurationAliases(r *Requirement, e hcl.Expression) bool {
	list, ok := l.rd.list(e, "configuration_aliases", r.Local+".west")
	for _, item := range list {
		ref, good := l.rd.providerRef(item, "configuration_aliases")
		switch {
		case !good:
			ok = false
		case ref.Alias == "" || ref.Key != nil:
			l.rd.error(item.Range(), "Invalid configuration_aliases value", "Configuration aliases can only contain references to local provider configuration names in the format of provider.alias, such as %s.west.", r.Local)
			ok = false
		case ref.Local != r.Local:
			l.rd.error(item.Range(), "Invalid configuration_aliases value", "Configuration aliases must be prefixed with the provider name. Expected %q, but found %q.", r.Local, ref.Local)
			ok = false
		case !slices.Contains(r.Aliases, ref.ProviderName):
			r.Aliases = append(r.Aliases, ref.ProviderName)
		}
	}
	return ok
}

// implied adds the providers that are used without being required: what a resource type or a
// provider block names.
func (l *loader) implied() {
	for _, r := range l.mod.Resources {
		l.imply(r.LocalProvider().Local)
	}
	for _, name := range sortedNames(l.mod.Providers) {
		p := l.mod.Providers[name]
		l.imply(p.Local)
		if r := l.mod.Required[p.Local]; !r.Source.IsBuiltin() {
			r.Versions = append(r.Versions, p.Versions...)
		}
	}
	for _, c := range l.mod.Calls {
		for _, p := range c.Providers {
			l.imply(p.Parent.Local)
		}
	}
	for _, i := range l.mod.Imports {
		if i.Provider != nil {
			l.imply(i.Provider.Local)
		}
	}
	l.sameSource()
}

func (l *loader) imply(local string) {
	if local != "" && l.mod.Required[local] == nil {
		source := addr.Default(local)
		l.mod.Required[local] = &Requirement{Local: local, Source: source, Uncertain: !source.IsBuiltin() && l.mod.unreadable}
	}
}

// sameSource warns about one provider under two names: of required ones, or of one and that of the type of a resource.
func (l *loader) sameSource() {
	first := map[addr.Provider]*Requirement{}
	for _, local := range sortedKeys(l.mod.Required) {
		r := l.mod.Required[local]
		if r.Range == (hcl.Range{}) {
			continue
		}
		if f := first[r.Source]; f != nil {
			l.rd.warn(r.Range, "Duplicate required provider", "Provider %s with the local name %q was previously required as %q. A provider can only be required once within required_providers: use one name for both.", r.Source.ForDisplay(), local, f.Local)
			continue
		}
		first[r.Source] = r
	}
	maps.DeleteFunc(first, func(source addr.Provider, r *Requirement) bool {
		implied := l.mod.Required[source.Type] // by types of resources
		return implied == nil || implied.Range != (hcl.Range{}) || implied.Source != source
	})
	if len(first) == 0 {
		return
	}
	for _, r := range slices.SortedFunc(maps.Values(l.mod.Resources), func(a, b *Resource) int { return inSource(a.Range, b.Range) }) {
		if f := first[addr.Default(r.LocalProvider().Local)]; f != nil && r.Provider == nil {
			l.rd.warn(r.Range, "Duplicate required provider", "Provider %s is implicitly required by %s, as %q, and listed in required_providers as %q. Give it the local name %[3]q there, or name the provider in the block: provider = %[4]s.", f.Source.ForDisplay(), r.In(addr.Module{}), f.Source.Type, f.Local)
		}
	}
}
