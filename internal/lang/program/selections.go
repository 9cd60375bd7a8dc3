package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/zclconf/go-cty/cty"
)

// selectsOutput records the name of an output that an expression selects from a whole module call, or from a local that
// may be a whole module call. rest are the steps after target. The parameter each is true if the name is selected from
// one element, or from each element, of the target (OutputUse.Each).
func (r *rewriter) selectsOutput(target *expr.Ref, rest hcl.Traversal, each bool) {
	if r.c.discard || target == nil || target.Root != expr.RootCall && target.Root != expr.RootLocal || target.Output != "" {
		return
	}
	if len(rest) > 1 && !each && target.Root == expr.RootLocal {
		r.selectsOutput(target, rest[1:], true)
	}
	if name, _, ok := expr.Attribute(rest); ok {
		r.c.u.OutputUses = append(r.c.u.OutputUses, OutputUse{target.Local, name, each, rest[0].SourceRange()})
	}
}

// selects records that an expression selects an attribute of a resource. rest are the steps after target.
func (r *rewriter) selects(target *expr.Ref, rest hcl.Traversal) {
	r.noteSelection(selection{Target: target, Rest: rest})
}

func (r *rewriter) noteSelection(s selection) {
	if r.c.discard || s.Target.Root != expr.RootResource || len(s.Rest) == 0 {
		return
	}
	s.From = r.c.owner()
	s.Any = s.Any || r.content > 0 // a dynamic block may generate no block, so the reference may not be evaluated
	r.c.u.Paths = append(r.c.u.Paths, s)
}

// selectsEach records the attribute or output that a splat selects from every instance of a declaration. source is the
// expression before [*], and each selects from one element.
func (r *rewriter) selectsEach(source, each hclsyntax.Expression) {
	target, ok := source.(*expr.Ref)
	if !ok || target.HasKey || len(target.Rest) > 0 {
		return
	}
	rel, ok := each.(*expr.Relative)
	if !ok {
		return
	}
	if _, ok := rel.Source.(*hclsyntax.AnonSymbolExpr); !ok {
		return
	}
	r.noteSelection(selection{Target: target, Rest: rel.Traversal, Tried: r.lenient > 0, Any: target.Repeated})
	r.selectsOutput(target, rel.Traversal, true)
}

// Selected returns the attributes of a resource that the text of d selects, as one path for each occurrence. A path
// ends at the first step that is not constant. If the text uses the whole resource, or the text is not known, Selected
// returns only the empty path. The text of a variable of a called module is the argument in the module call.
func (p *Program) Selected(d, resource Decl) []cty.Path {
	n := p.at[resource]
	from, ok := p.textIn(n, d)
	if n == nil || !ok {
		return []cty.Path{{}}
	}
	if out := n.Unit.selects(from, int32(resource-n.Base)); out != nil {
		return out
	}
	return []cty.Path{{}}
}

// textIn returns the declaration whose text contains the references of d, as an index in the module at n. For a
// declaration of a module that this module calls, that is the module call. It returns false if the module at n does not
// contain the text.
func (p *Program) textIn(n *Node, d Decl) (int32, bool) {
	at := p.at[d]
	switch {
	case n == nil || at == nil:
		return 0, false
	case at == n:
		return int32(d - n.Base), true
	case at.Parent == n:
		return n.Unit.Index(Call, at.Config.Call.Name)
	}
	return 0, false
}
