package lang

import (
	"cmp"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// compileTree gives a configuration its meaning, as far as that needs no schema: every reference is
// found and resolved, names that are not declared are reported, and every resource finds its provider
// configuration.
//
// It works in three passes: the units (each module once, however often it is called), the nodes
// (each place in the tree gets its range of declarations), and the references between
// declarations.
func compileTree(tree *config.Tree, bag *diag.Bag) (*Program, bool) {
	p := &Program{
		tree: tree, units: map[*config.Module]*unit{}, nodes: map[addr.Module]*node{},
		resources: map[addr.Resource]Decl{}, configs: map[addr.ProviderConfig]Decl{}, keyed: map[Decl]keyedEntry{},
	}
	ok := true
	p.root = p.place(tree.Root, nil, 0, bag, &ok)
	ok = p.resolveProviders(bag) && ok
	ok = p.link(bag) && ok
	return p, ok
}

// place makes the node of a module and of all below it.
func (p *Program) place(n *config.Node, parent *node, call int32, bag *diag.Bag, ok *bool) *node {
	out := &node{cfg: n, parent: parent, call: call, base: Decl(len(p.decls))}
	p.nodes[n.Path] = out
	out.unit = p.units[n.Module]
	if out.unit == nil {
		out.unit = newUnit(n.Module)
		p.units[n.Module] = out.unit
		c := &compiler{u: out.unit, n: out, bag: bag}
		c.unit()
		*ok = *ok && !c.failed
	}
	for _, d := range out.unit.decls {
		p.declare(out, d)
	}
	out.children = make([]*node, len(out.unit.calls))
	for i, ci := range out.unit.calls {
		if child := n.Children[out.unit.decls[ci].name]; child != nil {
			out.children[i] = p.place(child, out, ci, bag, ok)
		}
	}
	return out
}

func (p *Program) declare(n *node, d *decl) {
	out := &Declaration{
		ID: Decl(len(p.decls)), Kind: d.kind, Module: n.cfg.Path, Name: d.name, Node: n.cfg, Range: d.at,
		Var: d.vr, Loc: d.loc, Out: d.out, Mod: d.mod, Res: d.res, Prov: d.prov, Chk: d.chk,
	}
	switch d.kind {
	case Resource:
		out.Resource = d.res.In(n.cfg.Path)
		p.resources[out.Resource] = out.ID
	case Provider:
		out.Provider = addr.ProviderConfig{Module: n.cfg.Path, Provider: n.cfg.Provider(d.prov.Local), Alias: d.prov.Alias}
		p.configs[out.Provider] = out.ID
	}
	p.decls = append(p.decls, out)
	p.at = append(p.at, n)
}

// compiler compiles one unit. Its diagnostics name the first node that the unit stands at.
type compiler struct {
	u      *unit
	n      *node
	bag    *diag.Bag
	d      *decl
	arg    *argument // set while an argument of a call is compiled
	check  string    // the check block being compiled
	part   *[]use    // set while a part of a declaration is compiled that has references of its own
	static string    // what is evaluated statically and needs this; "" otherwise
	failed bool
	quiet  bool // what is compiled was compiled before: neither record nor report
}

// unit compiles all declarations.
func (c *compiler) unit() {
	for _, d := range c.u.decls {
		c.d, c.check = d, ""
		switch d.kind {
		case Variable:
			c.conditions(d, Validation, place{}, ByCondition, d.vr.Validations)
		case Local:
			d.value = c.in(ByValue, place{}).expr(d.loc.Expr)
		case Output:
			if d.value = c.in(ByValue, place{}).optional(d.out.Expr); d.value == nil {
				d.value = unknownAt(d.at) // that it is missing was said when the block was read
			}
			c.conditions(d, OutputPre, place{}, ByCondition, d.out.Preconditions)
			c.dependsOn(d.out.DependsOn)
		case Call:
			c.call(d)
		case Resource:
			c.check = d.res.Check
			c.resource(d)
		case Provider:
			c.provider(d)
		case Check:
			c.check = d.name
			c.checkBlock(d)
		}
		d.seen = nil
	}
	c.moduleLevel()
	c.u.constants()
}

func (c *compiler) in(why Use, pl place) *rewriter { return &rewriter{c: c, why: why, place: pl} }

func (r *rewriter) optional(e hcl.Expression) hclsyntax.Expression {
	if e == nil {
		return nil
	}
	return r.expr(e)
}

// record notes a reference of the declaration being compiled, once for each target and key.
func (c *compiler) record(u use) {
	if c.quiet || c.d.kind == Variable && u.local == c.d.index && c.arg == nil {
		return // a validation is about the variable's own value, which it does not make
	}
	if u.output != "" {
		c.u.outputUses = append(c.u.outputUses, outputUse{of: u.local, name: u.output, at: u.at})
	}
	if c.arg != nil {
		c.arg.uses = append(c.arg.uses, u)
		return
	}
	if c.part != nil {
		*c.part = append(*c.part, u)
	}
	id := u
	id.why, id.at = 0, diag.Range{}
	if i, ok := c.d.seen[id]; ok {
		c.d.uses[i].why |= u.why
		return
	}
	if c.d.seen == nil {
		c.d.seen = map[use]int{}
	}
	c.d.seen[id] = len(c.d.uses)
	c.d.uses = append(c.d.uses, u)
}

// inside is where the body of a repeated block stands.
func (c *compiler) inside(rep config.Repeat) place {
	return place{count: rep.Count != nil, each: rep.ForEach != nil}
}

// repetition compiles count, for_each or enabled.
func (c *compiler) repetition(d *decl) {
	r := c.in(ByRepeat, place{})
	switch {
	case d.repeat.Count != nil:
		d.rep = r.expr(d.repeat.Count)
	case d.repeat.ForEach != nil:
		d.rep = r.expr(d.repeat.ForEach)
	case d.repeat.Enabled != nil:
		d.rep = r.expr(d.repeat.Enabled)
	}
}

func (c *compiler) call(d *decl) {
	c.repetition(d)
	c.dependsOn(d.mod.DependsOn)
	pl := c.inside(d.repeat)
	d.args = c.arguments(d.mod.Body, pl)
	for _, passed := range d.mod.Providers {
		d.passed = append(d.passed, c.in(ByProvider, pl).optional(passed.Parent.Key))
	}
}

// arguments compiles the inputs of a call, each with the references it makes.
func (c *compiler) arguments(b hcl.Body, pl place) map[string]*argument {
	out := map[string]*argument{}
	for _, a := range inputs(b, c) {
		arg := &argument{rawAttr: rawAttr{name: a.Name, nameAt: a.NameRange, at: a.Range}}
		c.arg = arg
		arg.source = native(a.Expr)
		arg.expr = c.in(ByValue, pl).node(arg.source)
		c.arg = nil
		out[a.Name] = arg
	}
	return out
}

func (c *compiler) resource(d *decl) {
	res := d.res
	c.repetition(d)
	c.dependsOn(res.DependsOn)
	pl := c.inside(d.repeat)
	d.body = c.in(ByValue, pl).body(res.Body)
	if res.Provider != nil {
		d.provKey = c.in(ByProvider, pl).optional(res.Provider.Key)
	}
	life := &res.Lifecycle
	c.conditions(d, Pre, pl, ByCondition, life.Preconditions)
	post := pl
	post.self = true
	c.conditions(d, Post, post, ByCondition, life.Postconditions)
	d.prevent = c.in(ByLifecycle, place{}).optional(life.PreventDestroy)
	d.destroy = c.in(ByLifecycle, place{}).optional(life.Destroy)
	c.triggers(d, pl)
	c.provisioners(d, post)
}

func (c *compiler) provisioners(d *decl, pl place) {
	d.bodies = map[any]*rawBody{}
	r := c.in(ByProvision, pl)
	d.parts = map[any][]use{}
	compile := func(of any, b hcl.Body) {
		var uses []use
		c.part = &uses
		d.bodies[of] = r.body(b)
		d.parts[of], c.part = uses, nil
	}
	connection := func(conn *config.Connection) {
		if conn != nil {
			compile(conn, conn.Body)
		}
	}
	connection(d.res.Connection)
	for _, p := range d.res.Provisioners {
		compile(p, p.Body)
		connection(p.Connection)
	}
}

func (c *compiler) provider(d *decl) {
	c.repetition(d)
	d.body = c.in(ByValue, c.inside(d.repeat)).body(d.prov.Body)
}

func (c *compiler) checkBlock(d *decl) {
	c.conditions(d, Assert, place{}, ByCondition, d.chk.Asserts)
	for _, n := range d.chk.Scoped {
		if i, ok := c.u.resources[n]; ok {
			c.record(use{local: i, why: ByDepends, hint: AllKeys, at: d.at})
		}
	}
}

func (c *compiler) conditions(d *decl, when When, pl place, why Use, list []*config.Condition) {
	for _, cond := range list {
		r := c.in(why, pl)
		d.conds[when] = append(d.conds[when], &condition{Condition: cond, test: r.expr(cond.Condition), message: r.optional(cond.Message)})
	}
}

// moduleLevel compiles what belongs to no declaration.
func (c *compiler) moduleLevel() {
	for local, m := range c.u.mod.Meta {
		c.d = &decl{}
		c.u.metas[local] = c.in(ByValue, place{}).body(m.Body)
	}
	for _, im := range c.u.mod.Imports {
		c.importBlock(im)
	}
}

// dependsOn resolves whole objects.
func (c *compiler) dependsOn(list []hcl.Traversal) {
	for _, t := range list {
		e := &ref{ScopeTraversalExpr: &hclsyntax.ScopeTraversalExpr{Traversal: t, SrcRange: t.SourceRange()}}
		r := c.in(ByDepends, place{})
		target, ok := r.resolve(e.ScopeTraversalExpr)
		if !ok {
			continue
		}
		if len(target.rest) > 0 {
			c.error("Invalid depends_on reference", "References in depends_on must be to a whole object (resource, etc), not to an attribute of an object.", t.SourceRange())
			continue
		}
		u := use{local: target.local, why: ByDepends, hint: AllKeys, at: t.SourceRange()}
		switch target.root {
		case rootResource, rootVariable, rootLocal:
			if c.u.decls[u.local] == c.d {
				c.bag.Add(diag.Warningf("Self-referential block", "A block cannot wait for itself: this reference in depends_on to the block that it stands in means nothing.").At(t.SourceRange()))
				continue
			}
		case rootCall:
			if u.output = target.output; u.output == "" {
				u.local = c.u.whole(target.local)
			}
		default:
			continue // path and the like: nothing to wait for
		}
		if !target.repeated {
			u.hint = Single
		} else if target.hasKey {
			u.hint, u.fixed = Fixed, target.key
		}
		c.record(u)
	}
}

func (c *compiler) tooDeep(e hclsyntax.Expression) hclsyntax.Expression {
	c.error("Expression too deeply nested", "The parts of this expression are nested more than 2000 levels deep, which is more than can be evaluated safely.", e.Range())
	return unknownAt(e.Range())
}

func compareNames(a, b config.Name) int {
	return cmp.Or(cmp.Compare(a.Mode, b.Mode), strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}

func compareProviderNames(a, b config.ProviderName) int {
	return cmp.Or(strings.Compare(a.Local, b.Local), strings.Compare(a.Alias, b.Alias))
}
