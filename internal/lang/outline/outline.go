// Package outline is a configuration as `show -json` prints it: not what expressions mean, but
// whether they are constant and what they refer to.
//
// A body is held against its schema and becomes a tree of expressions; dynamic blocks and what the
// schema does not know are left out, as Terraform and OpenTofu leave them out. Nothing is evaluated that is not
// constant.
package outline

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Expr is an expression: a constant, or what it refers to, or neither where it only calls
// functions.
type Expr struct {
	Constant   cty.Value // NilVal if it is none
	References []string  // each with all its shorter forms after it, as often as it is written
}

// Body is what a block holds, in the order of names.
type Body struct {
	Attrs  []Attr
	Blocks []Blocks
}

// Attr is an argument.
type Attr struct {
	Name string
	Expr Expr
}

// Blocks are all blocks of one type.
type Blocks struct {
	Name    string
	Nesting schema.Nesting
	Bodies  []Labeled
}

// Labeled is a block with its label, which only blocks in maps have.
type Labeled struct {
	Label string
	*Body
}

// Of outlines an expression; nil gives an empty outline.
func Of(e hcl.Expression) Expr {
	if e == nil {
		return Expr{}
	}
	native, diags := config.Native(e)
	if native == nil || diags.HasErrors() {
		return Expr{}
	}
	var out Expr
	vars := native.Variables()
	for _, t := range vars {
		out.References = append(out.References, prefixes(t)...)
	}
	if len(vars) > 0 {
		return out
	}
	if v, diags := native.Value(nil); !diags.HasErrors() && v.IsWhollyKnown() {
		out.Constant = v
	}
	return out
}

// OfBody outlines a body that a schema describes.
func OfBody(b hcl.Body, s *schema.Block) *Body {
	out := &Body{}
	if b == nil || s == nil {
		return out
	}
	content, rest, _ := b.PartialContent(BodySchema(s))
	if content == nil {
		return out
	}
	for _, a := range s.Attrs {
		if given := content.Attributes[a.Name]; given != nil {
			out.Attrs = append(out.Attrs, Attr{a.Name, Of(given.Expr)})
		} else if i := slices.IndexFunc(s.BlocksAsAttrs(), func(n *schema.Nested) bool { return n.Name == a.Name }); i >= 0 {
			if e, ok := ofBlocks(rest, s.BlocksAsAttrs()[i], a.Type); ok {
				out.Attrs = append(out.Attrs, Attr{a.Name, e})
			}
		}
	}
	for _, n := range s.Blocks {
		all := Blocks{Name: n.Name, Nesting: n.Nesting}
		for _, block := range content.Blocks {
			if block.Type != n.Name {
				continue
			}
			label := ""
			if len(block.Labels) > 0 {
				label = block.Labels[0]
			}
			all.Bodies = append(all.Bodies, Labeled{label, OfBody(block.Body, n.Block)})
		}
		if len(all.Bodies) > 0 {
			out.Blocks = append(out.Blocks, all)
		}
	}
	return out
}

// ofBlocks outlines blocks that stand for an attribute, as the one expression that they are the long
// form of; false if there are none.
func ofBlocks(b hcl.Body, n *schema.Nested, ty cty.Type) (Expr, bool) {
	content, _, _ := b.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: n.Name}}})
	if content == nil || len(content.Blocks) == 0 {
		return Expr{}, false
	}
	var out Expr
	var items []cty.Value
	constant := true
	for _, block := range content.Blocks {
		item := map[string]cty.Value{}
		for _, a := range n.Block.Attrs {
			item[a.Name] = cty.NullVal(a.Type)
		}
		for _, a := range OfBody(block.Body, n.Block).Attrs {
			out.References = append(out.References, a.Expr.References...)
			if constant = constant && a.Expr.Constant != cty.NilVal; constant {
				item[a.Name] = a.Expr.Constant
			}
		}
		items = append(items, cty.ObjectVal(item))
	}
	if constant {
		if v, err := convert.To(cty.TupleVal(items), cty.List(ty.ElementType())); err == nil { // in the order of the blocks
			out.Constant = v
		}
	}
	return out, true
}

// BodySchema is what the HCL library has to know of a block to read it.
func BodySchema(s *schema.Block) *hcl.BodySchema {
	out := &hcl.BodySchema{}
	for _, a := range s.Attrs {
		out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: a.Name})
	}
	for _, n := range s.Blocks {
		h := hcl.BlockHeaderSchema{Type: n.Name}
		if n.Nesting == schema.Map {
			h.LabelNames = []string{"key"}
		}
		out.Blocks = append(out.Blocks, h)
	}
	return out
}

// Free outlines the arguments of a body without a schema: of a module call, or a provisioner.
func Free(b hcl.Body) *Body {
	out := &Body{}
	if b == nil {
		return out
	}
	attrs, _ := b.JustAttributes()
	for name, a := range attrs {
		out.Attrs = append(out.Attrs, Attr{name, Of(a.Expr)})
	}
	slices.SortFunc(out.Attrs, func(a, b Attr) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Names writes traversals, such as those of depends_on.
func Names(ts []hcl.Traversal) []string {
	var out []string
	for _, t := range ts {
		out = append(out, config.ReferenceText(short(t)))
	}
	return out
}

// short is a reference as addresses are written: without the word resource that may stand before a type.
func short(t hcl.Traversal) hcl.Traversal {
	if t.RootName() == "resource" && len(t) > 1 {
		if a, ok := t[1].(hcl.TraverseAttr); ok {
			return append(hcl.Traversal{hcl.TraverseRoot(a)}, t[2:]...)
		}
	}
	return t
}

// prefixes is a traversal and every shorter form of it, down to the object that it begins with.
func prefixes(t hcl.Traversal) []string {
	t = short(t)
	least := 2
	switch t.RootName() {
	case "data", "ephemeral":
		least = 3
	case "self":
		least = 1
	case "module":
		if _, keyed := step(t, 2); keyed {
			least = 3
		}
	}
	end := constant(t)
	var out []string
	for n := end; n >= min(least, end); n-- {
		out = append(out, config.ReferenceText(t[:n]))
	}
	return out
}

func step(t hcl.Traversal, i int) (addr.Key, bool) {
	if i >= len(t) {
		return addr.NoKey, false
	}
	ix, ok := t[i].(hcl.TraverseIndex)
	if !ok {
		return addr.NoKey, false
	}
	return addr.KeyOf(ix.Key)
}

// constant is how many steps can be written down.
func constant(t hcl.Traversal) int {
	for i, s := range t {
		switch s.(type) {
		case hcl.TraverseIndex:
			if _, ok := step(t, i); !ok {
				return i
			}
		case hcl.TraverseSplat:
			return i
		}
	}
	return len(t)
}
