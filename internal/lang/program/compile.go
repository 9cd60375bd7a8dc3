package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
)

// Compile gives a configuration its meaning, as far as that needs no schema: every reference is
// found and resolved, names that are not declared are reported, and every resource finds its provider
// configuration.
//
// It works in three passes: the units (each module once, however often it is called), the nodes
// (each place in the tree gets its range of declarations), and the references between
// declarations.
func Compile(tree *config.Tree, bag *diag.Bag) (*Program, bool) {
	p := &Program{
		tree: tree, units: map[*config.Module]*Unit{}, nodes: map[addr.Module]*Node{},
		resources: map[addr.Resource]Decl{}, configs: map[addr.ProviderConfig]Decl{}, keyed: map[Decl]PassedKey{},
	}
	ok := true
	p.root = p.place(tree.Root, nil, 0, bag, &ok)
	ok = p.resolveProviders(bag) && ok
	ok = p.link(bag) && ok
	return p, ok
}

// place makes the node of a module and of all below it.
func (p *Program) place(n *config.Node, parent *Node, call int32, bag *diag.Bag, ok *bool) *Node {
	out := &Node{Config: n, Parent: parent, Call: call, Base: Decl(len(p.decls))}
	p.nodes[n.Path] = out
	out.Unit = p.units[n.Module]
	if out.Unit == nil {
		out.Unit = NewUnit(n.Module)
		p.units[n.Module] = out.Unit
		c := &compiler{u: out.Unit, n: out, bag: bag}
		c.unit()
		*ok = *ok && !c.failed
	}
	for _, d := range out.Unit.Defs {
		p.declare(out, d)
	}
	out.Children = make([]*Node, len(out.Unit.Calls))
	for i, ci := range out.Unit.Calls {
		if child := n.Children[out.Unit.Defs[ci].Name]; child != nil {
			out.Children[i] = p.place(child, out, ci, bag, ok)
		}
	}
	return out
}

func (p *Program) declare(n *Node, d *Def) {
	out := &Declaration{
		ID: Decl(len(p.decls)), Kind: d.Kind, Module: n.Config.Path, Name: d.Name, Range: d.At,
		Var: d.Var, Out: d.Out, Mod: d.Mod, Res: d.Res, Prov: d.Prov,
	}
	switch d.Kind {
	case Resource:
		out.Resource = d.Res.In(n.Config.Path)
		p.resources[out.Resource] = out.ID
	case Provider:
		out.Provider = addr.ProviderConfig{Module: n.Config.Path, Provider: n.Config.Provider(d.Prov.Local), Alias: d.Prov.Alias}
		p.configs[out.Provider] = out.ID
	}
	p.decls = append(p.decls, out)
	p.at = append(p.at, n)
}

// unit compiles all declarations.
func (c *compiler) unit() {
	for _, d := range c.u.Defs {
		c.d, c.check = d, ""
		switch d.Kind {
		case Variable:
			c.conditions(d, Validation, AllowedRefs{}, ByCondition, d.Var.Validations)
		case Local:
			d.Value = c.in(ByValue, AllowedRefs{}).expr(d.Loc.Expr)
		case Output:
			if d.Value = c.in(ByValue, AllowedRefs{}).optional(d.Out.Expr); d.Value == nil {
				d.Value = expr.UnknownAt(d.At) // that it is missing was said when the block was read
			}
			c.conditions(d, OutputPre, AllowedRefs{}, ByCondition, d.Out.Preconditions)
			c.dependsOn(d.Out.DependsOn)
		case Call:
			c.call(d)
		case Resource:
			c.check = d.Res.Check
			c.resource(d)
		case Provider:
			c.provider(d)
		case Check:
			c.check = d.Name
			c.checkBlock(d)
		}
		d.seen = nil
	}
	c.moduleLevel()
	c.u.constants()
}

// repetition compiles count, for_each or enabled.
func (c *compiler) repetition(d *Def) {
	r := c.in(ByRepeat, AllowedRefs{})
	switch {
	case d.Repeat.Count != nil:
		d.Repetition = r.expr(d.Repeat.Count)
	case d.Repeat.ForEach != nil:
		d.Repetition = r.expr(d.Repeat.ForEach)
	case d.Repeat.Enabled != nil:
		d.Repetition = r.expr(d.Repeat.Enabled)
	}
}

func (c *compiler) call(d *Def) {
	c.repetition(d)
	c.dependsOn(d.Mod.DependsOn)
	pl := c.inside(d.Repeat)
	d.Args = c.arguments(d.Mod.Body, pl)
	for _, passed := range d.Mod.Providers {
		d.PassedKeys = append(d.PassedKeys, c.in(ByProvider, pl).optional(passed.Parent.Key))
	}
}

// arguments compiles the inputs of a call, each with the references it makes.
func (c *compiler) arguments(b hcl.Body, pl AllowedRefs) map[string]*argument {
	out := map[string]*argument{}
	for _, a := range inputs(b, c) {
		arg := &argument{rawAttr: rawAttr{Name: a.Name, NameAt: a.NameRange, at: a.Range}}
		c.arg = arg
		arg.source = Native(a.Expr)
		arg.Expr = c.in(ByValue, pl).node(arg.source)
		c.arg = nil
		out[a.Name] = arg
	}
	return out
}

