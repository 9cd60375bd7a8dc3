package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// The members of a set have no place in a value: of a set in which something is ephemeral, the marks
// say no more than that. A message is to name what it is, so it is looked for where the members are
// made.

func (b *body) member(s *env, ctx *hcl.EvalContext, path cty.Path) (cty.Path, diag.Range, bool) {
	if len(path) == 0 {
		return nil, diag.Range{}, false
	}
	name := stepName(path[0])
	for i := range b.attrs {
		if a := &b.attrs[i]; a.attr.Name == name && a.expr != nil && len(path) == 1 && a.attr.Type.IsSetType() {
			return s.memberOf(a.expr, ctx)
		}
	}
	for i := range b.nested {
		if b.nested[i].Name == name {
			return b.nested[i].member(s, ctx, path[1:])
		}
	}
	return nil, diag.Range{}, false
}

func (n *bodyNested) member(s *env, ctx *hcl.EvalContext, path cty.Path) (cty.Path, diag.Range, bool) {
	if n.Nesting != schema.Set {
		if it := n.item(path); it != nil {
			return it.body.member(s, ctx, afterKey(path))
		}
		return nil, diag.Range{}, false
	}
	for i := range n.items {
		e := &expansion{s: s, n: n}
		e.item(&n.items[i], ctx)
		for _, el := range e.elems {
			if m, ok := mark.Split(el.val).Find(mark.Ephemeral); ok {
				return m.Path, whereIn(n.items[i].raw, el.at, m.Path), true
			}
		}
	}
	return nil, diag.Range{}, false
}

// item is the block that a path goes into, if it is written out.
func (n *bodyNested) item(path cty.Path) *bodyItem {
	at := 0
	if len(path) > 0 {
		if step, ok := path[0].(cty.IndexStep); ok {
			k, _ := addr.KeyOf(step.Key)
			at, _ = k.Int()
		}
	}
	for i := range n.items {
		if n.items[i].dynamic != nil {
			return nil
		}
	}
	if at >= len(n.items) {
		return nil
	}
	return &n.items[at]
}

func afterKey(path cty.Path) cty.Path {
	if len(path) > 0 {
		if _, ok := path[0].(cty.IndexStep); ok {
			return path[1:]
		}
	}
	return path
}

// memberOf finds what is ephemeral in the members of a list of expressions.
func (s *env) memberOf(e hclsyntax.Expression, ctx *hcl.EvalContext) (cty.Path, diag.Range, bool) {
	list, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		return nil, diag.Range{}, false
	}
	for _, x := range list.Exprs {
		if rest, at, ok := s.leaf(x, ctx); ok {
			return rest, at, true
		}
	}
	return nil, diag.Range{}, false
}

// leaf follows what is ephemeral into object constructors.
func (s *env) leaf(e hclsyntax.Expression, ctx *hcl.EvalContext) (cty.Path, diag.Range, bool) {
	if !mark.Anywhere(s.EvalIn(e, ctx), mark.Ephemeral) {
		return nil, diag.Range{}, false
	}
	if obj, ok := e.(*objectCons); ok {
		for _, item := range obj.Items {
			name, literal := itemName(item.KeyExpr)
			if rest, at, ok := s.leaf(item.ValueExpr, ctx); ok && literal {
				return append(cty.GetAttrPath(name), rest...), at, true
			}
		}
	}
	return nil, e.Range(), true
}
