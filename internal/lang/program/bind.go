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

// Bind validates the program against the schemas of its providers. It compiles each body once for each module, however
// often the module is called. It reports every mistake that can be found without evaluation: missing or unsupported
// arguments and blocks, and unknown attributes and functions. If incomplete is true, resources may lack required
// arguments. Bind may be called after Compile failed, so that all mistakes are reported together.
//
// ok is false if Bind reported an error. grown is true if Bind added references: a call of a function that only a
// configured provider has makes a declaration depend on the provider configuration. Only the schemas show which calls
// these are.
func (p *Program) Bind(s provider.Lookup, incomplete bool, bag *diag.Bag) (ok, grown bool) {
	p.bound = &bound{schemas: make([]*schema.Schema, len(p.decls)), bodies: map[*Def]*expr.Body{}, metas: map[metaKey]cty.Value{}, flawed: map[*Def]bool{}}
	c := &binder{p: p, s: s, bag: bag, ok: true, incomplete: incomplete}
	for _, d := range p.decls {
		switch d.Kind {
		case Resource, Action:
			c.resource(d)
		case Provider:
			c.provider(d)
		}
	}
	p.EachUnit(c.unit)
	grown = c.configured()
	return c.ok, grown
}

// EachUnit calls f once for each module, however often the module is called, with the first place of the module in the
// tree. It calls f for a module before the modules that it calls.
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

// Schema returns the schema of a declaration of a resource or a provider. It returns nil before Bind, or if Bind found
// no schema.
func (p *Program) Schema(d Decl) *schema.Schema {
	if p.bound == nil {
		return nil
	}
	return p.bound.schemas[d]
}

// Body returns the body of a resource, an action or a provider configuration, compiled against its schema, or nil if
// there is no schema. It must not be called before Bind.
func (p *Program) Body(d *Def) *expr.Body { return p.bound.bodies[d] }

// Meta returns the value of the provider_meta block of module m for a provider. It returns NilVal before Bind, or if
// the module or the block does not exist.
func (p *Program) Meta(m addr.Module, prov addr.Provider) cty.Value {
	n := p.nodes[m]
	if n == nil || p.bound == nil {
		return cty.NilVal
	}
	return p.bound.metas[metaKey{n.Unit, prov}]
}

// Sound reports whether a resource, an action or a provider configuration can be evaluated: it has a schema, its body
// fits the schema, it is neither part of a cycle nor depends on one, and (for a resource or an action) its provider
// configuration exists. Sound must not be called before Bind.
func (p *Program) Sound(d Decl) bool {
	if p.bound.schemas[d] == nil || p.endless[d] || (p.decls[d].Kind == Resource || p.decls[d].Kind == Action) && p.uses[d] == NoDecl {
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
		c.error(diag.Errorf("Failed to load plugin schemas", "The schema of %s %q of provider %s is invalid: %s.\n\nThis is a bug in the provider. Report it to its developers.", typeNouns[d.Res.Mode], d.Res.Type, prov.ForDisplay(), err).At(d.Res.TypeRange))
	case sch == nil:
		c.error(unknownType(d, prov, schemas))
	default:
		body := sch.Block
		switch d.Res.Mode {
		case addr.List:
			sch, body = listResult, ListBody(sch.Block)
		case addr.Action:
			body = ActionBody(sch.Block)
		}
		c.p.bound.schemas[d.ID] = sch
		c.body(n, n.Unit.Defs[d.ID-n.Base], body)
	}
}

var (
	typeTitles = map[addr.Mode]string{addr.Managed: "Invalid resource type", addr.Data: "Invalid data source", addr.Ephemeral: "Invalid ephemeral resource", addr.List: "Invalid list resource", addr.Action: "Invalid action type"}
	typeNouns  = map[addr.Mode]string{addr.Managed: "resource type", addr.Data: "data source", addr.Ephemeral: "ephemeral resource", addr.List: "list resource", addr.Action: "action"}
)

// blockOf returns the name of the block type of a mode with an article, for messages, such as `a "data" block`.
func blockOf(m addr.Mode) string {
	article := "a"
	if m == addr.Ephemeral || m == addr.Action {
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
		c.error(diag.Errorf("Failed to load plugin schemas", "The schema of the configuration of provider %s is invalid: %s.\n\nThis is a bug in the provider. Report it to its developers.", d.Provider.Provider.ForDisplay(), err).At(d.Range))
		return
	}
	c.p.bound.schemas[d.ID] = schemas.Config
	if n := c.p.at[d.ID]; n != nil {
		c.body(n, n.Unit.Defs[d.ID-n.Base], schemas.Config.Block)
	}
}

// body compiles the body of a declaration, unless that was done before.
func (c *binder) body(n *Node, d *Def, sch *schema.Block) {
	if c.p.bound.bodies[d] == nil {
		c.p.bound.bodies[d] = c.compile(n, d, d.Body, sch)
	}
}

func (c *binder) compile(n *Node, d *Def, raw *RawBody, sch *schema.Block) *expr.Body {
	bc := &bodyCompiler{c: &compiler{u: n.Unit, n: n, bag: c.bag, d: d, discard: true}, bag: c.bag, ok: true, incomplete: c.incomplete && d.Src.Res != nil}
	bc.beside(raw, d)
	out := bc.compile(raw, sch)
	if !bc.ok || bc.c.failed {
		c.ok = false
		c.p.bound.flawed[d] = true
	}
	return out
}

// unit checks the parts of a module that are the same for all calls of the module: references to attributes, function
// calls and provider_meta blocks. It ignores the provider_meta block for a provider that no resource of the module
// uses.
func (c *binder) unit(n *Node) {
	for i := range n.Unit.Paths {
		if !n.Unit.Paths[i].Tried {
			c.path(n, &n.Unit.Paths[i])
		}
	}
	c.functions(n)
	for _, local := range slices.Sorted(maps.Keys(n.Unit.metas)) {
		if !n.Unit.Module.HasResourcesOf(local) {
			continue // no resource of the module uses the provider, so it is not started
		}
		schemas := c.s(n.Config.Provider(local))
		switch {
		case schemas == nil:
		case schemas.Meta == nil:
			c.error(diag.Errorf("Provider doesn't support provider_meta", "The provider %s does not support provider_meta. Remove the block.", n.Config.Provider(local).ForDisplay()).At(n.Unit.Module.Meta[local].Range))
		default:
			c.meta(n, n.Config.Provider(local), n.Unit.metas[local], schemas.Meta.Block)
		}
	}
}

// meta evaluates a provider_meta block. The block contains only constants, so no module instance is needed.
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
