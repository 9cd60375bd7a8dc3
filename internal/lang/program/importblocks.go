package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/zclconf/go-cty/cty"
)

func (c *compiler) importBlock(im *config.Import) {
	d := &Def{Kind: Resource, Name: im.Resource.Name, At: im.Range, Src: Source{Res: &config.Resource{Name: config.Name{Mode: im.Resource.Mode, Type: im.Resource.Type, Name: im.Resource.Name}}}}
	d.Repeat.ForEach = im.ForEach
	c.d = d
	pl := AllowedRefs{Each: im.ForEach != nil}
	out := &ImportBlock{Config: im, Def: d}
	out.ForEach = c.in(ByImport, AllowedRefs{}).optional(im.ForEach)
	d.Repetition = out.ForEach
	out.ID = c.in(ByImport, pl).optional(im.ID)
	out.Identity = c.in(ByImport, pl).optional(im.Identity)
	if im.Provider != nil {
		d.ProviderKey = c.in(ByImport, pl).optional(im.Provider.Key)
	}
	out.ModuleKeys = make([]hclsyntax.Expression, len(im.Resource.Module.Path()))
	words := 0
	for _, step := range c.importSteps(Native(im.To), pl) {
		switch at := words/2 - 1; {
		case step == nil:
			words++
		case at < len(out.ModuleKeys):
			out.ModuleKeys[at] = step
		default:
			out.Key = step
		}
	}
	c.u.Imports = append(c.u.Imports, out)
}

// importSteps returns one element for each step of an import address, from left to right: nil for a name, and the
// compiled expression for a key. If e is not an address, importSteps reports an error, and the result lacks the steps
// that it cannot read.
func (c *compiler) importSteps(e hclsyntax.Expression, pl AllowedRefs) []hclsyntax.Expression {
	switch e := e.(type) {
	case *hclsyntax.TemplateExpr:
		if v, ok := expr.Constant(expr.Fold(e, e.Parts...)); ok && v.Type() == cty.String {
			inner, diags := hclsyntax.ParseExpression([]byte(v.AsString()), e.SrcRange.Filename, e.SrcRange.Start)
			if diags.HasErrors() {
				c.hcl(diags)
				return nil
			}
			return c.importSteps(inner, pl)
		}
	case *hclsyntax.TemplateWrapExpr:
		return c.importSteps(e.Wrapped, pl)
	case *hclsyntax.ScopeTraversalExpr:
		return traversalSteps(nil, e.Traversal)
	case *hclsyntax.IndexExpr:
		return append(c.importSteps(e.Collection, pl), c.in(ByImport, pl).node(e.Key))
	case *hclsyntax.RelativeTraversalExpr:
		return traversalSteps(c.importSteps(e.Source, pl), e.Traversal)
	}
	c.error("Invalid import address", "The \"to\" argument must be the address of a resource instance. Only its instance keys can be expressions.", e.Range())
	return nil
}

func traversalSteps(steps []hclsyntax.Expression, t hcl.Traversal) []hclsyntax.Expression {
	for _, s := range t {
		if ix, ok := s.(hcl.TraverseIndex); ok {
			steps = append(steps, &hclsyntax.LiteralValueExpr{Val: ix.Key, SrcRange: ix.SrcRange})
		} else {
			steps = append(steps, nil)
		}
	}
	return steps
}

// UndeclaredImports returns the import blocks whose target resource is not declared. The keys of the map are the target
// resources; of several blocks for one resource, the map has one. It omits targets that may be declared in a part of
// the configuration that could not be read.
func (p *Program) UndeclaredImports() map[addr.Resource]*config.Import {
	out := map[addr.Resource]*config.Import{}
	for m, n := range p.nodes {
		for _, b := range n.Unit.Imports {
			to := b.Target(m)
			if _, declared := p.resources[to]; !declared && !p.mayHave(to) {
				out[to] = b.Config
			}
		}
	}
	return out
}

// NotGenerated returns the reason why a plan cannot generate configuration for the target to of the import block im. It
// returns "" if a plan can generate it.
func NotGenerated(to addr.Resource, im *config.Import) string {
	switch {
	case !to.Module.IsRoot():
		return "only resources of the root module"
	case im.Keyed():
		return "only resources without count and for_each"
	}
	return ""
}

// mayHave reports whether the resource r, which is not declared, may be declared in a part of its module, or of a
// module around it, that could not be read.
func (p *Program) mayHave(r addr.Resource) bool {
	if n := p.nodes[r.Module]; n != nil {
		return n.Unit.Module.Unreadable()
	}
	m := r.Module // find the module call on the way whose module could not be read
	for p.nodes[m.Parent()] == nil {
		m = m.Parent()
	}
	parent := p.nodes[m.Parent()].Unit.Module
	return parent.Calls[m.Name()] != nil || parent.Unreadable()
}
