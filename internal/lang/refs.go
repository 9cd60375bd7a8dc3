package lang

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// use is a reference inside a unit, from whatever declaration holds it.
type use struct {
	local  int32
	output string // of a call: one output; "" for all of it
	why    Use
	hint   KeyHint
	fixed  addr.Key
	at     diag.Range
}

// traversal compiles a name with what follows it.
func (r *rewriter) traversal(e *hclsyntax.ScopeTraversalExpr) hclsyntax.Expression {
	if r.isLocal(e.Traversal.RootName()) {
		if over := r.loopOver(e.Traversal.RootName()); over != nil {
			r.selectsOutput(over, e.Traversal[1:], true)
		}
		return newItem(e)
	}
	ref, ok := r.resolve(e)
	if !ok || !r.allowed(ref) || !r.staticOnly(ref) || !r.keyed(ref) {
		return unknownAt(e.SrcRange)
	}
	if ref.root != rootLocal {
		r.c.varies()
	}
	u := use{hint: AllKeys}
	switch {
	case !ref.repeated:
		u.hint = Single
	case ref.hasKey:
		u.hint, u.fixed = Fixed, ref.key
	}
	r.note(ref, u)
	r.selects(ref, ref.rest)
	if ref.root == rootLocal {
		r.selectsOutput(ref, ref.rest, false)
	}
	return ref
}

// note records that the declaration being compiled refers to what e names.
func (r *rewriter) note(e *ref, u use) {
	switch e.root {
	case rootVariable, rootLocal, rootCall, rootResource:
	default:
		return
	}
	u.local, u.output, u.at = e.local, e.output, e.SrcRange
	u.why |= r.why
	r.c.record(u)
}

// indexable resolves the collection of an index expression if that is a whole declaration which
// can be repeated; nil otherwise.
func (r *rewriter) indexable(e hclsyntax.Expression) *ref {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok || r.isLocal(t.Traversal.RootName()) || !namesWhole(t.Traversal) {
		return nil
	}
	ref, ok := r.resolve(t)
	if !ok || ref.root != rootCall && ref.root != rootResource {
		return nil
	}
	return ref
}

// namesWhole reports whether t is only as long as the name of a resource or a module call.
func namesWhole(t hcl.Traversal) bool {
	switch t.RootName() {
	case "var", "local", "path", "terraform", "tofu", "count", "each", "self":
		return false
	case "data", "ephemeral", "resource":
		return len(t) == 3
	}
	return len(t) == 2
}

// index compiles collection[key]. Of a repeated declaration it selects one instance, without
// building the others.
func (r *rewriter) index(e *hclsyntax.IndexExpr) hclsyntax.Expression {
	n := *e
	n.Key = r.node(e.Key)
	target := r.indexable(e.Collection)
	if target == nil {
		n.Collection = r.node(e.Collection)
		return &indexed{IndexExpr: &n}
	}
	if !r.noteIndexed(target, n.Key, e.SrcRange) {
		return unknownAt(e.SrcRange)
	}
	n.Collection = target
	return &indexed{IndexExpr: &n, target: target}
}

// noteIndexed records a reference to the instance that a key expression selects.
func (r *rewriter) noteIndexed(target *ref, key hclsyntax.Expression, at diag.Range) bool {
	r.c.varies()
	if !target.repeated {
		r.c.unexpectedKey(target, at)
		return false
	}
	u := use{hint: AllKeys}
	if ownKey(key) {
		u.hint = Same
	}
	r.note(target, u)
	return true
}

// relative compiles source.rest. Of one instance of a module it evaluates only the output.
func (r *rewriter) relative(e *hclsyntax.RelativeTraversalExpr) hclsyntax.Expression {
	n := *e
	if ix, ok := e.Source.(*hclsyntax.IndexExpr); ok {
		if target := r.indexable(ix.Collection); target != nil && target.root == rootCall {
			return r.outputOf(target, ix, &n)
		}
	}
	n.Source = r.node(e.Source)
	if ix, ok := n.Source.(*indexed); ok {
		if ix.target != nil {
			r.selects(ix.target, n.Traversal)
		} else if whole, ok := ix.Collection.(*ref); ok && len(whole.rest) == 0 {
			r.selectsOutput(whole, n.Traversal, true)
		}
	}
	return &relative{&n}
}

// outputOf compiles module.c[key].output.rest.
func (r *rewriter) outputOf(target *ref, ix *hclsyntax.IndexExpr, n *hclsyntax.RelativeTraversalExpr) hclsyntax.Expression {
	key := r.node(ix.Key)
	name, rest, ok := attribute(n.Traversal)
	if !ok {
		n.Source = r.node(n.Source)
		return &relative{n}
	}
	target.output, target.rest = name, rest
	if !r.noteIndexed(target, key, n.SrcRange) {
		return unknownAt(n.SrcRange)
	}
	inner := *ix
	inner.Key, inner.Collection = key, target
	n.Source = &inner
	return &selected{RelativeTraversalExpr: n, target: target, key: key, keyAt: ix.BracketRange}
}

// keyed checks that a reference selects an instance where there are several, and does not where
// there are not.
func (r *rewriter) keyed(e *ref) bool {
	switch e.root {
	case rootCall, rootResource:
	default:
		return true
	}
	repeated := e.repeated
	switch {
	case e.hasKey && !repeated:
		r.c.unexpectedKey(e, e.SrcRange)
		return false
	case !e.hasKey && repeated && (len(e.rest) > 0 || e.output != ""):
		return r.missingKey(e)
	}
	return true
}

