package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

// requirements reads the required_providers blocks of a module. It also adds the requirements that the use of local
// names implies.
type requirements struct {
	rd      *reader
	mod     *Module
	entries map[string]*hcl.Attribute // entries of the blocks, by local name
}

func newRequirements(rd *reader, mod *Module) *requirements {
	return &requirements{rd, mod, map[string]*hcl.Attribute{}}
}

// add records the entries of a required_providers block. They replace earlier entries of the same name, because blocks
// of override files come last.
func (q *requirements) add(b hcl.Body) {
	attrs, ds := b.JustAttributes()
	q.rd.hcl(ds)
	maps.Copy(q.entries, attrs)
}

// read adds the recorded entries to the module as requirements.
func (q *requirements) read() {
	for _, local := range sortedKeys(q.entries) {
		q.requirement(local, q.entries[local])
		q.mod.unreadable = q.mod.unreadable || q.mod.Required[local] == nil
	}
}

// requirement reads one entry: an object, or a version constraint, which is the old form of an entry. It reports
// mistakes, and then adds no requirement.
func (q *requirements) requirement(local string, a *hcl.Attribute) {
	if !q.rd.localName(local, a.NameRange) {
		return
	}
	r := &Requirement{Local: local, Source: addr.Default(local), Range: a.Range}
	pairs, ds := hcl.ExprMap(a.Expr)
	if !ds.HasErrors() {
		if !q.object(r, pairs) {
			return
		}
	} else if !requirementText(q.rd, r, a.Expr) {
		return
	}
	if r.Source.IsBuiltin() && !r.Source.IsPublished() && len(r.Versions) > 0 {
		q.rd.error(a.Range, "Invalid dependency on built-in provider", "Provider %s is built in to Lethe and has no separate version. Remove the version argument.", r.Source)
		return
	}
	q.mod.Required[local] = r
}

const badRequirement = `An entry of required_providers must be an object, such as { source = "hashicorp/aws", version = "~> 5.0" }.`

func requirementText(rd *reader, r *Requirement, e hcl.Expression) bool {
	if _, ok := rd.string(e, "Invalid required_providers object", badRequirement); !ok {
		return false
	}
	c, ok := rd.constraint(e, "the version of a provider")
	r.Versions = append(r.Versions, c)
	return ok
}

// object reads the attributes of an entry. It returns false if it has reported an error.
func (q *requirements) object(r *Requirement, pairs []hcl.KeyValuePair) bool {
	ok := true
	for _, p := range pairs {
		key, good := q.rd.constant(p.Key)
		if !good || key.Type() != cty.String || key.IsNull() {
			ok = false
			continue
		}
		switch name := key.AsString(); name {
		case "version":
			c, good := q.rd.constraint(p.Value, "the version of a provider")
			r.Versions = append(r.Versions, c)
			ok = ok && good
		case "source":
			ok = q.source(r, p.Value) && ok
		case "configuration_aliases":
			ok = q.aliases(r, p.Value) && ok
		case "//": // a comment in JSON syntax
		default:
			q.rd.error(p.Key.Range(), "Invalid required_providers object", `required_providers objects can only contain "version", "source" and "configuration_aliases" attributes, not %q.%s To configure a provider, use a "provider" block.`, name, suggestion(name, []string{"version", "source", "configuration_aliases"}))
			ok = false
		}
	}
	return ok
}

// source reads the address of a provider. It returns false if it has reported an error.
func (q *requirements) source(r *Requirement, e hcl.Expression) bool {
	src, ok := q.rd.string(e, "Invalid source", "Source must be specified as a string, such as \"hashicorp/aws\".")
	if !ok {
		return false
	}
	p, err := addr.ParseProvider(src)
	if err != nil {
		q.rd.error(e.Range(), "Invalid provider source string", `The "source" attribute must be in the format "[hostname/][namespace/]name": %v.`, err)
		return false
	}
	if p.Namespace == addr.LegacyNamespace {
		q.rd.error(e.Range(), "Invalid legacy provider address", "%q is an address from before Terraform 0.13, and no registry has it. Add the namespace of the provider, such as \"hashicorp/%s\". If a state has the old address, run: lethe state replace-provider %s NEW", src, p.Type, src)
		return false
	}
	r.Source = p
	r.HostGiven = strings.Count(src, "/") == 2
	return true
}

