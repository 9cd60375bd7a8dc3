package program

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/zclconf/go-cty/cty"
)

// body compiles a body without a schema.
func (r *rewriter) body(b hcl.Body) *RawBody {
	if b == nil {
		return &RawBody{}
	}
	native, ok := b.(*hclsyntax.Body)
	if !ok {
		return r.jsonBody(b)
	}
	out := &RawBody{missing: native.MissingItemRange()}
	attrs, _ := native.JustAttributes()
	out.Attrs = make([]rawAttr, 0, len(attrs))
	for name, a := range attrs {
		source := a.Expr.(hclsyntax.Expression)
		out.Attrs = append(out.Attrs, rawAttr{Name: name, source: source, NameAt: a.NameRange, at: a.Range})
	}
	slices.SortFunc(out.Attrs, func(a, b rawAttr) int { return cmp.Compare(a.at.Start.Byte, b.at.Start.Byte) })
	for i := range out.Attrs {
		out.Attrs[i].Expr = r.node(out.Attrs[i].source)
	}
	for _, block := range visibleBlocks(native) {
		if rb, ok := r.block(block); ok {
			out.Blocks = append(out.Blocks, rb)
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
	return rawBlock{typ: b.Type, labels: b.Labels, typeAt: b.TypeRange, Body: r.body(b.Body)}, true
}

// dynamic compiles a dynamic block: its for_each in the scope around it, its labels and content
// with the iterator.
func (r *rewriter) dynamic(b *hclsyntax.Block) (rawBlock, bool) {
	if len(b.Labels) != 1 {
		r.c.error("Missing name for dynamic", "All dynamic blocks must have 1 labels (name): the type of the blocks to generate.", b.DefRange())
		return rawBlock{}, false
	}
	d := &expr.Dynamic{Iterator: b.Labels[0], At: b.DefRange()}
	out := rawBlock{typ: b.Labels[0], typeAt: b.LabelRanges[0], Dynamic: d}
	attrs := b.Body.Attributes
	for name, a := range attrs {
		switch name {
		case "for_each", "labels":
		case "iterator":
			if d.Iterator = hcl.ExprAsKeyword(a.Expr); d.Iterator == "" {
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
	d.ForEach = r.node(each.Expr)
	content := r.contentOf(b)
	if content == nil {
		return out, false
	}
	r.within(locals{d.Iterator: nil}, func() {
		d.Labels = r.dynamicLabels(attrs["labels"])
		out.Body = r.body(content.Body)
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

// RawBody is a body compiled without a schema: its expressions are, which of them are arguments
// and blocks is not yet known to be right. Bodies in JSON stay as they are until a schema says
// what their properties mean.
type RawBody struct {
	Attrs    []rawAttr // in the order of the source
	Blocks   []rawBlock
	missing  hcl.Range // where something is missing
	json     hcl.Body
	fromJSON bool // it was in JSON before it was held against a schema
	why      Use
	place    AllowedRefs
	locals   []locals
	meant    string // a required argument that is there under a wrong name
}

type rawAttr struct {
	Name   string
	Expr   hclsyntax.Expression // compiled
	source hclsyntax.Expression // as written
	NameAt hcl.Range
	at     hcl.Range
}

type rawBlock struct {
	typ     string
	labels  []string
	typeAt  hcl.Range
	Body    *RawBody
	Dynamic *expr.Dynamic // nil for a block written out; body is its content otherwise
}

func (b *RawBody) attr(name string) *rawAttr {
	for i := range b.Attrs {
		if b.Attrs[i].Name == name {
			return &b.Attrs[i]
		}
	}
	return nil
}

// Where is the place in a body, which is that of a block at some place.
func (raw *RawBody) Where(at hcl.Range, path cty.Path) hcl.Range {
	for i := 0; i < len(path); i++ {
		name, ok := path[i].(cty.GetAttrStep)
		if !ok {
			continue
		}
		if a := raw.attr(name.Name); a != nil {
			return expr.InsideExpr(a.source, a.source.Range(), path[i+1:])
		}
		block := blockAt(raw, name.Name, path[i+1:])
		if block == nil {
			return at
		}
		at, raw = block.typeAt, block.Body
	}
	return at
}

// blockAt finds the block that a path goes into: the n-th of its type where all are written out.
func blockAt(raw *RawBody, name string, rest cty.Path) *rawBlock {
	var all []*rawBlock
	static := true
	for i := range raw.Blocks {
		if raw.Blocks[i].typ == name {
			all = append(all, &raw.Blocks[i])
			static = static && raw.Blocks[i].Dynamic == nil
		}
	}
	if len(all) == 0 {
		return nil
	}
	if len(rest) > 0 {
		if ix, ok := rest[0].(cty.IndexStep); ok {
			k, _ := addr.KeyOf(ix.Key)
			if n, isInt := k.Int(); isInt && static && n < len(all) {
				return all[n]
			}
			if label, isStr := k.Str(); isStr {
				for _, b := range all {
					if len(b.labels) > 0 && b.labels[0] == label {
						return b
					}
				}
			}
		}
	}
	return all[0]
}