func (c *compiler) resource(d *Def) {
	res := d.Res
	c.repetition(d)
	c.dependsOn(res.DependsOn)
	pl := c.inside(d.Repeat)
	d.Body = c.in(ByValue, pl).body(res.Body)
	if res.Provider != nil {
		d.ProviderKey = c.in(ByProvider, pl).optional(res.Provider.Key)
	}
	life := &res.Lifecycle
	c.conditions(d, Pre, pl, ByCondition, life.Preconditions)
	post := pl
	post.Self = true
	c.conditions(d, Post, post, ByCondition, life.Postconditions)
	d.PreventDestroy = c.in(ByLifecycle, AllowedRefs{}).optional(life.PreventDestroy)
	d.Destroy = c.in(ByLifecycle, AllowedRefs{}).optional(life.Destroy)
	c.triggers(d, pl)
	c.provisioners(d, post)
}

func (c *compiler) provisioners(d *Def, pl AllowedRefs) {
	d.Bodies = map[any]*RawBody{}
	r := c.in(ByProvision, pl)
	d.parts = map[any][]use{}
	compile := func(of any, b hcl.Body) {
		var uses []use
		c.part = &uses
		d.Bodies[of] = r.body(b)
		d.parts[of], c.part = uses, nil
	}
	connection := func(conn *config.Connection) {
		if conn != nil {
			compile(conn, conn.Body)
		}
	}
	connection(d.Res.Connection)
	for _, p := range d.Res.Provisioners {
		compile(p, p.Body)
		connection(p.Connection)
	}
}

func (c *compiler) provider(d *Def) {
	c.repetition(d)
	d.Body = c.in(ByValue, c.inside(d.Repeat)).body(d.Prov.Body)
}

func (c *compiler) checkBlock(d *Def) {
	c.conditions(d, Assert, AllowedRefs{}, ByCondition, d.Chk.Asserts)
	for _, n := range d.Chk.Scoped {
		if i, ok := c.u.resources[n]; ok {
			c.record(use{local: i, why: ByDepends, hint: AllKeys, at: d.At})
		}
	}
}

func (c *compiler) conditions(d *Def, when When, pl AllowedRefs, why Use, list []*config.Condition) {
	for _, cond := range list {
		r := c.in(why, pl)
		d.Conditions[when] = append(d.Conditions[when], &Condition{Condition: cond, Test: r.expr(cond.Condition), Message: r.optional(cond.Message)})
	}
}

// moduleLevel compiles what belongs to no declaration.
func (c *compiler) moduleLevel() {
	for local, m := range c.u.Module.Meta {
		c.d = &Def{}
		c.u.metas[local] = c.in(ByValue, AllowedRefs{}).body(m.Body)
	}
	for _, im := range c.u.Module.Imports {
		c.importBlock(im)
	}
}

// dependsOn resolves whole objects.
func (c *compiler) dependsOn(list []hcl.Traversal) {
	for _, t := range list {
		e := &expr.Ref{ScopeTraversalExpr: &hclsyntax.ScopeTraversalExpr{Traversal: t, SrcRange: t.SourceRange()}}
		r := c.in(ByDepends, AllowedRefs{})
		target, ok := r.resolve(e.ScopeTraversalExpr)
		if !ok {
			continue
		}
		if !r.allowed(target) {
			continue
		}
		if len(target.Rest) > 0 {
			c.error("Invalid depends_on reference", "References in depends_on must be to a whole object (resource, etc), not to an attribute of an object. Remove the attribute.", target.Rest.SourceRange())
			continue
		}
		u := instancesOf(target)
		u.local, u.why, u.at = target.Local, ByDepends, t.SourceRange()
		switch target.Root {
		case expr.RootResource, expr.RootVariable, expr.RootLocal:
			if c.u.Defs[u.local] == c.d {
				c.bag.Add(diag.Warningf("Self-referential block", "This block refers to itself in depends_on. A block cannot wait for itself, so the reference has no effect. Remove it.").At(t.SourceRange()))
				continue
			}
		case expr.RootCall:
			if u.output = target.Output; u.output == "" {
				u.local = target.Local + int32(len(c.u.Calls))
			}
		default:
			continue // path and the like: nothing to wait for
		}
		c.record(u)
	}
}

// inputs lists the arguments of a module call, those of an escape block included.
func inputs(b hcl.Body, c *compiler) []*hcl.Attribute {
	if b == nil {
		return nil
	}
	content, rest, _ := b.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "_"}}})
	attrs, diags := rest.JustAttributes()
	c.hcl(diags)
	all := inOrder(attrs)
	for _, block := range content.Blocks {
		more, diags := block.Body.JustAttributes()
		c.hcl(diags)
		all = append(all, inOrder(more)...)
	}
	return all
}
