package program

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
)

// bodyRewriter compiles the expressions of a body before the schema of the body is known. Only the schema determines
// which names are arguments and which are blocks.
type bodyRewriter struct{ r *rewriter }

// body compiles a body without a schema. For nil it returns an empty RawBody.
func (w bodyRewriter) body(b hcl.Body) *RawBody {
	if b == nil {
		return &RawBody{}
	}
	native, ok := b.(*hclsyntax.Body)
	if !ok {
		return w.jsonBody(b)
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
		out.Attrs[i].Expr = w.r.node(out.Attrs[i].source)
	}
	for _, block := range visibleBlocks(native) {
		if rb, ok := w.block(block); ok {
			out.Blocks = append(out.Blocks, rb)
		}
	}
	return out
}

// visibleBlocks returns the blocks of a body that no earlier call of PartialContent has removed.
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

func (w bodyRewriter) block(b *hclsyntax.Block) (rawBlock, bool) {
	if b.Type == "dynamic" {
		return w.dynamic(b)
	}
	return rawBlock{typ: b.Type, labels: b.Labels, typeAt: b.TypeRange, Body: w.body(b.Body)}, true
}

// dynamic compiles a dynamic block: its for_each in the scope around the block, and its labels and content with the
// iterator as an additional name. If the block is malformed, dynamic reports an error and returns false.
func (w bodyRewriter) dynamic(b *hclsyntax.Block) (rawBlock, bool) {
	if len(b.Labels) != 1 {
		w.r.c.error("Missing name for dynamic", "A dynamic block must have one label: the type of the blocks to generate.", b.DefRange())
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
				w.r.c.error("Invalid expression", "Dynamic iterator must be a single variable name.", a.Expr.Range())
				return out, false
			}
		default:
			w.r.c.error("Unsupported argument", "An argument named \""+name+"\" is not expected here."+diag.DidYouMean(name, []string{"for_each", "iterator", "labels"}), a.NameRange)
			return out, false
		}
	}
	each := attrs["for_each"]
	if each == nil {
		w.r.c.error("Missing required argument", `The argument "for_each" is required, but no definition was found.`, b.Body.MissingItemRange())
		return out, false
	}
	d.ForEach = w.r.node(each.Expr)
	content := w.contentOf(b)
	if content == nil {
		return out, false
	}
	w.r.inContent(d.Iterator, func() {
		d.Labels = w.dynamicLabels(attrs["labels"])
		out.Body = w.body(content.Body)
	})
	return out, true
}

func (w bodyRewriter) dynamicLabels(a *hclsyntax.Attribute) []hclsyntax.Expression {
	if a == nil {
		return nil
	}
	list, ok := a.Expr.(*hclsyntax.TupleConsExpr)
	if !ok {
		w.r.c.error("Invalid dynamic block label", "The labels of a dynamic block must be a list, written with brackets.", a.Expr.Range())
		return nil
	}
	return w.r.nodes(list.Exprs)
}

// contentOf returns the only content block of a dynamic block. If the dynamic block does not have exactly one content
// block, or has other blocks, contentOf reports an error and returns nil.
func (w bodyRewriter) contentOf(b *hclsyntax.Block) *hclsyntax.Block {
	var content *hclsyntax.Block
	for _, inner := range b.Body.Blocks {
		switch {
		case inner.Type != "content":
			w.r.c.error("Unsupported block type", "Blocks of type \""+inner.Type+"\" are not expected here."+diag.DidYouMean(inner.Type, []string{"content"}), inner.TypeRange)
			return nil
		case content != nil:
			w.r.c.error("Extraneous dynamic content block", "Only one nested content block is allowed for each dynamic block.", inner.TypeRange)
			return nil
		}
		content = inner
	}
	if content == nil {
		w.r.c.error("Missing dynamic content block", "A dynamic block must have a nested \"content\" block with the body of the generated blocks. Add one.", b.DefRange())
	}
	return content
}

// The syntax of JSON does not distinguish arguments from blocks. So jsonBody only collects the references in a JSON
// body, and jsonContent compiles the body when its schema is known.

// jsonBody collects the references in a JSON body, without compiling it.
func (w bodyRewriter) jsonBody(b hcl.Body) *RawBody {
	out := &RawBody{json: b, missing: b.MissingItemRange(), why: w.r.why, place: w.r.place, locals: slices.Clone(w.r.locals), content: w.r.content}
	attrs, _ := b.JustAttributes()
	for _, a := range inOrder(attrs) {
		e := Native(a.Expr)
		if a.Name == "dynamic" && w.jsonDynamic(e) {
			continue
		}
		w.jsonValue(e)
	}
	return out
}

// inOrder returns attributes sorted by their position in the file.
func inOrder(attrs hcl.Attributes) []*hcl.Attribute {
	out := make([]*hcl.Attribute, 0, len(attrs))
	for _, a := range attrs {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *hcl.Attribute) int { return a.Range.Start.Byte - b.Range.Start.Byte })
	return out
}

// jsonValue collects the references in the value of a property. The schema may define the property as a block, so
// jsonValue recognizes dynamic blocks in the value.
func (w bodyRewriter) jsonValue(e hclsyntax.Expression) {
	switch e := e.(type) {
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			if name, ok := expr.LiteralKey(item.KeyExpr); ok && name == "dynamic" && w.jsonDynamic(item.ValueExpr) {
				continue
			}
			w.r.node(item.KeyExpr)
			w.jsonValue(item.ValueExpr)
		}
	case *hclsyntax.TupleConsExpr:
		for _, item := range e.Exprs {
			w.jsonValue(item)
		}
	default:
		w.r.node(e)
	}
}

// jsonDynamic collects the references in {"TYPE": {"for_each": …, "content": …}}, the content of a dynamic block. It
// returns false if e does not have this form.
func (w bodyRewriter) jsonDynamic(e hclsyntax.Expression) bool {
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
		w.jsonDynamicBlock(f.typ, f.obj)
	}
	return len(all) > 0
}

func (w bodyRewriter) jsonDynamicBlock(typ string, obj *hclsyntax.ObjectConsExpr) {
	iterator := typ
	if it := jsonProperty(obj, "iterator"); it != nil {
		if name, ok := expr.LiteralKey(it); ok {
			iterator = name
		}
	}
	w.r.node(jsonProperty(obj, "for_each"))
	w.r.inContent(iterator, func() {
		if labels := jsonProperty(obj, "labels"); labels != nil {
			w.r.node(labels)
		}
		w.jsonValue(jsonProperty(obj, "content"))
	})
}

// oneOrMany returns the object e, or the objects in the array e. It returns nil for any other expression.
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
