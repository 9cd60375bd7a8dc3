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

// lifecycleReader reads the lifecycle block of one resource into it. It reports mistakes to rd.
type lifecycleReader struct {
	rd *reader
	r  *Resource
}

// readLifecycle reads the lifecycle block of a resource. b is nil if the resource has none. The count and for_each
// arguments of the resource have been read before.
func readLifecycle(rd *reader, r *Resource, b *hcl.Block) {
	if b == nil {
		return
	}
	c, _ := rd.content(b.Body, lifecycleSchema)
	l := &lifecycleReader{rd, r}
	rd.enabled(&r.Repeat, c.Attributes["enabled"])
	delete(c.Attributes, "enabled")
	if r.Mode == addr.Managed {
		l.managed(c)
	} else {
		l.refuse(c.Attributes)
	}
	read := rd.condition
	if r.Mode == addr.Ephemeral {
		read = rd.anyCondition // the RFC about ephemeral resources has an example with a constant condition
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

// managed reads the arguments that only managed resources have.
func (l *lifecycleReader) managed(c *hcl.BodyContent) {
	life := &l.r.Lifecycle
	l.rd.boolean(c.Attributes["create_before_destroy"], &life.CreateFirst)
	life.PreventDestroy, life.Destroy = argument(c, "prevent_destroy"), argument(c, "destroy")
	if a := c.Attributes["ignore_changes"]; a != nil {
		l.ignoreChanges(a)
	}
	if a := c.Attributes["replace_triggered_by"]; a != nil {
		l.triggers(a)
	}
}

// refuse reports the arguments that only managed resources have.
func (l *lifecycleReader) refuse(attrs hcl.Attributes) {
	for _, a := range byPlace(attrs) {
		if l.r.Mode == addr.Ephemeral {
			l.rd.error(a.NameRange, "Invalid lifecycle configuration for ephemeral resource", "The lifecycle argument %q is allowed only in \"resource\" blocks. Remove it.", a.Name)
			continue
		}
		l.rd.error(a.NameRange, "Invalid data resource lifecycle argument", "The lifecycle argument %q is allowed only in \"resource\" blocks. Remove it.", a.Name)
	}
}

// ignoreChanges reads `all`, or a list of paths into the resource.
func (l *lifecycleReader) ignoreChanges(a *hcl.Attribute) {
	life := &l.r.Lifecycle
	if word(a.Expr) == "all" {
		life.IgnoreAll = true
		return
	}
	items, _ := l.rd.list(a.Expr, a.Name, "tags")
	for _, item := range items {
		if text, quoted := plainText(item); quoted && text == "*" {
			l.rd.error(item.Range(), "Invalid ignore_changes wildcard", "The form [\"*\"] is no longer supported. To ignore changes to all attributes, use \"ignore_changes = all\".")
			continue
		}
		t, ok := relative(l.rd.unquoted(item))
		if !ok {
			l.rd.error(item.Range(), "Invalid expression", "An element of ignore_changes must be an attribute name, or a path with constant keys, such as tags[\"team\"] or disk[0].size.")
			continue
		}
		life.Ignore = append(life.Ignore, t)
	}
}

// relative returns the path that an expression consists of, and false for any other expression.
func relative(e hclsyntax.Expression) (hcl.Traversal, bool) {
	if e == nil {
		return nil, false
	}
	t, ds := hcl.RelTraversalForExpr(e)
	return t, !ds.HasErrors()
}

// triggers reads replace_triggered_by: references to managed resources or to parts of them.
func (l *lifecycleReader) triggers(a *hcl.Attribute) {
	items, _ := l.rd.list(a.Expr, a.Name, "aws_vpc.main.id")
	for _, item := range items {
		n := l.rd.reference(item)
		if n == nil {
			l.rd.error(item.Range(), "Invalid replace_triggered_by expression", "%s", badTrigger)
		} else if l.validTrigger(n) {
			l.r.Lifecycle.Triggers = append(l.r.Lifecycle.Triggers, n)
		}
	}
}

const badTrigger = "Missing resource reference in replace_triggered_by expression. Name a resource, such as aws_vpc.main, or a part of a resource, such as aws_vpc.main.id or aws_vpc.main[each.key]."

// reference returns the expression of a reference. In JSON syntax the reference is in a string. In native syntax quotes
// were never allowed in this place, so a quoted reference is not unwrapped. It returns nil for an invalid expression.
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

// notManaged holds the first words of references that do not name a managed resource.
var notManaged = map[string]bool{
	"var": true, "local": true, "module": true, "data": true, "ephemeral": true, "path": true,
	"terraform": true, "tofu": true, "self": true, "output": true, "check": true, "run": true,
}

// validTrigger reports whether an expression refers to exactly one managed resource. If not, it reports an error.
func (l *lifecycleReader) validTrigger(e hclsyntax.Expression) bool {
	resources := 0
	for _, t := range e.Variables() {
		switch root := t.RootName(); {
		case root == "count" && isAttr(t, "index"), root == "each" && isAttr(t, "key"):
		case root == "count" || root == "each" || notManaged[root]:
			l.rd.error(t.SourceRange(), "Invalid reference in replace_triggered_by expression", "Only managed resources, count.index, and each.key may be used in replace_triggered_by. To react to another value, store it in a terraform_data resource, and refer to that resource.")
			return false
		default:
			resources++
		}
	}
	switch {
	case resources == 1 && isReference(e):
		return true
	case resources > 1:
		l.rd.error(e.Range(), "Invalid replace_triggered_by expression", "This element has several resource references. Make each of them a separate element.")
	default:
		l.rd.error(e.Range(), "Invalid replace_triggered_by expression", "%s", badTrigger)
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

// isReference reports whether e consists only of a name and of access to attributes or elements.
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

// enabled reads the enabled argument of a lifecycle block. It reports an error if count or for_each is set, too.
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
	rd.error(a.NameRange, `Invalid combination of "`+other+`" and "enabled"`, "The %q and \"enabled\" arguments are mutually-exclusive. Remove one of them.", other)
}
