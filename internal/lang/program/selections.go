package program

import (
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// selection is a reference to an attribute of a resource, of any instance: what Bind holds
// against the schema. A reference inside try or can counts as well: an attribute that no version of
// the object has is a mistake everywhere.
type selection struct {
	From   int32 // the declaration that refers; -1 if it is none
	Target *expr.Ref
	Rest   hcl.Traversal
}

// OutputUse is a place where an output of a module is selected by its name.
type OutputUse struct {
	Of   int32 // the call, or a local that may be the whole of one
	Name string
	Each bool // of a local: it is selected from one instance, or from each
	At   diag.Range
}

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
	if r.c.quiet || target.Root != expr.RootResource || len(rest) == 0 {
		return
	}
	r.c.u.Paths = append(r.c.u.Paths, selection{r.c.owner(), target, rest})
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
	r.selects(target, rel.Traversal)
	r.selectsOutput(target, rel.Traversal, true)
}

// path checks one selection.
func (c *binder) path(n *Node, s *selection) {
	d := n.Unit.Defs[s.Target.Local]
	sch := c.p.bound.schemas[n.Decl(d.Index)]
	if sch == nil {
		return
	}
	name, rest, ok := expr.Attribute(s.Rest)
	if !ok {
		return // an index into an object: evaluation reports it
	}
	at := s.Rest[0].SourceRange()
	switch a := sch.Attr(name); {
	case a != nil:
		c.attribute(s, a, rest, at)
	case sch.Nested(name) != nil:
		c.inside(s, sch.Nested(name).Type(), rest)
	default:
		s.Target.Wrong = true
		c.error(diag.Errorf("Unsupported attribute", "This object has no argument, nested block, or exported attribute named %q.%s", name, diag.DidYouMean(name, AllNames(sch.Block))).At(at))
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
		s.Target.Wrong = true
		c.ok = c.bag.HCL(diags) && c.ok
	}
}

// AllNames are the names of the attributes and block types of a block.
func AllNames(b *schema.Block) []string {
	var out []string
	for _, a := range b.Attrs {
		out = append(out, a.Name)
	}
	return append(out, blockNames(b)...)
}

// selections finds what a declaration selects of another of its unit.
type selections struct {
	once sync.Once
	by   map[[2]int32][]cty.Path // from, target
}

func (u *Unit) selects(from, target int32) []cty.Path {
	u.selected.once.Do(func() {
		u.selected.by = map[[2]int32][]cty.Path{}
		for _, s := range u.Paths {
			k := [2]int32{s.From, s.Target.Local}
			u.selected.by[k] = append(u.selected.by[k], expr.Path(s.Rest))
		}
	})
	return u.selected.by[[2]int32{from, target}]
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
