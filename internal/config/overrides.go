package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// Override files are merged into the blocks of the primary files before any block is read. The functions that read
// blocks therefore do not distinguish overridden blocks: only their bodies are merged bodies. Settings and locals
// cannot be merged in this way and have separate rules.

// overrides holds the blocks of a module before they are read, with the override blocks merged into them.
type overrides struct {
	l          *loader
	list       []*overridden
	byKey      map[blockKey]*overridden
	overriding []*hcl.Attribute // the entries of locals blocks in override files
}

// overridden is a block and the ranges of all its text.
type overridden struct {
	*hcl.Block
	places []hcl.Range
}

// blockKey identifies the block that an override block changes.
type blockKey struct{ typ, a, b string }

// add records a block of a primary file. It reads settings at once.
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

// extent returns the range of a whole block. In JSON syntax it begins at the last label, or at the type, because blocks
// in JSON syntax share their header with other blocks.
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

// key returns the key of a block. It returns false for a block that override files cannot change.
func (d *overrides) key(b *hcl.Block) (blockKey, bool) {
	switch b.Type {
	case "provider":
		return blockKey{b.Type, b.Labels[0], d.aliasOf(b.Body)}, true
	case "variable", "output", "module", "check":
		return blockKey{b.Type, b.Labels[0], ""}, true
	case "resource", "data", "ephemeral", "action":
		return blockKey{b.Type, b.Labels[0], b.Labels[1]}, true
	}
	return blockKey{}, false
}

// aliasOf returns the alias of a provider block before the rest of the block is read, or "" if it is absent or invalid.
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

// overlay merges the blocks of one override file. It reports an error for the blocks that override files cannot have:
// moved, import, removed and check.
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
			d.l.rd.error(place(b), "Cannot override '"+b.Type+"' blocks", "Blocks of type %q are not allowed in override files. Move this block to a file whose name does not end in \"override.tf\".", b.Type)
		case "check":
			d.l.rd.error(place(b), "Can't override check blocks", "Override files cannot override check blocks. Change the block where it is declared.")
		default:
			d.block(b)
		}
	}
}

// missingBase holds the parts of the message about an override block without a base, by block type.
var missingBase = map[string]struct{ title, what string }{
	"variable":  {"Missing base variable declaration to override", "variable"},
	"output":    {"Missing base output definition to override", "output"},
	"module":    {"Missing module call to override", "module call"},
	"resource":  {"Missing resource to override", "resource"},
	"data":      {"Missing data resource to override", "data resource"},
	"ephemeral": {"Missing ephemeral resource to override", "ephemeral resource"},
	"action":    {"Missing resource to override", "action"},
	"provider":  {"Missing base provider configuration for override", "provider configuration"},
}

func (d *overrides) block(b *hcl.Block) {
	k, _ := d.key(b)
	base := d.byKey[k]
	switch {
	case base != nil:
		d.refuse(b)
		base.Body = override(base.Body, b.Body)
		base.places = append(base.places, extent(b))
	case b.Type == "provider" && k.b == "":
		d.declare(b) // as in Terraform and OpenTofu, a provider block without an alias needs no base: it configures an implied provider
	case d.l.mod.unreadable: // the base may be in a part that was not read
	default:
		m := missingBase[b.Type]
		name := b.Labels[len(b.Labels)-1]
		switch {
		case len(b.Labels) == 2:
			name = b.Labels[0] + "." + name
		case k.b != "": // the alias of a provider
			name += "." + k.b
		}
		d.l.rd.error(place(b), m.title, "There is no %s named %q to override. Declare it in a file that is not an override file, or rename this file.", m.what, name)
	}
}

// refuse reports arguments and blocks that override files may not change.
func (d *overrides) refuse(b *hcl.Block) {
	c, _, _ := b.Body.PartialContent(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "depends_on"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "lifecycle"}},
	})
	if a := c.Attributes["depends_on"]; a != nil {
		d.l.rd.error(a.NameRange, "Unsupported override", "The depends_on argument may not be overridden. Set it where the block is declared.")
	}
	if b.Type == "output" || b.Type == "variable" {
		d.refuseConditions(b.Body)
	}
	for _, inner := range c.Blocks {
		d.refuseConditions(inner.Body)
	}
}

func (d *overrides) refuseConditions(b hcl.Body) {
	c, _, _ := b.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "precondition"}, {Type: "postcondition"}, {Type: "validation"}}})
	for _, cond := range c.Blocks {
		d.l.rd.error(cond.DefRange, "Can't override "+cond.Type+" blocks", "Override files cannot override %q blocks. Change the block where it is declared.", cond.Type)
	}
}

// locals records the entries of a locals block in an override file. The method finish applies them after the primary
// files were read.
func (d *overrides) locals(b *hcl.Block) {
	attrs, ds := b.Body.JustAttributes()
	d.l.rd.hcl(ds)
	d.overriding = append(d.overriding, byPlace(attrs)...)
}

// finish replaces the expressions of local values by the expressions from override files. It reports an error if the
// module does not declare such a local value and was read completely.
func (d *overrides) finish() {
	for _, a := range d.overriding {
		base := d.l.mod.Locals[a.Name]
		if base == nil {
			if d.l.mod.unreadable {
				continue
			}
			d.l.rd.error(a.Range, "Missing base local value definition to override", "There is no local value named %q to override. Declare it in a file that is not an override file, or rename this file.", a.Name)
			continue
		}
		base.Expr, base.Range = a.Expr, a.Range
	}
}
