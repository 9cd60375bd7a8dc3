package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
)

// Compile compiles a configuration as far as that is possible without schemas. It resolves every reference, reports
// names that are not declared, and finds the provider configuration of every resource. If Compile reports an error, it
// returns false, and also the program, which can still be bound (Program.Bind).
//
// Compile works in three passes. The first makes the units (each module once, however often it is called) and the nodes
// (the places of modules in the tree, each with a range of declarations). The second finds the provider configurations.
// The third makes the references between declarations.
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

// place creates the nodes of a module and of all modules below it, and compiles each module once. After an error in a
// module, it sets *ok to false. call is the index of the module call in the parent.
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
		Var: d.Src.Var, Out: d.Src.Out, Mod: d.Src.Mod, Res: d.Src.Res, Prov: d.Src.Prov,
	}
	switch d.Kind {
	case Resource, Action:
		if amended := n.Config.Amended[d.Src.Res.Name]; amended != nil && d.Kind == Resource {
			out.Res = amended
		}
		out.Resource = d.Src.Res.In(n.Config.Path)
		p.resources[out.Resource] = out.ID
	case Provider:
		out.Provider = addr.ProviderConfig{Module: n.Config.Path, Provider: n.Config.Provider(d.Src.Prov.Local), Alias: d.Src.Prov.Alias}
		p.configs[out.Provider] = out.ID
	}
	p.decls = append(p.decls, out)
	p.at = append(p.at, n)
}

// unit compiles all declarations of the module, and then the blocks of the module that belong to no declaration.
func (c *compiler) unit() {
	for _, d := range c.u.Defs {
		c.d, c.check = d, ""
		switch d.Kind {
		case Variable:
			c.conditions(d, Validation, AllowedRefs{}, ByCondition, d.Src.Var.Validations)
		case Local:
			d.Value = c.in(ByValue, AllowedRefs{}).expr(d.Src.Loc.Expr)
		case Output:
			if d.Value = c.in(ByValue, AllowedRefs{}).optional(d.Src.Out.Expr); d.Value == nil {
				d.Value = expr.UnknownAt(d.At) // the missing value was reported when the block was read
			}
			c.conditions(d, OutputPre, AllowedRefs{}, ByCondition, d.Src.Out.Preconditions)
			c.dependsOn(d.Src.Out.DependsOn)
		case Call:
			c.call(d)
		case Resource:
			c.check = d.Src.Res.Check
			c.resource(d)
		case Action:
			c.action(d)
		case Provider:
			c.provider(d)
		case Check:
			c.check = d.Name
			c.checkBlock(d)
		}
		d.refs.seen = nil
	}
	c.actionTriggers()
	c.moduleLevel()
	c.u.constants()
}

// repetition compiles count, for_each or enabled of a declaration, if it has one of them.
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
	c.dependsOn(d.Src.Mod.DependsOn)
	pl := c.inside(d.Repeat)
	d.Inputs.Args = c.arguments(d.Src.Mod.Body, pl)
	for _, e := range []hcl.Expression{d.Src.Mod.PreventDestroy, d.Src.Mod.CreateFirst} { // these arguments are evaluated before a program exists
		c.in(ByLifecycle, AllowedRefs{}).optional(e)
	}
	for _, passed := range d.Src.Mod.Providers {
		d.Inputs.PassedKeys = append(d.Inputs.PassedKeys, c.in(ByProvider, pl).optional(passed.Parent.Key))
	}
}

// arguments compiles the arguments of a module call. Each argument has its own list of references.
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
	res := d.Src.Res
	c.repetition(d)
	c.dependsOn(res.DependsOn)
	pl := c.inside(d.Repeat)
	d.Body = bodyRewriter{c.in(ByValue, pl)}.body(res.Body)
	if res.Provider != nil {
		d.ProviderKey = c.in(ByProvider, pl).optional(res.Provider.Key)
	}
	life := &res.Lifecycle
	c.conditions(d, Pre, pl, ByCondition, life.Preconditions)
	post := pl
	post.Self = true
	c.conditions(d, Post, post, ByCondition, life.Postconditions)
	d.Lifecycle.PreventDestroy = c.in(ByLifecycle, pl).optional(life.PreventDestroy)
	d.Lifecycle.Destroy = c.in(ByLifecycle, pl).optional(life.Destroy)
	for _, e := range []hcl.Expression{life.FirstIf, life.IgnoreIf} { // these arguments are evaluated before a program exists
		c.in(ByLifecycle, AllowedRefs{}).optional(e)
	}
	c.triggers(d, pl)
	c.provisioners(d, post)
}