// aliases reads configuration_aliases. It returns false if it has reported an error.
func (q *requirements) aliases(r *Requirement, e hcl.Expression) bool {
	list, ok := q.rd.list(e, "configuration_aliases", r.Local+".west")
	for _, item := range list {
		ref, good := q.rd.providerRef(item, "configuration_aliases")
		switch {
		case !good:
			ok = false
		case ref.Alias == "" || ref.Key != nil:
			q.rd.error(item.Range(), "Invalid configuration_aliases value", "Configuration aliases can only contain references to local provider configuration names in the format of provider.alias, such as %s.west.", r.Local)
			ok = false
		case ref.Local != r.Local:
			q.rd.error(item.Range(), "Invalid configuration_aliases value", "Configuration aliases must be prefixed with the provider name. Expected %q, but found %q.", r.Local, ref.Local)
			ok = false
		case !slices.Contains(r.Aliases, ref.ProviderName):
			r.Aliases = append(r.Aliases, ref.ProviderName)
		}
	}
	return ok
}

// addImplied adds requirements for providers that are used but not required. The types of resources, provider blocks,
// the providers arguments of calls and the provider arguments of imports use providers.
func (q *requirements) addImplied() {
	for r := range q.mod.Blocks() {
		q.imply(r.LocalProvider().Local)
	}
	for _, name := range sortedNames(q.mod.Providers) {
		p := q.mod.Providers[name]
		q.imply(p.Local)
		if r := q.mod.Required[p.Local]; !r.Source.IsBuiltin() || r.Source.IsPublished() {
			r.Versions = append(r.Versions, p.Versions...)
		}
	}
	for _, c := range q.mod.Calls {
		for _, p := range c.Providers {
			q.imply(p.Parent.Local)
		}
	}
	for _, i := range q.mod.Imports {
		if i.Provider != nil {
			q.imply(i.Provider.Local)
		}
	}
	q.sameSource()
}

// imply adds a requirement for a local name, if the module has no requirement for it.
func (q *requirements) imply(local string) {
	if local != "" && q.mod.Required[local] == nil {
		source := addr.Default(local)
		q.mod.Required[local] = &Requirement{Local: local, Source: source, Uncertain: !source.IsBuiltin() && q.mod.unreadable}
	}
}

// sameSource warns about one provider with two local names: two entries of required_providers, or an entry and the name
// that a resource type implies.
func (q *requirements) sameSource() {
	first := map[addr.Provider]*Requirement{}
	for _, local := range sortedKeys(q.mod.Required) {
		r := q.mod.Required[local]
		if r.Range == (hcl.Range{}) {
			continue
		}
		if f := first[r.Source]; f != nil {
			q.rd.warn(r.Range, "Duplicate required provider", "Provider %s with the local name %q was previously required as %q. Require each provider once: remove one of the entries.", r.Source.ForDisplay(), local, f.Local)
			continue
		}
		first[r.Source] = r
	}
	maps.DeleteFunc(first, func(source addr.Provider, r *Requirement) bool {
		implied := q.mod.Required[source.Type] // implied by types of resources
		return implied == nil || implied.Range != (hcl.Range{}) || implied.Source != source
	})
	if len(first) == 0 {
		return
	}
	for _, r := range slices.SortedFunc(q.mod.Blocks(), func(a, b *Resource) int { return inSource(a.Range, b.Range) }) {
		if f := first[addr.Default(r.LocalProvider().Local)]; f != nil && r.Provider == nil {
			q.rd.warn(r.Range, "Duplicate required provider", "Provider %s is implicitly required by %s, as %q, and listed in required_providers as %q. Give it the local name %[3]q there, or name the provider in the block: provider = %[4]s.", f.Source.ForDisplay(), r.In(addr.Module{}), f.Source.Type, f.Local)
		}
	}
}
