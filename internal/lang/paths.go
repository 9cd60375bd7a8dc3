package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// selection is a reference to an attribute of a resource, whatever the instance: what Check holds
// against the schema. A reference inside try or can counts as well: an attribute that no version of
// the object has is a mistake everywhere.
type selection struct {
	from   int32 // the declaration that refers; -1 if it is none
	target *ref
	rest   hcl.Traversal
}

// outputUse is a place where an output of a module is selected by its name.
type outputUse struct {
	of   int32 // the call, or a local that may be the whole of one
	name string
	each bool // of a local: it is selected from one instance, or from each
	at   diag.Range
}

// selectsOutput notes that something is selected from a whole call, or from a local that may be one.
func (r *rewriter) selectsOutput(target *ref, rest hcl.Traversal, each bool) {
	if r.c.quiet || target == nil || target.root != rootCall && target.root != rootLocal || target.output != "" {
		return
	}
	if len(rest) > 1 && !each && target.root == rootLocal {
		r.selectsOutput(target, rest[1:], true)
	}
	if name, _, ok := attribute(rest); ok {
		r.c.u.outputUses = append(r.c.u.outputUses, outputUse{target.local, name, each, rest[0].SourceRange()})
	}
}

// selects notes that an attribute of a resource is selected.
func (r *rewriter) selects(target *ref, rest hcl.Traversal) {
	if r.c.quiet || target.root != rootResource || len(rest) == 0 {
		return
	}
	r.c.u.paths = append(r.c.u.paths, selection{r.c.owner(), target, rest})
}

// selectsEach is selects for what a splat selects from every instance.
func (r *rewriter) selectsEach(source, each hclsyntax.Expression) {
	target, ok := source.(*ref)
	if !ok || target.hasKey || len(target.rest) > 0 {
		return
	}
	rel, ok := each.(*relative)
	if !ok {
		return
	}
	if _, ok := rel.Source.(*hclsyntax.AnonSymbolExpr); !ok {
		return
	}
	r.selects(target, rel.Traversal)
	r.selectsOutput(target, rel.Traversal, true)
}

// path checks one selection.
func (c *binder) path(n *node, s *selection) {
	d := n.unit.decls[s.target.local]
	sch := c.p.bound.schemas[n.decl(d.index)]
	if sch == nil {
		return
	}
	name, rest, ok := attribute(s.rest)
	if !ok {
		return // an index into an object: evaluation reports it
	}
	at := s.rest[0].SourceRange()
	switch a := sch.Attr(name); {
	case a != nil:
		c.attribute(s, a, rest, at)
	case sch.Nested(name) != nil:
		c.inside(s, sch.Nested(name).Type(), rest)
	default:
		s.target.wrong = true
		c.error(diag.Errorf("Unsupported attribute", "This object has no argument, nested block, or exported attribute named %q.%s", name, diag.DidYouMean(name, allNames(sch.Block))).At(at))
	}
}

func (c *binder) attribute(s *selection, a *schema.Attr, rest hcl.Traversal, at diag.Range) {
	if a.Deprecated {
		c.bag.Add(diag.Warningf("Deprecated attribute", "The attribute %q is deprecated. %s", a.Name, adviceOn(a)).At(at))
	}
	c.inside(s, a.Type, rest)
}

func adviceOn(a *schema.Attr) string {
	if a.Deprecation != "" {
		return a.Deprecation
	}
	return "Refer to the provider documentation for details."
}

// inside lets the library say what it thinks of the remaining steps.
func (c *binder) inside(s *selection, ty cty.Type, rest hcl.Traversal) {
	_, diags := rest.TraverseRel(cty.UnknownVal(ty))
	if diags.HasErrors() {
		s.target.wrong = true
		c.ok = c.bag.HCL(diags) && c.ok
	}
}

func allNames(b *schema.Block) []string {
	var out []string
	for _, a := range b.Attrs {
		out = append(out, a.Name)
	}
	return append(out, blockNames(b)...)
}
