package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

var importSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "to", Required: true}, {Name: "id"}, {Name: "identity"}, {Name: "for_each"}, {Name: "provider"},
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
	if ok && l.firstImport(im) {
		l.mod.Imports = append(l.mod.Imports, im)
	}
}

// importTo reads the address of what is imported, which may have keys of any kind.
func (rd *reader) importTo(im *Import, a *hcl.Attribute) bool {
	e := rd.reference(a.Expr)
	t, ok := skeleton(e)
	if !ok {
		rd.error(a.Expr.Range(), "Invalid import address", "The \"to\" argument is the address of a managed resource, such as aws_instance.web, written without quotes or function calls. An expression may stand only between the brackets of a key, as in aws_instance.web[each.key].")
		return false
	}
	target, problem := addressOf(t)
	switch {
	case problem != "":
		rd.error(a.Expr.Range(), "Invalid import address", "%s", problem)
	case target.Mode != addr.Managed:
		rd.error(a.Expr.Range(), "Invalid import address", "Only managed resources can be imported, and %s is not one.", target)
	default:
		im.To, im.Resource = e, target.Resource()
		return true
	}
	return false
}

// importID takes what the provider knows the object by.
func (rd *reader) importID(im *Import, c *hcl.BodyContent) bool {
	id, identity := c.Attributes["id"], c.Attributes["identity"]
	switch {
	case id != nil && identity != nil:
		rd.again(identity.NameRange, id.NameRange, "Invalid import configuration", "The \"id\" and \"identity\" arguments are mutually-exclusive: an object is known by one or the other. Remove one of them.")
		return false
	case id != nil:
		im.ID = id.Expr
	case identity != nil:
		im.Identity = identity.Expr
	default:
		rd.error(c.MissingItemRange, "Missing required argument", "The argument \"id\" is required, but no definition was found. It is what the provider knows the object by; resource types that have an identity also take \"identity\".")
		return false
	}
	return true
}

// firstImport refuses a second import to one constant address.
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

// constantAddress is the address that an import block names, "" if its keys are not constant.
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

// Keyed reports whether the address has the key of an instance at its end.
func (im *Import) Keyed() bool {
	keyed, _ := im.key()
	return keyed
}

// key reports whether the address ends with the key of an instance, and the type of the key if it is a constant. The type
// of each.key depends on the collection.
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
