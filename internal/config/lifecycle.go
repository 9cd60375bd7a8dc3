package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
)

var lifecycleSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "create_before_destroy"}, {Name: "prevent_destroy"}, {Name: "ignore_changes"},
		{Name: "replace_triggered_by"}, {Name: "enabled"}, {Name: "destroy"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "precondition"}, {Type: "postcondition"}},
}

func (rd *reader) lifecycle(r *Resource, b *hcl.Block) {
	if b == nil {
		return
	}
	c, _ := rd.content(b.Body, lifecycleSchema)
	rd.enabled(&r.Repeat, c.Attributes["enabled"])
	delete(c.Attributes, "enabled")
	if r.Mode == addr.Managed {
		rd.managedLifecycle(&r.Lifecycle, c)
	} else {
		rd.refuseLifecycle(r.Mode, c.Attributes)
	}
	read := rd.condition
	if r.Mode == addr.Ephemeral {
		read = rd.anyCondition // the RFC about ephemeral resources has one that is constant
	}
	for _, inner := range c.Blocks {
		cond, ok := read(inner)
		switch {
		case !ok:
		case inner.Type == "precondition":
			r.Lifecycle.Preconditions = append(r.Lifecycle.Preconditions, cond)
		default:
			r.Lifecycle.Postconditions = append(r.Lifecycle.Postconditions, cond)
		}
	}
}

func (rd *reader) managedLifecycle(life *Lifecycle, c *hcl.BodyContent) {
	rd.boolean(c.Attributes["create_before_destroy"], &life.CreateFirst)
	life.PreventDestroy, life.Destroy = argument(c, "prevent_destroy"), argument(c, "destroy")
	if a := c.Attributes["ignore_changes"]; a != nil {
		rd.ignoreChanges(life, a)
	}
	if a := c.Attributes["replace_triggered_by"]; a != nil {
		rd.triggers(life, a)
	}
}

// refuseLifecycle refuses the arguments that only managed resources have.
func (rd *reader) refuseLifecycle(mode addr.Mode, attrs hcl.Attributes) {
	for _, a := range byPlace(attrs) {
		if mode == addr.Ephemeral {
			rd.error(a.NameRange, "Invalid lifecycle configuration for ephemeral resource", "The lifecycle argument %q cannot be used in ephemeral resources. This is meant to be used strictly in \"resource\" blocks.", a.Name)
			continue
		}
		rd.error(a.NameRange, "Invalid data resource lifecycle argument", "The lifecycle argument %q is defined only for managed resources (\"resource\" blocks), and is not valid for data resources. Remove it.", a.Name)
	}
}

// ignoreChanges reads `all`, or a list of paths into the resource.
func (rd *reader) ignoreChanges(life *Lifecycle, a *hcl.Attribute) {
	if word(a.Expr) == "all" {
		life.IgnoreAll = true
		return
	}
	items, _ := rd.list(a.Expr, a.Name, "tags")
	for _, item := range items {
		if text, quoted := plainText(item); quoted && text == "*" {
			rd.error(item.Range(), "Invalid ignore_changes wildcard", "The [\"*\"] form of the wildcard is from very old versions and not accepted any more. Use \"ignore_changes = all\" to ignore changes to all attributes.")
			continue
		}
		t, ok := relative(rd.bare(item))
		if !ok {
			rd.error(item.Range(), "Invalid expression", "An element of ignore_changes is the name of an attribute, or a path into one such as tags[\"team\"] or disk[0].size: only attribute access and indexing with constant keys.")
			continue
		}
		life.Ignore = append(life.Ignore, t)
	}
}

// relative is the path that an expression consists of.
func relative(e hclsyntax.Expression) (hcl.Traversal, bool) {
	if e == nil {
		return nil, false
	}
	t, ds := hcl.RelTraversalForExpr(e)
	return t, !ds.HasErrors()
}

// triggers reads replace_triggered_by: references to managed resources or parts of them.
func (rd *reader) triggers(life *Lifecycle, a *hcl.Attribute) {
	items, _ := rd.list(a.Expr, a.Name, "aws_vpc.main.id")
	for _, item := range items {
		n := rd.reference(item)
		if n == nil {
			rd.error(item.Range(), "Invalid replace_triggered_by expression", "%s", badTrigger)
		} else if rd.validTrigger(n) {
			life.Triggers = append(life.Triggers, n)
		}
	}
}

const badTrigger = "Missing resource reference in replace_triggered_by expression: an element is a resource, such as aws_vpc.main, or a part of one, such as aws_vpc.main.id or aws_vpc.main[each.key]."

// reference is the expression that stands for one; in JSON it is in a string. Quotes in native
// syntax never were allowed there. It is nil if there is none.
func (rd *reader) reference(e hcl.Expression) hclsyntax.Expression {
	if text, quoted := plainText(e); quoted && isJSON(e) {
		return rd.parseInside(e, text)
	}
	n, ds := Native(e)
	if ds.HasErrors() {
		return nil
	}
	return n
}

// notManaged are the first words of references that are not to managed resources.
var notManaged = map[string]bool{
	"var": true, "local": true, "module": true, "data": true, "ephemeral": true, "path": true,
	"terraform": true, "tofu": true, "self": true, "output": true, "check": true, "run": true,
}

func (rd *reader) validTrigger(e hclsyntax.Expression) bool {
	resources := 0
	for _, t := range e.Variables() {
		switch root := t.RootName(); {
		case root == "count" && isAttr(t, "index"), root == "each" && isAttr(t, "key"):
		case root == "count" || root == "each" || notManaged[root]:
			rd.error(t.SourceRange(), "Invalid reference in replace_triggered_by expression", "Only managed resources, count.index, and each.key may be used in replace_triggered_by. To react to another value, store it in a terraform_data resource and refer to that.")
			return false
		default:
			resources++
		}
	}
	switch {
	case resources == 1 && isReference(e):
		return true
	case resources > 1:
		rd.error(e.Range(), "Invalid replace_triggered_by expression", "Multiple resource references in one expression. Make each of them an element of its own.")
	default:
		rd.error(e.Range(), "Invalid replace_triggered_by expression", "%s", badTrigger)
	}
	return false
}

func isAttr(t hcl.Traversal, name string) bool {
	if len(t) != 2 {
		return false
	}
	a, ok := t[1].(hcl.TraverseAttr)
	return ok && a.Name == name
}

// isReference reports whether e only goes from a name into what it names.
func isReference(e hclsyntax.Expression) bool {
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return len(e.Traversal) >= 2
	case *hclsyntax.RelativeTraversalExpr:
		return isReference(e.Source)
	case *hclsyntax.IndexExpr:
		return isReference(e.Collection)
	}
	return false
}

// enabled takes the enabled argument of a lifecycle block.
func (rd *reader) enabled(r *Repeat, a *hcl.Attribute) {
	if a == nil {
		return
	}
	other := ""
	switch {
	case r.Count != nil:
		other = "count"
	case r.ForEach != nil:
		other = "for_each"
	default:
		r.Enabled = a.Expr
		return
	}
	rd.error(a.NameRange, `Invalid combination of "`+other+`" and "enabled"`, "The %q and \"enabled\" arguments are mutually-exclusive: only one can say how many instances there are. Remove one of them.", other)
}
