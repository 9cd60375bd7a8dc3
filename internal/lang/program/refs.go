package program

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
)

// instancesOf returns a use (a reference inside the unit) with the instances that the text of a reference selects.
func instancesOf(e *expr.Ref) use {
	switch {
	case !e.Repeated:
		return use{hint: Single}
	case e.HasKey:
		return use{hint: Fixed, fixed: e.Key}
	}
	return use{hint: AllKeys}
}

// note records a reference to the declaration that e names, for the declaration that is being compiled. u has the
// selected instances and further reasons of the reference.
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

// indexable resolves e, the collection of an index expression, if e names a whole declaration with count or for_each.
// For any other expression it returns nil: the index then does not select an instance.
func (r *rewriter) indexable(e hclsyntax.Expression) *expr.Ref {
	t, ok := e.(*hclsyntax.ScopeTraversalExpr)
	if !ok || r.isLocal(t.Traversal.RootName()) || !namesWhole(t.Traversal, r.c.u.lists) {
		return nil
	}
	ref, ok := r.resolve(t)
	if !ok || !ref.Repeated {
		return nil
	}
	return ref
}

// namesWhole reports whether t consists of exactly the name of a resource or a module call. lists is true if the module
// has list blocks.
func namesWhole(t hcl.Traversal, lists bool) bool {
	switch t.RootName() {
	case "var", "local", "path", "terraform", "tofu", "count", "each", "self":
		return false
	case "data", "ephemeral", "resource":
		return len(t) == 3
	case "list":
		return len(t) == 3 && lists || len(t) == 2 && !lists
	}
	return len(t) == 2
}

// noteIndexed records a reference to the instance that a key expression selects. If the target is not repeated,
// noteIndexed reports an error and returns false.
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

// keyed reports whether a reference has an instance key exactly if it needs one. A target without count and for_each
// permits no key. A reference to an attribute or output of a repeated target needs a key. If the reference violates
// these rules, keyed reports an error and returns false.
func (r *rewriter) keyed(e *expr.Ref) bool {
	switch e.Root {
	case expr.RootCall, expr.RootResource:
	default:
		return true
	}
	repeated := e.Repeated
	switch {
	case e.HasKey && !repeated: // the target is a resource, because selectFromWhole has handled module calls
		r.c.unexpectedKey(e, e.Traversal[:len(e.Traversal)-e.After()].SourceRange())
		return false
	case !e.HasKey && repeated && (len(e.Rest) > 0 || e.Output != ""):
		return r.missingKey(e)
	}
	return true
}

// resolve finds the declaration or built-in object that a traversal names. If the name is not declared, resolve reports
// an error and returns false.
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

// reserved has the first names of references that the language reserves for future versions.
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
	case "list":
		if r.c.u.lists {
			return out, r.c.resourceNamed(out, addr.List, t[1:], t)
		}
		return out, r.c.resourceNamed(out, addr.Managed, t, t)
	case "caller":
		if r.c.d.Kind != Action {
			return out, r.c.resourceNamed(out, addr.Managed, t, t)
		}
		r.c.d.refs.caller = true
		out.Root, out.Rest = expr.RootSelf, t[1:]
		return out, true
	case "self":
		if r.c.d.Kind == Action {
			r.c.error(`Invalid "self" reference`, `The "self" object is not available in actions. Use "caller" for the object whose change invokes the action.`, t.SourceRange())
			return out, false
		}
		out.Root, out.Rest = expr.RootSelf, t[1:]
		return out, true
	case "action":
		if len(r.c.u.actions) > 0 {
			r.c.error("Invalid reference", "Actions return no values, so expressions cannot refer to them. Only the \"actions\" argument of action_trigger blocks can name an action.", t.SourceRange())
			return out, false
		}
		return out, r.c.resourceNamed(out, addr.Managed, t, t)
	default:
		if reserved[name] {
			r.c.error("Reserved symbol name", `The symbol name "`+name+`" is reserved for a future version of the language. If it is a resource type of your provider, add the prefix "resource.".`, t[0].SourceRange())
			return out, false
		}
		return out, r.c.resourceNamed(out, addr.Managed, t, t)
	}
}

// attribute returns the name of the attribute that is selected from an object such as var or path. Without an
// attribute, it reports an error and returns false, because these objects cannot be used as a whole.
func (c *compiler) attribute(t hcl.Traversal) (string, bool) {
	if len(t) < 2 {
		c.error("Invalid reference", `The "`+t.RootName()+`" object cannot be used as a whole. Use one of its attributes.`, t.SourceRange())
		return "", false
	}
	name, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		c.error("Invalid reference", `The "`+t.RootName()+`" object does not support this operation.`, t[1].SourceRange())
	}
	return name.Name, ok
}

// named resolves var.NAME, local.NAME and module.NAME. If t has no name, or the name is not declared, named reports an
// error and returns false.
func (c *compiler) named(e *expr.Ref, kind expr.Root, k Kind, t hcl.Traversal) bool {
	name, ok := c.attribute(t)
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

// afterCall reads the instance key and the output name that follow module.NAME in a reference. If the key is invalid,
// afterCall reports an error and returns false.
func (c *compiler) afterCall(e *expr.Ref) bool {
	if !c.instanceKey(e) {
		return false
	}
	if name, rest, ok := expr.Attribute(e.Rest); ok {
		e.Output, e.Rest = name, rest
	}
	return true
}

// selectFromWhole changes a reference with a constant key after a module call without count and for_each. The key then
// means the name of an output, or an index into the object of all outputs. As in Terraform, such a key is an error only
// for a resource.
func selectFromWhole(e *expr.Ref) {
	e.Rest, e.Key, e.HasKey, e.Output = e.Traversal[2:], addr.NoKey, false, ""
	if name, rest, ok := expr.Attribute(e.Rest); ok {
		e.Output, e.Rest = name, rest
	}
}

// instanceKey reads a constant key after the name of a resource or module call, if the reference has one. If the key is
// invalid, instanceKey reports an error and returns false.
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
		c.error("Invalid index key", "An index of a resource instance must be a string or a whole number of 0 or more.", ix.SrcRange)
		return false
	}
	e.Key, e.HasKey, e.Rest = key, true, e.Rest[1:]
	return true
}

// resourceNamed resolves TYPE.NAME at the beginning of t. The parameter all is the whole traversal, with the mode (such
// as data) before t. If the resource is not declared, or not visible from the declaration that is being compiled,
// resourceNamed reports an error and returns false.
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

// twoNames reads a type and a name from t. The parameter all is the whole traversal, with the mode (such as data)
// before t. If t does not begin with two names, twoNames reports an error and returns false.
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

// fieldOf resolves path.NAME, terraform.NAME, tofu.NAME, count.index, each.key and each.value. If the object has no
// such attribute, fieldOf reports an error and returns false.
func (c *compiler) fieldOf(e *expr.Ref, symbol string, t hcl.Traversal) bool {
	name, ok := c.attribute(t)
	if !ok || !c.knownField(symbol, name, t[:2].SourceRange()) {
		return false
	}
	e.Root = map[string]expr.Root{"path": expr.RootPath, "terraform": expr.RootTerraform, "tofu": expr.RootTerraform, "count": expr.RootCount, "each": expr.RootEach}[symbol]
	e.Field, e.Rest = name, t[2:]
	return true
}
