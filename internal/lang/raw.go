package lang

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
)

// body compiles a body without a schema.
func (r *rewriter) body(b hcl.Body) *rawBody {
	if b == nil {
		return &rawBody{}
	}
	native, ok := b.(*hclsyntax.Body)
	if !ok {
		return r.jsonBody(b)
	}
	out := &rawBody{missing: native.MissingItemRange()}
	attrs, _ := native.JustAttributes()
	out.attrs = make([]rawAttr, 0, len(attrs))
	for name, a := range attrs {
		source := a.Expr.(hclsyntax.Expression)
		out.attrs = append(out.attrs, rawAttr{name: name, source: source, nameAt: a.NameRange, at: a.Range})
	}
	slices.SortFunc(out.attrs, func(a, b rawAttr) int { return cmp.Compare(a.at.Start.Byte, b.at.Start.Byte) })
	for i := range out.attrs {
		out.attrs[i].expr = r.node(out.attrs[i].source)
	}
	for _, block := range visibleBlocks(native) {
		if rb, ok := r.block(block); ok {
			out.blocks = append(out.blocks, rb)
		}
	}
	return out
}

// visibleBlocks lists the blocks of a body that no earlier reader has taken out of it.
func visibleBlocks(b *hclsyntax.Body) hclsyntax.Blocks {
	hidden := map[string]bool{}
	out := make(hclsyntax.Blocks, 0, len(b.Blocks))
	for _, block := range b.Blocks {
		h, known := hidden[block.Type]
		if !known {
			content, _, diags := b.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: block.Type, LabelNames: block.Labels}}})
			h = len(content.Blocks) == 0 && len(diags) == 0
			hidden[block.Type] = h
		}
		if !h {
			out = append(out, block)
		}
	}
	return out
}

func (r *rewriter) block(b *hclsyntax.Block) (rawBlock, bool) {
	if b.Type == "dynamic" {
		return r.dynamic(b)
	}
	return rawBlock{typ: b.Type, labels: b.Labels, labelsAt: b.LabelRanges, typeAt: b.TypeRange, openAt: b.OpenBraceRange, body: r.body(b.Body)}, true
}

// dynamic compiles a dynamic block: its for_each in the scope around it, its labels and content
// with the iterator.
func (r *rewriter) dynamic(b *hclsyntax.Block) (rawBlock, bool) {
	if len(b.Labels) != 1 {
		r.c.error("Missing name for dynamic", "All dynamic blocks must have 1 labels (name): the type of the blocks to generate.", b.DefRange())
		return rawBlock{}, false
	}
	d := &dynamic{iterator: b.Labels[0], at: b.DefRange()}
	out := rawBlock{typ: b.Labels[0], typeAt: b.LabelRanges[0], openAt: b.OpenBraceRange, dynamic: d}
	attrs := b.Body.Attributes
	for name, a := range attrs {
		switch name {
		case "for_each", "labels":
		case "iterator":
			if d.iterator = hcl.ExprAsKeyword(a.Expr); d.iterator == "" {
				r.c.error("Invalid expression", "Dynamic iterator must be a single variable name.", a.Expr.Range())
				return out, false
			}
		default:
			r.c.error("Unsupported argument", "An argument named \""+name+"\" is not expected here."+diag.DidYouMean(name, []string{"for_each", "iterator", "labels"}), a.NameRange)
			return out, false
		}
	}
	each := attrs["for_each"]
	if each == nil {
		r.c.error("Missing required argument", `The argument "for_each" is required, but no definition was found.`, b.Body.MissingItemRange())
		return out, false
	}
	d.forEach = r.node(each.Expr)
	content := r.contentOf(b)
	if content == nil {
		return out, false
	}
	r.within(locals{d.iterator: nil}, func() {
		d.labels = r.dynamicLabels(attrs["labels"])
		out.body = r.body(content.Body)
	})
	return out, true
}

func (r *rewriter) dynamicLabels(a *hclsyntax.Attribute) []hclsyntax.Expression {
	if a == nil {
		return nil
	}
	list, ok := a.Expr.(*hclsyntax.TupleConsExpr)
	if !ok {
		r.c.error("Invalid dynamic block label", "The labels of a dynamic block must be a list, written with brackets.", a.Expr.Range())
		return nil
	}
	return r.nodes(list.Exprs)
}

// contentOf finds the one content block of a dynamic block.
func (r *rewriter) contentOf(b *hclsyntax.Block) *hclsyntax.Block {
	var content *hclsyntax.Block
	for _, inner := range b.Body.Blocks {
		switch {
		case inner.Type != "content":
			r.c.error("Unsupported block type", "Blocks of type \""+inner.Type+"\" are not expected here."+diag.DidYouMean(inner.Type, []string{"content"}), inner.TypeRange)
			return nil
		case content != nil:
			r.c.error("Extraneous dynamic content block", "Only one nested content block is allowed for each dynamic block.", inner.TypeRange)
			return nil
		}
		content = inner
	}
	if content == nil {
		r.c.error("Missing dynamic content block", "A dynamic block must have a nested block of type \"content\" to describe the body of each generated block.", b.DefRange())
	}
	return content
}
