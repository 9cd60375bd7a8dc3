package program

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/lang/expr"
)

// In JSON a body does not say which of its properties are arguments and which are blocks. Before
// there is a schema only the references in it are found; bodies are compiled when one is there
// (jsonContent).

// jsonBody finds the references in a JSON body.
func (r *rewriter) jsonBody(b hcl.Body) *RawBody {
	out := &RawBody{json: b, missing: b.MissingItemRange(), why: r.why, place: r.place, locals: slices.Clone(r.locals)}
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
	r.within(locals{iterator: nil}, func() {
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
