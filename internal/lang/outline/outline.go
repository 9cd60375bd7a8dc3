// Package outline builds the representation of a configuration that `show -json` prints. For each expression, the
// representation has the value if the expression is constant, and otherwise its references.
//
// The schema of a body determines which names are arguments and which are blocks. Like Terraform and OpenTofu, outline
// omits dynamic blocks and names that the schema does not have. It evaluates only constant expressions.
package outline

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config/native"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
)

// Expr is the representation of an expression: its constant value or its references. An expression that only calls
// functions has neither.
type Expr struct {
	Constant   cty.Value // NilVal if the expression is not constant
	References []string  // each reference, followed by its shorter forms, such as aws_vpc.a.id and aws_vpc.a; an element for each occurrence
}

// Body is the representation of the body of a block. Both lists are sorted by name.
type Body struct {
	Attrs  []Attr
	Blocks []Blocks
}

// Attr is the representation of an argument.
type Attr struct {
	Name string
	Expr Expr
}

// Blocks has all blocks of one type in a body.
type Blocks struct {
	Name    string
	Nesting schema.Nesting
	Bodies  []Labeled
}

// Labeled is a block with its label. Only blocks with the nesting mode Map have a label.
type Labeled struct {
	Label string
	*Body
}

// Of returns the representation of an expression. It is empty for nil, and for an expression that cannot be parsed.
func Of(e hcl.Expression) Expr {
	if e == nil {
		return Expr{}
	}
	native, diags := native.Expression(e)
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

// OfBody returns the representation of a body with the schema s. It is empty if b or s is nil.
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

// ofBlocks returns the representation of the blocks that set an attribute, as one expression. If all arguments of the
// blocks are constant, its value is a list. It returns false if the body has no such blocks.
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
		if v, err := convert.To(cty.TupleVal(items), cty.List(ty.ElementType())); err == nil { // a list, because it keeps the order of the blocks
			out.Constant = v
		}
	}
	return out, true
}

// BodySchema returns the schema in the form in which the HCL library needs it to read a block.
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

// Free returns the representation of a body without a schema, such as the body of a module call or a provisioner. It
// has the arguments of the body, sorted by name, and no blocks.
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

// Names returns traversals as text, for example the entries of depends_on.
func Names(ts []hcl.Traversal) []string {
	var out []string
	for _, t := range ts {
		out = append(out, syntax.ReferenceText(short(t)))
	}
	return out
}

// short removes the word "resource" at the beginning of a reference, so that the reference has the form of an address.
func short(t hcl.Traversal) hcl.Traversal {
	if t.RootName() == "resource" && len(t) > 1 {
		if a, ok := t[1].(hcl.TraverseAttr); ok {
			return append(hcl.Traversal{hcl.TraverseRoot(a)}, t[2:]...)
		}
	}
	return t
}

// prefixes returns a traversal and its shorter forms as text, down to the name of the object.
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
		out = append(out, syntax.ReferenceText(t[:n]))
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

// constant returns the number of steps before the first splat or index that is not constant.
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
