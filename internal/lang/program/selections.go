package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/zclconf/go-cty/cty"
)

// selectsOutput notes that something is selected from a whole call, or from a local that may be one.
func (r *rewriter) selectsOutput(target *expr.Ref, rest hcl.Traversal, each bool) {
	if r.c.quiet || target == nil || target.Root != expr.RootCall && target.Root != expr.RootLocal || target.Output != "" {
		return
	}
	if len(rest) > 1 && !each && target.Root == expr.RootLocal {
		r.selectsOutput(target, rest[1:], true)
	}
	if name, _, ok := expr.Attribute(rest); ok {
		r.c.u.OutputUses = append(r.c.u.OutputUses, OutputUse{target.Local, name, each, rest[0].SourceRange()})
	}
}

// selects notes that an attribute of a resource is selected.
func (r *rewriter) selects(target *expr.Ref, rest hcl.Traversal) {
	r.noteSelection(selection{Target: target, Rest: rest})
}

func (r *rewriter) noteSelection(s selection) {
	if r.c.quiet || s.Target.Root != expr.RootResource || len(s.Rest) == 0 {
		return
	}
	s.From = r.c.owner()
	s.Any = s.Any || r.content > 0 // there may be no such block
	r.c.u.Paths = append(r.c.u.Paths, s)
}

// selectsEach is selects for what a splat selects from every instance.
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

// Selected is what the text of d selects of a resource that it refers to: a path for each place, as
// far as its steps are constant, and only the empty one where it means the whole of it. What a
// module's variable refers to stands in the call.
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

// textIn is the index, in the unit of n, of the declaration whose text makes the references of d.
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
