package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Override files are laid over the blocks of the primary files before any block is read, so that
// reading knows nothing of them: a block that is overridden is one whose body is two bodies. What
// cannot be expressed as that (settings, locals) is merged by its own rule.

// overrides are the blocks of a module before they are read, and what override files lay over them.
type overrides struct {
	l          *loader
	list       []*overridden
	byKey      map[blockKey]*overridden
	overriding []*hcl.Attribute // named values in override files
}

// overridden is a block, with the places of all its text.
type overridden struct {
	*hcl.Block
	places []hcl.Range
}

// blockKey is what an override block finds its base by.
type blockKey struct{ typ, a, b string }

// add takes a block of a primary file.
func (d *overrides) add(b *hcl.Block) {
	switch b.Type {
	case "terraform":
		d.l.terraform(b, false)
		return
	case "language":
		d.l.language(b)
		return
	}
	d.declare(b)
}

func (d *overrides) declare(b *hcl.Block) {
	o := &overridden{b, []hcl.Range{extent(b)}}
	d.list = append(d.list, o)
	if k, ok := d.key(b); ok && d.byKey[k] == nil {
		d.byKey[k] = o
	}
}

// extent is all of a block. In JSON syntax, whose blocks have no beginning of their own, it begins
// where the block is named.
func extent(b *hcl.Block) hcl.Range {
	if body, ok := b.Body.(*hclsyntax.Body); ok {
		return hcl.RangeBetween(b.DefRange, body.SrcRange)
	}
	start := b.TypeRange
	if n := len(b.LabelRanges); n > 0 {
		start = b.LabelRanges[n-1]
	}
	return hcl.RangeBetween(start, b.Body.MissingItemRange())
}

// key names a block that override files can refer to.
func (d *overrides) key(b *hcl.Block) (blockKey, bool) {
	switch b.Type {
	case "provider":
		return blockKey{b.Type, b.Labels[0], d.aliasOf(b.Body)}, true
	case "variable", "output", "module", "check":
		return blockKey{b.Type, b.Labels[0], ""}, true
	case "resource", "data", "ephemeral":
		return blockKey{b.Type, b.Labels[0], b.Labels[1]}, true
	}
	return blockKey{}, false
}

// aliasOf is the alias of a provider block, read ahead of everything else in it.
func (d *overrides) aliasOf(b hcl.Body) string {
	c, _, _ := b.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "alias"}}})
	a := c.Attributes["alias"]
	if a == nil {
		return ""
	}
	v, problem := constant(a.Expr, d.l.rd.opts.Limits)
	if problem != nil || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

// overlay merges the blocks of one override file.
func (d *overrides) overlay(blocks hcl.Blocks) {
	for _, b := range blocks {
		switch b.Type {
		case "terraform":
			d.l.terraform(b, true)
		case "language":
			d.l.language(b)
		case "locals":
			d.locals(b)
		case "moved", "import", "removed":
			d.l.rd.error(place(b), "Cannot override '"+b.Type+"' blocks", "Blocks of type %q cannot be overridden, and can appear only in normal files, not in override files. Move this block to a file whose name does not end in \"override.tf\".", b.Type)
		case "check":
			d.l.rd.error(place(b), "Can't override check blocks", "Override files cannot override check blocks. Change the block where it is declared.")
		default:
			d.block(b)
		}
	}
}

// missingBase is what to say about an override block without a base, by its type.
var missingBase = map[string]struct{ title, what string }{
	"variable":  {"Missing base variable declaration to override", "variable"},
	"output":    {"Missing base output definition to override", "output"},
	"module":    {"Missing module call to override", "module call"},
	"resource":  {"Missing resource to override", "resource"},
	"data":      {"Missing data resource to override", "data resource"},
	"ephemeral": {"Missing ephemeral resource to override", "ephemeral resource"},
}

func (d *overrides) block(b *hcl.Block) {
	k, _ := d.key(b)
	base := d.byKey[k]
	switch {
	case base != nil:
		d.refuse(b)
		base.Body = override(base.Body, b.Body)
		base.places = append(base.places, extent(b))
	case b.Type == "provider":
		d.declare(b) // as Terraform and OpenTofu do: a configuration that was implied is now explicit
	case d.l.mod.unreadable: // its base may be there
	default:
		m := missingBase[b.Type]
		name := b.Labels[len(b.Labels)-1]
		if len(b.Labels) == 2 {
			name = b.Labels[0] + "." + name
		}
		d.l.rd.error(place(b), m.title, "There is no %s named %q. An override file can only override what a primary configuration file declares: declare it in one of these, or rename this file if it is not meant to override anything.", m.what, name)
	}
}

// refuse reports what may not be overridden.
func (d *overrides) refuse(b *hcl.Block) {
	c, _, _ := b.Body.PartialContent(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "depends_on"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "lifecycle"}},
	})
	if a := c.Attributes["depends_on"]; a != nil {
		d.l.rd.error(a.NameRange, "Unsupported override", "The depends_on argument may not be overridden. Set it where the block is declared.")
	}
	if b.Type == "output" {
		d.refuseConditions(b.Body)
	}
	for _, inner := range c.Blocks {
		d.refuseConditions(inner.Body)
	}
}

func (d *overrides) refuseConditions(b hcl.Body) {
	c, _, _ := b.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "precondition"}, {Type: "postcondition"}}})
	for _, cond := range c.Blocks {
		d.l.rd.error(cond.DefRange, "Can't override "+cond.Type+" blocks", "Override files cannot override %q blocks. Change the block where it is declared.", cond.Type)
	}
}

// locals remembers named values that replace others once those are read.
func (d *overrides) locals(b *hcl.Block) {
	attrs, ds := b.Body.JustAttributes()
	d.l.rd.hcl(ds)
	d.overriding = append(d.overriding, byPlace(attrs)...)
}

// finish puts the overriding named values in place.
func (d *overrides) finish() {
	for _, a := range d.overriding {
		base := d.l.mod.Locals[a.Name]
		if base == nil {
			if d.l.mod.unreadable {
				continue
			}
			d.l.rd.error(a.Range, "Missing base local value definition to override", "There is no local value named %q. An override file can only override what a primary configuration file declares: declare it in one of these, or rename this file if it is not meant to override anything.", a.Name)
			continue
		}
		base.Expr, base.Range = a.Expr, a.Range
	}
}
