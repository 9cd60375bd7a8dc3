package program

import (
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Bind holds the program against the schemas of its providers. Bodies are compiled, once for each
// module however often it is called, and what can be found wrong without evaluating anything is reported:
// arguments and blocks that are missing or not supported, attributes and functions that do not exist. Resources may
// lack arguments if incomplete is set. It may be called after Compile failed, to have all there is to report.
// grown says that calls of functions of configured providers have added references, which are not known before.
func (p *Program) Bind(s provider.Lookup, incomplete bool, bag *diag.Bag) (ok, grown bool) {
	p.bound = &bound{schemas: make([]*schema.Schema, len(p.decls)), bodies: map[*Def]*expr.Body{}, metas: map[metaKey]cty.Value{}, flawed: map[*Def]bool{}}
	c := &binder{p: p, s: s, bag: bag, ok: true, incomplete: incomplete}
	for _, d := range p.decls {
		switch d.Kind {
		case Resource:
			c.resource(d)
		case Provider:
			c.provider(d)
		}
	}
	p.EachUnit(c.unit)
	grown = c.configured()
	return c.ok, grown
}

// EachUnit visits every unit once, at the first node it stands at, callers before those they call.
func (p *Program) EachUnit(f func(*Node)) {
	seen := map[*Unit]bool{}
	var visit func(*Node)
	visit = func(n *Node) {
		if !seen[n.Unit] {
			seen[n.Unit] = true
			f(n)
		}
		for _, child := range n.Children {
			if child != nil {
				visit(child)
			}
		}
	}
	visit(p.root)
}

// Schema is the schema of a resource or provider declaration, known after Bind; nil if there is
// none.
func (p *Program) Schema(d Decl) *schema.Schema {
	if p.bound == nil {
		return nil
	}
	return p.bound.schemas[d]
}

// Body is the body of a resource or provider configuration, compiled against its schema; nil if there is none.
func (p *Program) Body(d *Def) *expr.Body { return p.bound.bodies[d] }

// Meta is what the provider_meta block of a module says to a provider, known after Bind; NilVal if
// there is none, or no such module.
func (p *Program) Meta(m addr.Module, prov addr.Provider) cty.Value {
	n := p.nodes[m]
	if n == nil || p.bound == nil {
		return cty.NilVal
	}
	return p.bound.metas[metaKey{n.Unit, prov}]
}

// Sound reports whether Bind found nothing wrong with the body of a resource or a provider
// configuration, so that it can be evaluated.
func (p *Program) Sound(d Decl) bool {
	if p.bound.schemas[d] == nil || p.endless[d] || p.decls[d].Kind == Resource && p.uses[d] == NoDecl {
		return false
	}
	n := p.at[d]
	return n == nil || !p.bound.flawed[n.Unit.Defs[d-n.Base]]
}

func (c *binder) resource(d *Declaration) {
	n := c.p.at[d.ID]
	prov := n.Config.Provider(d.Res.LocalProvider().Local)
	schemas := c.schemasOf(prov)
	if schemas == nil {
		return
	}
	sch, err := schemas.Usable(d.Res.Mode, d.Res.Type)
	switch {
	case err != nil:
		c.error(diag.Errorf("Failed to load plugin schemas", "The schema of %s %q of provider %s cannot be used: %s.\n\nThis is a bug in the provider, to be reported there.", typeNouns[d.Res.Mode], d.Res.Type, prov.ForDisplay(), err).At(d.Res.TypeRange))
	case sch == nil:
		c.error(unknownType(d, prov, schemas))
	default:
		c.p.bound.schemas[d.ID] = sch
		c.body(n, n.Unit.Defs[d.ID-n.Base], sch.Block)
	}
}

var (
	typeTitles = map[addr.Mode]string{addr.Managed: "Invalid resource type", addr.Data: "Invalid data source", addr.Ephemeral: "Invalid ephemeral resource"}
	typeNouns  = map[addr.Mode]string{addr.Managed: "resource type", addr.Data: "data source", addr.Ephemeral: "ephemeral resource"}
)

// blockOf is a block of a mode, with its article.
func blockOf(m addr.Mode) string {
	article := "a"
	if m == addr.Ephemeral {
		article = "an"
	}
	return article + ` "` + m.Block() + `" block`
}

func unknownType(d *Declaration, prov addr.Provider, s *provider.Schemas) diag.Diagnostic {
	mode, hint := d.Res.Mode, ""
	for _, other := range []addr.Mode{addr.Managed, addr.Data, addr.Ephemeral} {
		if sch, _ := s.Type(other, d.Res.Type); sch != nil {
			hint = "\n\nDid you intend to use the " + typeNouns[other] + ` "` + d.Res.Type + `"? If so, declare this using ` + blockOf(other) + ` instead of ` + blockOf(mode) + `.`
			break
		}
	}
	if hint == "" {
		hint = diag.DidYouMean(d.Res.Type, s.Types(mode))
	}
	return diag.Errorf(typeTitles[mode], "The provider %s does not support %s %q.%s", prov.ForDisplay(), typeNouns[mode], d.Res.Type, hint).At(d.Res.TypeRange)
}

func (c *binder) provider(d *Declaration) {
	schemas := c.schemasOf(d.Provider.Provider)
	if schemas == nil || schemas.Config == nil {
		return
	}
	if err := schemas.UsableConfig(); err != nil {
		c.error(diag.Errorf("Failed to load plugin schemas", "The schema of the settings of provider %s cannot be used: %s.\n\nThis is a bug in the provider, to be reported there.", d.Provider.Provider.ForDisplay(), err).At(d.Range))
		return
	}
	c.p.bound.schemas[d.ID] = schemas.Config
	if n := c.p.at[d.ID]; n != nil {
		c.body(n, n.Unit.Defs[d.ID-n.Base], schemas.Config.Block)
	}
}

// body compiles a declaration's body once.
func (c *binder) body(n *Node, d *Def, sch *schema.Block) {
	if c.p.bound.bodies[d] == nil {
		c.p.bound.bodies[d] = c.compile(n, d, d.Body, sch)
	}
}

func (c *binder) compile(n *Node, d *Def, raw *RawBody, sch *schema.Block) *expr.Body {
	bc := &bodyCompiler{c: &compiler{u: n.Unit, n: n, bag: c.bag, d: d, quiet: true}, bag: c.bag, ok: true, incomplete: c.incomplete && d.Res != nil}
	bc.beside(raw, d)
	out := bc.compile(raw, sch)
	if !bc.ok || bc.c.failed {
		c.ok = false
		c.p.bound.flawed[d] = true
	}
	return out
}

// unit checks what stands once in a module's text.
func (c *binder) unit(n *Node) {
	for i := range n.Unit.Paths {
		if !n.Unit.Paths[i].Tried {
			c.path(n, &n.Unit.Paths[i])
		}
	}
	c.functions(n)
	for _, local := range slices.Sorted(maps.Keys(n.Unit.metas)) {
		if !n.Unit.Module.HasResourcesOf(local) {
			continue // there is nobody to say it to
		}
		schemas := c.s(n.Config.Provider(local))
		switch {
		case schemas == nil:
		case schemas.Meta == nil:
			c.error(diag.Errorf("Provider doesn't support provider_meta", "The provider %s takes no per-module metadata, so there can be no provider_meta block for it.", n.Config.Provider(local).ForDisplay()).At(n.Unit.Module.Meta[local].Range))
		default:
			c.meta(n, n.Config.Provider(local), n.Unit.metas[local], schemas.Meta.Block)
		}
	}
}

// meta evaluates a provider_meta block: constants, which need no frame.
func (c *binder) meta(n *Node, prov addr.Provider, raw *RawBody, sch *schema.Block) {
	b := c.compile(n, nil, raw, sch)
	s := expr.NewEnv(c.bag)
	v := b.Eval(s, s.Ctx)
	if s.Broken {
		c.ok = false
		return
	}
	c.p.bound.metas[metaKey{n.Unit, prov}] = v
}
