package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/expr"
)

// triggers compiles the entries of replace_triggered_by.
func (c *compiler) triggers(d *Def, pl AllowedRefs) {
	for _, e := range d.Src.Res.Lifecycle.Triggers {
		if t := c.in(ByTrigger, pl).trigger(Native(e)); t != nil {
			d.Lifecycle.Triggers = append(d.Lifecycle.Triggers, t)
		}
	}
}

// TriggerTitle is the title of errors about replace_triggered_by.
const TriggerTitle = "Invalid replace_triggered_by expression"

// trigger compiles one entry of replace_triggered_by: a resource, one of its instances, or an attribute of either. If
// the entry is invalid, trigger reports an error and returns nil.
func (r *rewriter) trigger(e hclsyntax.Expression) *Trigger {
	out := &Trigger{At: e.Range()}
	if wrapped, ok := e.(*hclsyntax.TemplateWrapExpr); ok { // in JSON, an entry has the form "${…}"
		return r.trigger(wrapped.Wrapped)
	}
	if lit, ok := e.(*hclsyntax.TemplateExpr); ok && lit.IsStringLiteral() { // in JSON, an entry may also be an address without ${ }
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
	r.c.error(TriggerTitle, "Missing resource reference in replace_triggered_by expression.", e.Range())
	return nil
}

func (r *rewriter) jsonTrigger(lit *hclsyntax.TemplateExpr) *Trigger {
	v, _ := expr.Constant(lit.Parts[0])
	e, diags := hclsyntax.ParseExpression([]byte(v.AsString()), lit.SrcRange.Filename, lit.SrcRange.Start)
	if diags.HasErrors() {
		r.c.hcl(diags)
		return nil
	}
	return r.trigger(e)
}

func (r *rewriter) triggerOf(out *Trigger, e hclsyntax.Expression, key hclsyntax.Expression, rest hcl.Traversal) *Trigger {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok {
		r.c.error(TriggerTitle, "Missing resource reference in replace_triggered_by expression.", out.At)
		return nil
	}
	target, ok := r.resolve(t)
	if !ok {
		return nil
	}
	if target.Root != expr.RootResource || r.c.u.Defs[target.Local].Src.Res.Mode != addr.Managed {
		r.c.error("Invalid reference in replace_triggered_by expression", "Name only managed resources and their attributes. count.index and each.key can select an instance.", out.At)
		return nil
	}
	r.selects(target, target.Rest)
	r.selects(target, rest)
	out.Target, out.Rest = target, append(target.Rest[:len(target.Rest):len(target.Rest)], rest...)
	if key != nil {
		out.Key = r.node(key)
		if !r.noteIndexed(target, out.Key, out.At) {
			return nil
		}
		return out
	}
	if !r.keyed(target) {
		return nil
	}
	r.note(target, instancesOf(target))
	return out
}
