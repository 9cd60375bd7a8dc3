package lang

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Schemas gives what providers describe.
type Schemas interface {
	Of(p addr.Provider) *provider.Schemas // nil: not available, which was reported
}

// CheckOptions say how far Check goes.
type CheckOptions struct {
	BodiesOnly bool    // compile the bodies and nothing more: the configuration was checked before
	Incomplete bool    // resources may lack arguments
	Options    Options // directories, callers of functions, limits; the rest is not used
}

// checked is what Check found out.
type checked struct {
	schemas []*schema.Schema // by declaration
	bodies  map[*decl]*body
	metas   map[metaKey]cty.Value
	tops    map[*unit]*node // the first node of each unit
	flawed  map[*decl]bool  // bodies that do not fit their schemas
}

// Check holds the program against the schemas of its providers. Bodies are compiled, once for each
// module however often it is called, and what can be found wrong without any value is reported:
// arguments and blocks that are missing or not supported, attributes that do not exist, values of
// the wrong type, ephemeral values where they would be kept. Whatever is not written out is unknown.
// It may be called after Compile failed, to have all there is to report. Of what needs itself only the
// bodies are looked at.
func (p *Program) Check(s Schemas, o CheckOptions, bag *diag.Bag) bool {
	p.checked = &checked{schemas: make([]*schema.Schema, len(p.decls)), bodies: map[*decl]*body{}, metas: map[metaKey]cty.Value{}, tops: map[*unit]*node{}, flawed: map[*decl]bool{}}
	c := &checker{p: p, s: s, bag: bag, ok: true, incomplete: o.Incomplete}
	for _, d := range p.decls {
		switch d.Kind {
		case Resource:
			c.resource(d)
		case Provider:
			c.provider(d)
		}
	}
	c.eachUnit(p.root, c.unit)
	c.configured()
	if o.BodiesOnly {
		return c.ok
	}
	c.evaluate(o.Options)
	c.writeOnlyOutputs()
	return c.ok
}

// Sound reports whether Check found nothing wrong with the body of a resource or a provider
// configuration, so that it can be evaluated.
func (p *Program) Sound(d Decl) bool {
	if p.checked.schemas[d] == nil || p.endless[d] || p.decls[d].Kind == Resource && p.uses[d] == noDecl {
		return false
	}
	n := p.at[d]
	return n == nil || !p.checked.flawed[n.unit.decls[d-n.base]]
}

// checker is one run of Check.
type checker struct {
	p   *Program
	s   Schemas
	bag *diag.Bag
	ok  bool

	incomplete bool
}

func (c *checker) error(d diag.Diagnostic) {
	c.bag.Add(d)
	c.ok = false
}

// eachUnit visits every unit once, at the first node it stands at.
func (c *checker) eachUnit(n *node, f func(*node)) {
	seen := map[*unit]bool{}
	var visit func(*node)
	visit = func(n *node) {
		if !seen[n.unit] {
			seen[n.unit] = true
			f(n)
		}
		for _, child := range n.children {
			if child != nil {
				visit(child)
			}
		}
	}
	visit(n)
}

// schemasOf gives a provider's schemas; nil if there are none, which was reported.
func (c *checker) schemasOf(prov addr.Provider) *provider.Schemas {
	s := c.s.Of(prov)
	c.ok = c.ok && s != nil
	return s
}

func (c *checker) resource(d *Declaration) {
	n := c.p.at[d.ID]
	prov := n.cfg.Provider(d.Res.LocalProvider().Local)
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
		c.p.checked.schemas[d.ID] = sch
		u := n.unit.decls[d.ID-n.base]
		if c.p.checked.bodies[u] == nil {
			c.ignored(d, sch)
		}
		c.body(n, u, sch.Block)
	}
}