// resolve finds what a traversal names.
func (r *rewriter) resolve(e *hclsyntax.ScopeTraversalExpr) (*ref, bool) {
	out, ok := r.resolveName(e)
	if ok && (out.root == rootCall || out.root == rootResource) {
		rep := r.c.u.decls[out.local].repeat
		out.repeated = rep.Count != nil || rep.ForEach != nil
	}
	return out, ok
}

func (r *rewriter) resolveName(e *hclsyntax.ScopeTraversalExpr) (*ref, bool) {
	t := e.Traversal
	out := &ref{ScopeTraversalExpr: e}
	switch name := t.RootName(); name {
	case "var":
		return out, r.c.named(out, rootVariable, Variable, t)
	case "local":
		return out, r.c.named(out, rootLocal, Local, t)
	case "module":
		if !r.c.named(out, rootCall, Call, t) {
			return out, false
		}
		return out, r.c.afterCall(out)
	case "data", "ephemeral", "resource":
		mode, _ := addr.ModeOf(name)
		return out, r.c.resourceNamed(out, mode, t[1:], t)
	case "path", "terraform", "tofu", "count", "each":
		return out, r.c.fieldOf(out, name, t)
	case "self":
		out.root, out.rest = rootSelf, t[1:]
		return out, true
	default:
		if reserved[name] {
			r.c.error("Reserved symbol name", `The symbol name "`+name+`" is reserved for use in a future version of the language. If you are using a provider that already uses this as a resource type name, add the prefix "resource." to force interpretation as a resource type name.`, t[0].SourceRange())
			return out, false
		}
		return out, r.c.resourceNamed(out, addr.Managed, t, t)
	}
}

// named resolves var.x, local.x and module.x.
func (c *compiler) named(e *ref, kind root, k Kind, t hcl.Traversal) bool {
	symbol := t.RootName()
	if len(t) < 2 {
		c.error("Invalid reference", `The "`+symbol+`" object cannot be accessed directly. Instead, access one of its attributes.`, t.SourceRange())
		return false
	}
	name, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		c.error("Invalid reference", `The "`+symbol+`" object does not support this operation.`, t[1].SourceRange())
		return false
	}
	i, ok := c.u.index(k, name.Name)
	if !ok {
		c.undeclared(k, name.Name, t[:2].SourceRange())
		return false
	}
	e.root, e.local, e.rest = kind, i, t[2:]
	return true
}

// afterCall takes the instance key and the output name after module.x.
func (c *compiler) afterCall(e *ref) bool {
	if !c.instanceKey(e) {
		return false
	}
	if name, rest, ok := attribute(e.rest); ok {
		e.output, e.rest = name, rest
	}
	return true
}

// instanceKey takes a constant key that follows the name of something repeatable.
func (c *compiler) instanceKey(e *ref) bool {
	if len(e.rest) == 0 {
		return true
	}
	ix, ok := e.rest[0].(hcl.TraverseIndex)
	if !ok {
		return true
	}
	key, ok := addr.KeyOf(ix.Key)
	if !ok {
		c.error("Invalid index key", "The key of an instance must be a string or a whole number of 0 or more.", ix.SrcRange)
		return false
	}
	e.key, e.hasKey, e.rest = key, true, e.rest[1:]
	return true
}

// resourceNamed resolves TYPE.NAME.
func (c *compiler) resourceNamed(e *ref, mode addr.Mode, t, all hcl.Traversal) bool {
	names, ok := c.twoNames(t, all)
	if !ok {
		return false
	}
	i, ok := c.u.resources[config.Name{Mode: mode, Type: names[0], Name: names[1]}]
	if !ok {
		c.undeclaredResource(config.Name{Mode: mode, Type: names[0], Name: names[1]}, all[:len(all)-len(t)+2].SourceRange())
		return false
	}
	if !c.visible(c.u.decls[i], all.SourceRange()) {
		return false
	}
	e.root, e.local, e.rest = rootResource, i, t[2:]
	return c.instanceKey(e)
}

// twoNames reads a type and a name; all is the traversal with the mode before them.
func (c *compiler) twoNames(t, all hcl.Traversal) (names [2]string, ok bool) {
	for i := range 2 {
		if i < len(t) {
			switch s := t[i].(type) {
			case hcl.TraverseRoot:
				names[i] = s.Name
				continue
			case hcl.TraverseAttr:
				names[i] = s.Name
				continue
			}
		}
		c.invalidResourceReference(all)
		return names, false
	}
	return names, true
}

// fieldOf resolves path.x, terraform.x, count.index, each.key and each.value.
func (c *compiler) fieldOf(e *ref, symbol string, t hcl.Traversal) bool {
	if len(t) < 2 {
		c.error("Invalid reference", `The "`+symbol+`" object cannot be accessed directly. Instead, access one of its attributes.`, t.SourceRange())
		return false
	}
	name, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		c.error("Invalid reference", `The "`+symbol+`" object does not support this operation.`, t[1].SourceRange())
		return false
	}
	if !c.knownField(symbol, name.Name, t[:2].SourceRange()) {
		return false
	}
	e.root = map[string]root{"path": rootPath, "terraform": rootTerraform, "tofu": rootTerraform, "count": rootCount, "each": rootEach}[symbol]
	e.field, e.rest = name.Name, t[2:]
	return true
}
