package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// trigger is a compiled entry of replace_triggered_by.
type trigger struct {
	target *ref
	key    hclsyntax.Expression // nil: none, or constant in target
	rest   hcl.Traversal
	at     diag.Range
}

// triggers compiles replace_triggered_by.
func (c *compiler) triggers(d *decl, pl place) {
	for _, e := range d.res.Lifecycle.Triggers {
		if t := c.in(ByTrigger, pl).trigger(native(e)); t != nil {
			d.triggers = append(d.triggers, t)
		}
	}
}

const triggerTitle = "Invalid replace_triggered_by expression"

// trigger compiles one entry: a resource, one of its instances, or an attribute of that.
func (r *rewriter) trigger(e hclsyntax.Expression) *trigger {
	out := &trigger{at: e.Range()}
	if wrapped, ok := e.(*hclsyntax.TemplateWrapExpr); ok { // JSON: "${…}"
		return r.trigger(wrapped.Wrapped)
	}
	if lit, ok := e.(*hclsyntax.TemplateExpr); ok && lit.IsStringLiteral() { // JSON: a bare address
		return r.jsonTrigger(lit)
	}
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return r.triggerOf(out, e, nil, nil)
	case *hclsyntax.IndexExpr:
		return r.triggerOf(out, e.Collection, e.Key, nil)
	case *hclsyntax.RelativeTraversalExpr:
		if ix, ok := e.Source.(*hclsyntax.IndexExpr); ok {
			return r.triggerOf(out, ix.Collection, ix.Key, e.Traversal)
		}
	}
	r.c.error(triggerTitle, "Missing resource reference in replace_triggered_by expression.", e.Range())
	return nil
}

func (r *rewriter) jsonTrigger(lit *hclsyntax.TemplateExpr) *trigger {
	v, _ := constant(lit.Parts[0])
	e, diags := hclsyntax.ParseExpression([]byte(v.AsString()), lit.SrcRange.Filename, lit.SrcRange.Start)
	if diags.HasErrors() {
		r.c.hcl(diags)
		return nil
	}
	return r.trigger(e)
}

func (r *rewriter) triggerOf(out *trigger, e hclsyntax.Expression, key hclsyntax.Expression, rest hcl.Traversal) *trigger {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		r.c.error(triggerTitle, "Missing resource reference in replace_triggered_by expression.", out.at)
		return nil
	}
	target, ok := r.resolve(t)
	if !ok {
		return nil
	}
	if target.root != rootResource || r.c.u.decls[target.local].res.Mode != addr.Managed {
		r.c.error("Invalid reference in replace_triggered_by expression", "Only managed resources and their attributes can be named here; count.index and each.key may select an instance.", out.at)
		return nil
	}
	r.selects(target, target.rest)
	r.selects(target, rest)
	out.target, out.rest = target, append(target.rest[:len(target.rest):len(target.rest)], rest...)
	if key != nil {
		out.key = r.node(key)
		if !r.noteIndexed(target, out.key, out.at) {
			return nil
		}
		return out
	}
	u := use{hint: AllKeys}
	switch {
	case !target.repeated:
		u.hint = Single
	case target.hasKey:
		u.hint, u.fixed = Fixed, target.key
	}
	if !r.keyed(target) {
		return nil
	}
	r.note(target, u)
	return out
}
