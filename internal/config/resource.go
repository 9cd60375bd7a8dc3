package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
)

var resourceAttrs = []hcl.AttributeSchema{{Name: "count"}, {Name: "for_each"}, {Name: "provider"}, {Name: "depends_on"}}

// resourceSchemas are the meta-arguments of each mode. Connections and provisioners belong to
// managed resources; ephemeral blocks list them to refuse them, while a data source may have
// blocks of these names in its schema.
var resourceSchemas = map[addr.Mode]*hcl.BodySchema{
	addr.Managed: {Attributes: resourceAttrs, Blocks: []hcl.BlockHeaderSchema{
		{Type: "lifecycle"}, {Type: "locals"}, {Type: "_"}, {Type: "connection"}, {Type: "provisioner", LabelNames: []string{"type"}}}},
	addr.Data: {Attributes: resourceAttrs, Blocks: []hcl.BlockHeaderSchema{
		{Type: "lifecycle"}, {Type: "locals"}, {Type: "_"}}},
	addr.Ephemeral: {Attributes: resourceAttrs, Blocks: []hcl.BlockHeaderSchema{
		{Type: "lifecycle"}, {Type: "locals"}, {Type: "_"}, {Type: "connection"}, {Type: "provisioner", LabelNames: []string{"type"}}}},
}

// topResource reads a resource, data or ephemeral block of the module itself.
func (l *loader) topResource(b *hcl.Block, mode addr.Mode) { l.resource(b, mode, "") }

// resource reads a resource block; check names the check block around it, if there is one.
func (l *loader) resource(b *hcl.Block, mode addr.Mode, check string) *Resource {
	r := &Resource{Name: Name{Mode: mode, Type: b.Labels[0], Name: b.Labels[1]}, Check: check, Range: place(b), TypeRange: b.LabelRanges[0]}
	okType := l.name(b, 0, "Invalid resource type name")
	if !l.name(b, 1, "Invalid resource name") || !okType {
		return nil
	}
	if first := l.mod.Resources[r.Name]; first != nil {
		secondResource(l.rd, r, first)
		return nil
	}
	l.mod.Resources[r.Name] = r
	schema := resourceSchemas[mode]
	c, rest, ds := b.Body.PartialContent(schema)
	l.rd.hcl(ds)
	if check != "" && mode == addr.Data {
		l.rd.refuseScoped(c)
	}
	l.rd.repeat(&r.Repeat, c)
	l.ownProvider(r, c.Attributes["provider"])
	r.DependsOn = l.rd.dependsOn(c.Attributes["depends_on"])
	l.rd.lifecycle(r, l.rd.only(c.Blocks.OfType("lifecycle"), "resource"))
	l.extras(r, c)
	r.Body = l.rd.body(mode.Block(), b, rest, c, schema)
	return r
}

// modeNoun is what the messages call a resource of a mode.
func modeNoun(m addr.Mode) string {
	switch m {
	case addr.Data:
		return "data resource"
	case addr.Ephemeral:
		return "ephemeral resource"
	}
	return "resource"
}

func secondResource(rd *reader, r, first *Resource) {
	title := "Duplicate resource \"" + r.Type + "\" configuration"
	if r.Mode != addr.Managed {
		title = "Duplicate " + r.Mode.Block() + " \"" + r.Type + "\" configuration"
	}
	within := ""
	if r.Check != "" || first.Check != "" {
		within = ", including within check blocks"
	}
	rd.again(r.Range, first.Range, title, "A %s %s named %q was already declared at %s. Resource names must be unique per type in each module%s: rename or remove one of them.",
		r.Type, modeNoun(r.Mode), r.Name.Name, first.Range, within)
}

// ownProvider reads the provider argument, or checks the name that the type implies.
func (l *loader) ownProvider(r *Resource, a *hcl.Attribute) {
	if a == nil {
		if local := ImpliedProvider(r.Type); !providerWord(local) {
			l.rd.error(r.TypeRange, "Invalid provider local name", "The type %q implies a provider named %q, and that is not a valid name. Set the \"provider\" argument, or correct the type.", r.Type, local)
		}
		return
	}
	if ref, ok := l.rd.providerRef(a.Expr, "provider"); ok {
		r.Provider = &ref
	}
}

// extras reads what only managed resources have, and refuses it in ephemeral ones.
func (l *loader) extras(r *Resource, c *hcl.BodyContent) {
	connections, provisioners := c.Blocks.OfType("connection"), c.Blocks.OfType("provisioner")
	if r.Mode == addr.Ephemeral {
		for _, b := range slices.Concat(connections, provisioners) {
			l.rd.error(b.DefRange, "Invalid configuration block for ephemeral resource", "The block type %q cannot be used in ephemeral resources. This is meant to be used strictly in \"resource\" blocks.", b.Type)
		}
		return
	}
	r.Connection = l.rd.connection(l.rd.only(connections, "resource"))
	for _, b := range provisioners {
		if p := l.rd.provisioner(b); p != nil {
			r.Provisioners = append(r.Provisioners, p)
		}
	}
}

// refuseScoped refuses what a data block inside a check may not have. An ephemeral block may have
// all that it may have elsewhere.
func (rd *reader) refuseScoped(c *hcl.BodyContent) {
	for _, name := range []string{"count", "for_each"} {
		if a := c.Attributes[name]; a != nil {
			rd.error(a.NameRange, "Invalid \""+name+"\" attribute", "The \"count\" and \"for_each\" meta-arguments are not supported within nested data blocks. Move the block out of the check block to repeat it.")
			delete(c.Attributes, name)
		}
	}
	kept := c.Blocks[:0:0]
	for _, b := range c.Blocks {
		if b.Type == "lifecycle" {
			rd.error(b.DefRange, "Invalid lifecycle block", "Nested data blocks do not support \"lifecycle\" blocks as the lifecycle is managed by the containing block. Use assert blocks for conditions.")
			continue
		}
		kept = append(kept, b)
	}
	c.Blocks = kept
}
