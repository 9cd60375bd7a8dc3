package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// binder has the state of one call of Bind.
type binder struct {
	p   *Program
	s   provider.Lookup // returns the schemas of a provider; if it returns nil, it has reported the error
	bag *diag.Bag
	ok  bool

	incomplete bool // resources may lack required arguments
}

func (c *binder) error(d diag.Diagnostic) {
	c.bag.Add(d)
	c.ok = false
}

// schemasOf returns the schemas of a provider. It returns nil if they could not be loaded; the error was then reported.
func (c *binder) schemasOf(prov addr.Provider) *provider.Schemas {
	s := c.s(prov)
	c.ok = c.ok && s != nil
	return s
}

// path reports an error if a reference selects an attribute that the resource's schema does not have. If s.Any is true,
// it reports no error, because the reference may select nothing. If the schema is missing, path does nothing.
func (c *binder) path(n *Node, s *selection) {
	d := n.Unit.Defs[s.Target.Local]
	sch := c.p.bound.schemas[n.Decl(d.Index)]
	if sch == nil {
		return
	}
	name, rest, ok := expr.Attribute(s.Rest)
	if !ok {
		return // an index into an object is an error that the evaluation reports
	}
	at := s.Rest[0].SourceRange()
	switch a := sch.Attr(name); {
	case a != nil:
		c.attribute(s, a, rest, at)
	case sch.Nested(name) != nil:
		c.inside(s, sch.Nested(name).Type(), rest)
	case s.Any:
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

// inside checks the remaining steps of a selection against the type of the attribute. It reports errors with the texts
// of the HCL library.
func (c *binder) inside(s *selection, ty cty.Type, rest hcl.Traversal) {
	_, diags := rest.TraverseRel(cty.UnknownVal(ty))
	if diags.HasErrors() && !s.Any {
		s.Target.Wrong = true
		c.ok = c.bag.HCL(diags) && c.ok
	}
}

// AllNames returns the names of the attributes and block types of a block.
func AllNames(b *schema.Block) []string {
	var out []string
	for _, a := range b.Attrs {
		out = append(out, a.Name)
	}
	return append(out, blockNames(b)...)
}

// functions checks the calls of provider functions in a module against the schemas of the providers. If the schema
// lacks a function, a configured provider may have it: if the configuration has a provider block that applies to the
// call, functions sets Configured in the call, and the call is checked later. Otherwise it sets Wrong and reports an
// error. It also sets Wrong if the provider has no schema, or if the module does not declare the provider.
func (c *binder) functions(n *Node) {
	for _, e := range n.Unit.functions {
		if req := n.Unit.Module.Required[e.Local]; req == nil || req.Range == (diag.Range{}) {
			e.Wrong = true
			if n.Unit.Module.Unreadable() {
				c.ok = false
				continue
			}
			c.error(diag.Errorf("Unknown provider function", "%s", UndeclaredFunction(e, n.Unit.Module.Required)).At(e.NameRange))
			continue
		}
		schemas := c.s(e.Provider)
		if schemas == nil {
			e.Wrong, c.ok = true, false
			continue
		}
		if schemas.Functions[e.Name] != nil {
			continue
		}
		if config := c.p.Existing(n, e.Provider, e.Alias); config != NoDecl && c.p.at[config] != nil {
			e.Configured = true
			continue
		}
		e.Wrong = true
		c.error(diag.Errorf("Unknown provider function", "%s", UnknownFunction(e, schemas.Functions)).At(e.NameRange))
	}
}

// ProviderCalls returns the calls of provider functions in a declaration. For a variable of a called module, it returns
// the calls in the argument that sets the variable. It returns nil for implied provider configurations.
func (p *Program) ProviderCalls(d *Declaration) []*expr.ProviderCall {
	n := p.at[d.ID]
	if n == nil {
		return nil
	}
	if d.Kind == Variable && n.Parent != nil {
		if a := n.Parent.Unit.Defs[n.Call].Inputs.Args[d.Name]; a != nil {
			return a.functions
		}
	}
	return n.Unit.Defs[d.ID-n.Base].refs.functions
}

// configured adds a reference to the provider configuration for each call of a function that only a configured provider
// has, except for calls with an alias, for which link has added it. It reports whether it added any. Before Bind it is
// not known which calls these are.
func (c *binder) configured() bool {
	added := false
	for id, d := range c.p.decls {
		n := c.p.at[id]
		if n == nil || len(n.Unit.functions) == 0 {
			continue
		}
		for _, e := range c.p.ProviderCalls(d) {
			if e.Configured && e.Alias == "" {
				config := c.p.Existing(n, e.Provider, "")
				c.p.refs[id] = append(c.p.refs[id], Ref{To: config, Use: ByFunction, Key: AllKeys, Range: e.NameRange})
				added = true
			}
		}
	}
	return added
}
