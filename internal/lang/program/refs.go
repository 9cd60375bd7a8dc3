package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
)

// instancesOf is a use of the instances that a reference means by its text alone.
func instancesOf(e *expr.Ref) use {
	switch {
	case !e.Repeated:
		return use{hint: Single}
	case e.HasKey:
		return use{hint: Fixed, fixed: e.Key}
	}
	return use{hint: AllKeys}
}

// note records that the declaration being compiled refers to what e names.
func (r *rewriter) note(e *expr.Ref, u use) {
	switch e.Root {
	case expr.RootVariable, expr.RootLocal, expr.RootCall, expr.RootResource:
	default:
		return
	}
	u.local, u.output, u.at = e.Local, e.Output, e.SrcRange
	u.why |= r.why
	r.c.record(u)
}

// indexable resolves the collection of an index expression if that is a whole declaration that has count or for_each.
// It returns nil for everything else: a key selects from the object of a single resource or module then.
func (r *rewriter) indexable(e hclsyntax.Expression) *expr.Ref {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok || r.isLocal(t.Traversal.RootName()) || !namesWhole(t.Traversal) {
		return nil
	}
	ref, ok := r.resolve(t)
	if !ok || !ref.Repeated {
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

// noteIndexed records a reference to the instance that a key expression selects.
func (r *rewriter) noteIndexed(target *expr.Ref, key hclsyntax.Expression, at diag.Range) bool {
	r.c.varies()
	if !target.Repeated {
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

// keyed checks that a reference selects an instance where there are several, and does not where
// there are not.
func (r *rewriter) keyed(e *expr.Ref) bool {
	switch e.Root {
	case expr.RootCall, expr.RootResource:
	default:
		return true
	}
	repeated := e.Repeated
	switch {
	case e.HasKey && !repeated: // a resource: selectFromWhole has seen to modules
		r.c.unexpectedKey(e, e.Traversal[:len(e.Traversal)-e.After()].SourceRange())
		return false
	case !e.HasKey && repeated && (len(e.Rest) > 0 || e.Output != ""):
		return r.missingKey(e)
	}
	return true
}

// resolve finds what a traversal names.
func (r *rewriter) resolve(e *hclsyntax.ScopeTraversalExpr) (*expr.Ref, bool) {
	out, ok := r.resolveName(e)
	if ok && (out.Root == expr.RootCall || out.Root == expr.RootResource) {
		rep := r.c.u.Defs[out.Local].Repeat
		out.Repeated = rep.Count != nil || rep.ForEach != nil
		if out.HasKey && !out.Repeated && out.Root == expr.RootCall {
			selectFromWhole(out)
		}
	}
	return out, ok
}

// reserved are the roots that are kept for a future version of the language.
var reserved = map[string]bool{"template": true, "lazy": true, "arg": true}

func (r *rewriter) resolveName(e *hclsyntax.ScopeTraversalExpr) (*expr.Ref, bool) {
	t := e.Traversal
	out := &expr.Ref{ScopeTraversalExpr: e}
	switch name := t.RootName(); name {
	case "var":
		return out, r.c.named(out, expr.RootVariable, Variable, t)
	case "local":
		return out, r.c.named(out, expr.RootLocal, Local, t)
	case "module":
		if !r.c.named(out, expr.RootCall, Call, t) {
			return out, false
		}
		return out, r.c.afterCall(out)
	case "data", "ephemeral", "resource":
		mode, _ := addr.ModeOf(name)
		return out, r.c.resourceNamed(out, mode, t[1:], t)
	case "path", "terraform", "tofu", "count", "each":
		return out, r.c.fieldOf(out, name, t)
	case "self":
		out.Root, out.Rest = expr.RootSelf, t[1:]
		return out, true
	default:
		if reserved[name] {
			r.c.error("Reserved symbol name", `The symbol name "`+name+`" is reserved for use in a future version of the language. If you are using a provider that already uses this as a resource type name, add the prefix "resource." to force interpretation as a resource type name.`, t[0].SourceRange())
			return out, false
		}
		return out, r.c.resourceNamed(out, addr.Managed, t, t)
	}
}

// member is the name that is selected from an object such as var or path, which is not there as a whole.
func (c *compiler) member(t hcl.Traversal) (string, bool) {
	if len(t) < 2 {
		c.error("Invalid reference", `The "`+t.RootName()+`" object cannot be accessed directly. Instead, access one of its attributes.`, t.SourceRange())
		return "", false
	}
	name, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		c.error("Invalid reference", `The "`+t.RootName()+`" object does not support this operation.`, t[1].SourceRange())
	}
	return name.Name, ok
}

// named resolves var.x, local.x and module.x.
func (c *compiler) named(e *expr.Ref, kind expr.Root, k Kind, t hcl.Traversal) bool {
	name, ok := c.member(t)
	if !ok {
		return false
	}
	i, ok := c.u.Index(k, name)
	if !ok {
		c.undeclared(k, name, t[:2].SourceRange())
		return false
	}
	e.Root, e.Local, e.Rest = kind, i, t[2:]
	return true
}

// afterCall takes the instance key and the output name after module.x.
func (c *compiler) afterCall(e *expr.Ref) bool {
	if !c.instanceKey(e) {
		return false
	}
	if name, rest, ok := expr.Attribute(e.Rest); ok {
		e.Output, e.Rest = name, rest
	}
	return true
}

// selectFromWhole takes a constant key after a single module as the name of an output, or as an index into the object of
// all outputs, as any other key is. Terraform refuses such keys of resources only.
func selectFromWhole(e *expr.Ref) {
	e.Rest, e.Key, e.HasKey, e.Output = e.Traversal[2:], addr.NoKey, false, ""
	if name, rest, ok := expr.Attribute(e.Rest); ok {
		e.Output, e.Rest = name, rest
	}
}

// instanceKey takes a constant key that follows the name of something repeatable.
func (c *compiler) instanceKey(e *expr.Ref) bool {
	if len(e.Rest) == 0 {
		return true
	}
	ix, ok := e.Rest[0].(hcl.TraverseIndex)
	if !ok {
		return true
	}
	key, ok := addr.KeyOf(ix.Key)
	if !ok {
		c.error("Invalid index key", "Invalid index for resource instance: either a string or an integer is required, and an integer must be 0 or more.", ix.SrcRange)
		return false
	}
	e.Key, e.HasKey, e.Rest = key, true, e.Rest[1:]
	return true
}

// resourceNamed resolves TYPE.NAME.
func (c *compiler) resourceNamed(e *expr.Ref, mode addr.Mode, t, all hcl.Traversal) bool {
	names, ok := c.twoNames(t, all)
	if !ok {
		return false
	}
	i, ok := c.u.resources[config.Name{Mode: mode, Type: names[0], Name: names[1]}]
	if !ok {
		c.undeclaredResource(config.Name{Mode: mode, Type: names[0], Name: names[1]}, all[:len(all)-len(t)+2].SourceRange())
		return false
	}
	if !c.visible(c.u.Defs[i], all.SourceRange()) {
		return false
	}
	e.Root, e.Local, e.Rest = expr.RootResource, i, t[2:]
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
func (c *compiler) fieldOf(e *expr.Ref, symbol string, t hcl.Traversal) bool {
	name, ok := c.member(t)
	if !ok || !c.knownField(symbol, name, t[:2].SourceRange()) {
		return false
	}
	e.Root = map[string]expr.Root{"path": expr.RootPath, "terraform": expr.RootTerraform, "tofu": expr.RootTerraform, "count": expr.RootCount, "each": expr.RootEach}[symbol]
	e.Field, e.Rest = name, t[2:]
	return true
}
