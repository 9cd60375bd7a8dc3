package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

var importSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "to", Required: true}, {Name: "id"}, {Name: "identity"}, {Name: "for_each"}, {Name: "provider"}, {Name: "if_exists"},
}}

func (l *loader) imports(b *hcl.Block) {
	c, ok := l.rd.content(b.Body, importSchema)
	if !ok {
		return
	}
	im := &Import{Range: place(b)}
	ok = l.rd.importTo(im, c.Attributes["to"])
	ok = l.rd.importID(im, c) && ok
	im.ForEach = argument(c, "for_each")
	if a := c.Attributes["provider"]; a != nil {
		ref, good := l.rd.providerRef(a.Expr, "provider")
		im.Provider, ok = &ref, ok && good
	}
	if a := c.Attributes["if_exists"]; a != nil {
		ok = letheOnly(l.rd, a.NameRange, `the argument "if_exists" of an import block`) && ok
		l.rd.boolean(a, &im.IfExists)
	}
	if ok && l.firstImport(im) {
		l.mod.Imports = append(l.mod.Imports, im)
	}
}

// importTo reads the address to which the block imports objects. Its keys may be expressions. After an error, importTo
// returns false.
func (rd *reader) importTo(im *Import, a *hcl.Attribute) bool {
	e := rd.reference(a.Expr)
	t, ok := skeleton(e)
	if !ok {
		rd.error(a.Expr.Range(), "Invalid import address", "The \"to\" argument must be the address of a managed resource, such as aws_instance.web, without quotes or function calls. Only an instance key can be an expression, as in aws_instance.web[each.key].")
		return false
	}
	target, problem := addressOf(t)
	switch {
	case problem != "":
		rd.error(a.Expr.Range(), "Invalid import address", "%s", problem)
	case target.Mode != addr.Managed:
		rd.error(a.Expr.Range(), "Invalid import address", "Only managed resources can be imported, and %s is not a managed resource.", target)
	default:
		im.To, im.Resource = e, target.Resource()
		return true
	}
	return false
}

// importID reads the id or the identity argument. If not exactly one of them is set, importID adds an error and returns
// false.
func (rd *reader) importID(im *Import, c *hcl.BodyContent) bool {
	id, identity := c.Attributes["id"], c.Attributes["identity"]
	switch {
	case id != nil && identity != nil:
		rd.again(identity.NameRange, id.NameRange, "Invalid import configuration", "The \"id\" and \"identity\" arguments are mutually-exclusive. Remove one of them.")
		return false
	case id != nil:
		im.ID = id.Expr
	case identity != nil:
		im.Identity = identity.Expr
	default:
		rd.error(c.MissingItemRange, "Missing required argument", "The argument \"id\" is required, but no definition was found. Set it to the provider's ID of the object. Resource types that have an identity also accept \"identity\".")
		return false
	}
	return true
}

// firstImport records the address of an import block. If an earlier block has the same address, firstImport adds an
// error and returns false. It does not compare an address with an expression as its key, because the key is not known
// yet.
func (l *loader) firstImport(im *Import) bool {
	key := constantAddress(im)
	if key == "" {
		return true
	}
	if !l.first("import", im.To.Range(), "Duplicate import configuration for \""+key+"\"", "An import block for the resource %q was already declared at %s. A resource can have only one import block: remove one of them.", key) {
		return false
	}
	l.declared[fmt.Sprintf("import %q", []any{key})] = im.Range
	return true
}

// constantAddress returns the address that an import block names. It returns "" if a key is an expression, or if the
// address is invalid.
func constantAddress(im *Import) string {
	t, ok := isConstant(im.To.(hclsyntax.Expression))
	if !ok {
		return ""
	}
	target, problem := addressOf(t)
	if problem != "" {
		return ""
	}
	return target.String()
}

// Keyed reports whether the address in the argument "to" ends with an instance key.
func (im *Import) Keyed() bool {
	keyed, _ := im.key()
	return keyed
}

// key reports whether the address in the argument "to" ends with an instance key, and returns the type of the key. If
// the key is an expression, the type is DynamicPseudoType: the type of each.key, for example, depends on the value of
// for_each. Without a key, the type is DynamicPseudoType, too.
func (im *Import) key() (bool, cty.Type) {
	var last hcl.Traverser
	switch e := im.To.(type) {
	case *hclsyntax.IndexExpr:
		return true, cty.DynamicPseudoType
	case *hclsyntax.ScopeTraversalExpr:
		last = e.Traversal[len(e.Traversal)-1]
	case *hclsyntax.RelativeTraversalExpr:
		last = e.Traversal[len(e.Traversal)-1]
	}
	if index, ok := last.(hcl.TraverseIndex); ok {
		return true, index.Key.Type()
	}
	return false, cty.DynamicPseudoType
}