func (c *compiler) provisioners(d *Def, pl AllowedRefs) {
	d.Bodies = map[any]*RawBody{}
	r := c.in(ByProvision, pl)
	d.refs.parts = map[any][]use{}
	compile := func(of any, b hcl.Body) {
		var uses []use
		c.part = &uses
		d.Bodies[of] = bodyRewriter{r}.body(b)
		d.refs.parts[of], c.part = uses, nil
	}
	connection := func(conn *config.Connection) {
		if conn != nil {
			compile(conn, conn.Body)
		}
	}
	connection(d.Src.Res.Connection)
	for _, p := range d.Src.Res.Provisioners {
		compile(p, p.Body)
		connection(p.Connection)
	}
}

func (c *compiler) provider(d *Def) {
	c.repetition(d)
	d.Body = bodyRewriter{c.in(ByValue, c.inside(d.Repeat))}.body(d.Src.Prov.Body)
}

// action compiles an action block. The symbol caller means the object whose change invokes the action; the compiler
// treats caller as self.
func (c *compiler) action(d *Def) {
	c.repetition(d)
	pl := c.inside(d.Repeat)
	called := pl
	called.Self = true
	d.Body = bodyRewriter{c.in(ByValue, called)}.body(d.Src.Res.Body)
	if d.Src.Res.Provider != nil {
		d.ProviderKey = c.in(ByProvider, pl).optional(d.Src.Res.Provider.Key)
	}
}

func (c *compiler) checkBlock(d *Def) {
	c.conditions(d, Assert, AllowedRefs{}, ByCondition, d.Src.Chk.Asserts)
	for _, n := range d.Src.Chk.Scoped {
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

// moduleLevel compiles the blocks that belong to no declaration: provider_meta and import blocks.
func (c *compiler) moduleLevel() {
	for local, m := range c.u.Module.Meta {
		c.d = &Def{}
		c.u.metas[local] = bodyRewriter{c.in(ByValue, AllowedRefs{})}.body(m.Body)
	}
	for _, im := range c.u.Module.Imports {
		c.importBlock(im)
	}
	for _, r := range c.u.Module.Removed {
		c.removed(r)
	}
}

// removed checks the provisioners of a removed block and records their references. Their bodies are compiled again when
// they run, because they belong to no declaration.
func (c *compiler) removed(r *config.Removed) {
	c.d = &Def{Kind: Resource}
	body := func(b hcl.Body) {
		bodyRewriter{c.in(ByProvision, AllowedRefs{Count: true, Each: true, Keys: true, Self: true})}.body(b)
	}
	if r.Connection != nil {
		body(r.Connection.Body)
	}
	for _, p := range r.Provisioners {
		if body(p.Body); p.Connection != nil {
			body(p.Connection.Body)
		}
	}
	c.u.removed = append(c.u.removed, c.d.refs.uses...)
}

// dependsOn records the references of a depends_on argument. Each entry must name a whole object; for an attribute of
// an object, dependsOn reports an error. For an entry that names the block itself, it warns and records no reference.
// It ignores entries for which nothing needs to wait, such as path.root.
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
			c.error("Invalid depends_on reference", "References in depends_on must name a whole object, such as a resource, not an attribute. Remove the attribute.", target.Rest.SourceRange())
			continue
		}
		if target.HasKey && !r.keyed(target) {
			continue
		}
		u := instancesOf(target)
		u.local, u.why, u.at = target.Local, ByDepends, t.SourceRange()
		switch target.Root {
		case expr.RootResource, expr.RootVariable, expr.RootLocal:
			if c.u.Defs[u.local] == c.d {
				c.bag.Add(diag.Warningf("Self-referential block", "This block refers to itself in depends_on, which has no effect. Remove the reference.").At(t.SourceRange()))
				continue
			}
		case expr.RootCall:
			if u.output = target.Output; u.output == "" {
				u.local = target.Local + int32(len(c.u.Calls))
			}
		default:
			continue // such as path.root, for which nothing needs to wait
		}
		c.record(u)
	}
}

// inputs returns the arguments of a module call, including the arguments in its escape blocks "_".
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
