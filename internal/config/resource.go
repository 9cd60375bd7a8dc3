package config

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
)

var resourceAttrs = []hcl.AttributeSchema{{Name: "count"}, {Name: "for_each"}, {Name: "provider"}, {Name: "depends_on"}}

// resourceSchemas holds the meta-arguments of each mode. Connections and provisioners are allowed only in managed
// resources. The schema for ephemeral blocks nevertheless contains them, so that the method extras can report them as
// errors. The schema for data blocks does not, because a data source may have blocks with these names.
var resourceSchemas = map[addr.Mode]*hcl.BodySchema{
	addr.Managed: {Attributes: resourceAttrs, Blocks: []hcl.BlockHeaderSchema{
		{Type: "lifecycle"}, {Type: "locals"}, {Type: "_"}, {Type: "connection"}, {Type: "provisioner", LabelNames: []string{"type"}}}},
	addr.Data: {Attributes: resourceAttrs, Blocks: []hcl.BlockHeaderSchema{
		{Type: "lifecycle"}, {Type: "locals"}, {Type: "_"}}},
	addr.Ephemeral: {Attributes: resourceAttrs, Blocks: []hcl.BlockHeaderSchema{
		{Type: "lifecycle"}, {Type: "locals"}, {Type: "_"}, {Type: "connection"}, {Type: "provisioner", LabelNames: []string{"type"}}}},
	addr.List:   {Attributes: resourceAttrs[:3]},
	addr.Action: {Attributes: resourceAttrs[:3]},
}

// topResource reads a resource, data, ephemeral or list block at the top level of the module.
func (l *loader) topResource(b *hcl.Block, mode addr.Mode) { l.resource(b, mode, "") }

// resource reads a resource, data, ephemeral or list block and adds it to the module. check is the name of the check
// block around it, or "" if none. If the name of the block is invalid or taken, resource reports an error and returns
// nil.
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
	readLifecycle(l.rd, r, l.rd.only(c.Blocks.OfType("lifecycle"), "resource"))
	l.mod.ComputedLifecycles = l.mod.ComputedLifecycles || r.Lifecycle.FirstIf != nil || r.Lifecycle.IgnoreIf != nil
	l.extras(r, c)
	r.Body = l.rd.body(mode.Block(), b, rest, c, schema)
	return r
}

// modeNoun returns the word for a resource of mode m in messages.
func modeNoun(m addr.Mode) string {
	switch m {
	case addr.Data:
		return "data resource"
	case addr.Ephemeral:
		return "ephemeral resource"
	case addr.List:
		return "list"
	case addr.Action:
		return "action"
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

// ownProvider reads the provider argument of a resource. If the argument is absent, ownProvider checks the name that
// the type implies, or reports an error for a list block.
func (l *loader) ownProvider(r *Resource, a *hcl.Attribute) {
	if a == nil && r.Mode == addr.List {
		l.rd.error(r.Range, "Missing required argument", "The argument \"provider\" is required in a list block. Add it, for example: provider = %s.", ImpliedProvider(r.Type))
		return
	}
	if a == nil {
		if local := ImpliedProvider(r.Type); !providerWord(local) {
			l.rd.error(r.TypeRange, "Invalid provider local name", "The type %q implies a provider named %q, which is not a valid name. Correct the type, or set the \"provider\" argument.", r.Type, local)
		}
		return
	}
	if ref, ok := l.rd.providerRef(a.Expr, "provider"); ok {
		r.Provider = &ref
	}
}

// extras reads connections and provisioners. In ephemeral blocks they are not allowed, so extras reports errors.
func (l *loader) extras(r *Resource, c *hcl.BodyContent) {
	connections, provisioners := c.Blocks.OfType("connection"), c.Blocks.OfType("provisioner")
	if r.Mode == addr.Ephemeral {
		for _, b := range slices.Concat(connections, provisioners) {
			l.rd.error(b.DefRange, "Invalid configuration block for ephemeral resource", "The block type %q is allowed only in \"resource\" blocks. Remove the block.", b.Type)
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

// refuseScoped reports the arguments and blocks that a data block inside a check block may not have, and removes them
// from c. Ephemeral blocks have no such restriction.
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
			rd.error(b.DefRange, "Invalid lifecycle block", "A data block in a check block cannot have a \"lifecycle\" block. Remove it. For conditions, use assert blocks.")
			continue
		}
		kept = append(kept, b)
	}
	c.Blocks = kept
}