// ignored holds ignore_changes against the schema: what is not there cannot be ignored, what only
// the provider decides is never changed by the configuration, and what is write-only has no value
// that could have changed.
func (c *checker) ignored(d *Declaration, sch *schema.Schema) {
	for _, t := range d.Res.Lifecycle.Ignore {
		name, rest, ok := attribute(t)
		if !ok {
			name, rest = t.RootName(), t[1:]
		}
		switch a := sch.Attr(name); {
		case a == nil && sch.Nested(name) == nil:
			c.error(diag.Errorf("Unsupported attribute", "This object has no argument, nested block, or exported attribute named %q.%s", name, didYouMean(name, allNames(sch.Block))).At(t.SourceRange()))
		case a != nil && len(rest) == 0 && a.Computed && !a.Optional:
			c.bag.Add(diag.Warningf("Redundant ignore_changes element", "Adding an attribute name to ignore_changes tells Lethe to ignore future changes to the argument in configuration after the object has been created, retaining the value originally configured.\n\nThe attribute %s is decided by the provider alone and therefore there can be no configured value to compare with. Including this attribute in ignore_changes has no effect. Remove the attribute from ignore_changes to quiet this warning.", name).At(t.SourceRange()))
		case sch.IsWriteOnly(Path(t)):
			c.bag.Add(diag.Warningf("Redundant ignore_changes element", "The argument %s is write-only: its value is not kept, so that there is none to compare with, and it is sent again only when another argument, such as its version, says so. Including it in ignore_changes has no effect. Remove it from ignore_changes to quiet this warning.", mark.PathString(Path(t))).At(t.SourceRange()))
		}
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
		hint = didYouMean(d.Res.Type, s.Types(mode))
	}
	return diag.Errorf(typeTitles[mode], "The provider %s does not support %s %q.%s", prov.ForDisplay(), typeNouns[mode], d.Res.Type, hint).At(d.Res.TypeRange)
}

func (c *checker) provider(d *Declaration) {
	schemas := c.schemasOf(d.Provider.Provider)
	if schemas == nil || schemas.Config == nil {
		return
	}
	if err := schemas.UsableConfig(); err != nil {
		c.error(diag.Errorf("Failed to load plugin schemas", "The schema of the settings of provider %s cannot be used: %s.\n\nThis is a bug in the provider, to be reported there.", d.Provider.Provider.ForDisplay(), err).At(d.Range))
		return
	}
	c.p.checked.schemas[d.ID] = schemas.Config
	if n := c.p.at[d.ID]; n != nil {
		c.body(n, n.unit.decls[d.ID-n.base], schemas.Config.Block)
	}
}

// body compiles a declaration's body once.
func (c *checker) body(n *node, d *decl, sch *schema.Block) {
	if c.p.checked.bodies[d] == nil {
		c.p.checked.bodies[d] = c.compile(n, d, d.body, sch)
	}
}

func (c *checker) compile(n *node, d *decl, raw *rawBody, sch *schema.Block) *body {
	bc := &bodyCompiler{c: &compiler{u: n.unit, n: n, bag: c.bag, d: d, quiet: true}, bag: c.bag, ok: true, incomplete: c.incomplete && d.res != nil}
	bc.beside(raw, d)
	out := bc.compile(raw, sch)
	if !bc.ok || bc.c.failed {
		c.ok = false
		c.p.checked.flawed[d] = true
	}
	return out
}

// unit checks what stands once in a module's text.
func (c *checker) unit(n *node) {
	c.p.checked.tops[n.unit] = n
	for i := range n.unit.paths {
		c.path(n, &n.unit.paths[i])
	}
	c.functions(n)
	for _, local := range sorted(n.unit.metas) {
		schemas := c.s.Of(n.cfg.Provider(local))
		switch {
		case schemas == nil:
		case schemas.Meta == nil:
			c.error(diag.Errorf("Provider doesn't support provider_meta", "The provider %s takes no per-module metadata, so there can be no provider_meta block for it.", n.cfg.Provider(local).ForDisplay()).At(n.unit.mod.Meta[local].Range))
		default:
			c.meta(n, n.cfg.Provider(local), n.unit.metas[local], schemas.Meta.Block)
		}
	}
}
