package program

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
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
	out := &RawBody{missing: native.MissingItemRange(), at: native.SrcRange}
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
	d := &expr.Dynamic{Iterator: b.Labels[0]}
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
	r.inContent(d.Iterator, func() {
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

// In JSON a body does not say which of its properties are arguments and which are blocks. Before
// there is a schema only the references in it are found; bodies are compiled when one is there
// (jsonContent).

// jsonBody finds the references in a JSON body.
func (r *rewriter) jsonBody(b hcl.Body) *RawBody {
	out := &RawBody{json: b, missing: b.MissingItemRange(), why: r.why, place: r.place, locals: slices.Clone(r.locals), content: r.content}
	attrs, _ := b.JustAttributes()
	for _, a := range inOrder(attrs) {
		e := Native(a.Expr)
		if a.Name == "dynamic" && r.jsonDynamic(e) {
			continue
		}
		r.jsonValue(e)
	}
	return out
}

// inOrder lists attributes by place.
func inOrder(attrs hcl.Attributes) []*hcl.Attribute {
	out := make([]*hcl.Attribute, 0, len(attrs))
	for _, a := range attrs {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *hcl.Attribute) int { return a.Range.Start.Byte - b.Range.Start.Byte })
	return out
}

// jsonValue finds the references in a property, which may turn out to be a block.
func (r *rewriter) jsonValue(e hclsyntax.Expression) {
	switch e := e.(type) {
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			if name, ok := expr.LiteralKey(item.KeyExpr); ok && name == "dynamic" && r.jsonDynamic(item.ValueExpr) {
				continue
			}
			r.node(item.KeyExpr)
			r.jsonValue(item.ValueExpr)
		}
	case *hclsyntax.TupleConsExpr:
		for _, item := range e.Exprs {
			r.jsonValue(item)
		}
	default:
		r.node(e)
	}
}

// jsonDynamic finds the references in {"TYPE": {"for_each": …, "content": …}}; false if e does not
// look like that.
func (r *rewriter) jsonDynamic(e hclsyntax.Expression) bool {
	type found struct {
		typ string
		obj *hclsyntax.ObjectConsExpr
	}
	var all []found
	for _, types := range oneOrMany(e) {
		for _, item := range types.Items {
			name, ok := expr.LiteralKey(item.KeyExpr)
			if !ok {
				return false
			}
			for _, obj := range oneOrMany(item.ValueExpr) {
				if jsonProperty(obj, "content") == nil || jsonProperty(obj, "for_each") == nil {
					return false
				}
				all = append(all, found{name, obj})
			}
		}
	}
	for _, f := range all {
		r.jsonDynamicBlock(f.typ, f.obj)
	}
	return len(all) > 0
}

func (r *rewriter) jsonDynamicBlock(typ string, obj *hclsyntax.ObjectConsExpr) {
	iterator := typ
	if it := jsonProperty(obj, "iterator"); it != nil {
		if name, ok := expr.LiteralKey(it); ok {
			iterator = name
		}
	}
	r.node(jsonProperty(obj, "for_each"))
	r.inContent(iterator, func() {
		if labels := jsonProperty(obj, "labels"); labels != nil {
			r.node(labels)
		}
		r.jsonValue(jsonProperty(obj, "content"))
	})
}

// oneOrMany takes an object, or the objects of an array.
func oneOrMany(e hclsyntax.Expression) []*hclsyntax.ObjectConsExpr {
	switch e := e.(type) {
	case *hclsyntax.ObjectConsExpr:
		return []*hclsyntax.ObjectConsExpr{e}
	case *hclsyntax.TupleConsExpr:
		var out []*hclsyntax.ObjectConsExpr
		for _, item := range e.Exprs {
			out = append(out, oneOrMany(item)...)
		}
		return out
	}
	return nil
}

func jsonProperty(obj *hclsyntax.ObjectConsExpr, name string) hclsyntax.Expression {
	for _, item := range obj.Items {
		if k, ok := expr.LiteralKey(item.KeyExpr); ok && k == name {
			return item.ValueExpr
		}
	}
	return nil
}
