package config

import (
	"github.com/hashicorp/hcl/v2"
)

var providerSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "alias"}, {Name: "version"}, {Name: "for_each"},
		{Name: "count"}, {Name: "depends_on"}, {Name: "source"}, // reserved
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "_"}, {Type: "lifecycle"}, {Type: "locals"}}, // all except "_" are reserved
}

func (l *loader) provider(b *hcl.Block) {
	p := &Provider{ProviderName: ProviderName{Local: b.Labels[0]}, Range: place(b)}
	if !l.rd.localName(p.Local, b.LabelRanges[0]) {
		l.mod.unreadable = true
		return
	}
	c, rest, ds := b.Body.PartialContent(providerSchema)
	l.rd.hcl(ds)
	if a := c.Attributes["alias"]; a != nil {
		if !l.alias(p, a) {
			l.mod.unreadable = true
			return
		}
		if IsJSON(b.Body) {
			p.Range = a.Range
		}
	}
	if !l.firstProvider(p) {
		return
	}
	l.mod.Providers[p.ProviderName] = p
	l.providerVersion(p, c.Attributes["version"])
	providerEach(l.rd, p, c.Attributes["for_each"])
	for _, name := range []string{"count", "depends_on", "source"} {
		if a := c.Attributes[name]; a != nil {
			l.rd.error(a.NameRange, "Reserved argument name in provider block", "The provider argument name %q is reserved for use in a future version. If the provider has an argument of that name, put it into a block named \"_\".", name)
		}
	}
	p.Body = l.rd.body("provider", b, rest, c, providerSchema)
}

func (l *loader) alias(p *Provider, a *hcl.Attribute) bool {
	if !l.rd.text(a, &p.Alias) {
		return false
	}
	if !ValidName(p.Alias) {
		l.rd.error(a.Expr.Range(), "Invalid provider configuration alias", "An alias must be a valid name. %s", badName)
		return false
	}
	return true
}

func (l *loader) firstProvider(p *Provider) bool {
	const title = "Duplicate provider configuration"
	if p.Alias == "" {
		return l.first("provider", p.Range, title, "A default (non-aliased) provider configuration for %q was already given at %s. Remove one of them, or set its \"alias\" argument.", p.Local)
	}
	return l.first("provider", p.Range, title, "A provider configuration for %q with alias %q was already given at %s. Change one alias: each configuration of a provider needs a distinct alias.", p.Local, p.Alias)
}

func (l *loader) providerVersion(p *Provider, a *hcl.Attribute) {
	if a == nil {
		return
	}
	l.rd.warn(a.Expr.Range(), "Version constraints inside provider configuration blocks are deprecated", "Move the version constraint into the required_providers block.")
	if c, ok := l.rd.constraint(a.Expr, "the version of a provider"); ok {
		p.Versions = append(p.Versions, c)
	}
}

// providerEach reads for_each. If a configuration with for_each has no alias, providerEach reports an error: resources
// use the default configuration without naming it, so they could not select an instance.
func providerEach(rd *reader, p *Provider, a *hcl.Attribute) {
	if a == nil {
		return
	}
	p.ForEach = a.Expr
	if p.Alias == "" {
		rd.error(a.NameRange, `Alias required when using "for_each"`, "A default (non-aliased) provider configuration cannot be repeated. Set the \"alias\" argument, and refer to the instances as %s.ALIAS[KEY].", p.Local)
	}
}

// body returns the part of a body that the provider's schema describes: everything except meta-arguments, and the
// content of the escape block `_ {}`. It reports reserved block types.
func (rd *reader) body(kind string, whole *hcl.Block, rest hcl.Body, c *hcl.BodyContent, schema *hcl.BodySchema) hcl.Body {
	rest = remains(whole.Body, rest, c, schema)
	var esc *hcl.Block
	for _, b := range c.Blocks {
		switch {
		case b.Type == "locals" || b.Type == "lifecycle" && (kind == "provider" || kind == "provisioner"):
			rd.error(b.TypeRange, "Reserved block type name in "+kind+" block", "The block type name %q is reserved for use in a future version. Remove the block.", b.Type)
		case b.Type != "_":
		case esc != nil:
			rd.again(b.DefRange, esc.DefRange, "Duplicate escaping block", "Only one block \"_\" is allowed. It contains arguments of the %s that have the names of meta-arguments. Another such block is at %s: merge the two blocks.", kind, esc.DefRange)
		default:
			esc = b
		}
	}
	if esc == nil {
		return rest
	}
	if again, first := clashes(rest, esc.Body); again != nil {
		rd.again(again.NameRange, first.NameRange, "Duplicate argument", "Argument %q was already set at %s. Remove one of them.", again.Name, first.NameRange)
	}
	return escape(rest, esc.Body)
}
