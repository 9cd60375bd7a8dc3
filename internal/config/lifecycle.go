package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config/native"
)

var lifecycleSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{
		{Name: "create_before_destroy"}, {Name: "prevent_destroy"}, {Name: "ignore_changes"},
		{Name: "replace_triggered_by"}, {Name: "enabled"}, {Name: "destroy"},
	},
	Blocks: []hcl.BlockHeaderSchema{{Type: "precondition"}, {Type: "postcondition"}, {Type: "action_trigger"}},
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
		if inner.Type == "action_trigger" {
			l.actionTrigger(inner)
			continue
		}
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
	if a := c.Attributes["create_before_destroy"]; a != nil && refersToValues(a.Expr) {
		life.FirstIf = l.rd.computed(a)
	} else {
		l.rd.boolean(a, &life.CreateFirst)
	}
	life.PreventDestroy, life.Destroy = l.perInstance(c.Attributes["prevent_destroy"]), l.perInstance(c.Attributes["destroy"])
	if a := c.Attributes["ignore_changes"]; a != nil && notList(a.Expr) && refersToValues(a.Expr) {
		life.IgnoreIf = l.rd.computed(a)
	} else if a != nil {
		l.ignoreChanges(a)
	}
	if a := c.Attributes["replace_triggered_by"]; a != nil {
		l.triggers(a)
	}
}

// computed returns the expression of an argument that Lethe evaluates before the plan. Terraform and OpenTofu accept
// only constants, so the argument is allowed only in files that only Lethe reads. In other files, computed reports an
// error and returns nil.
func (rd *reader) computed(a *hcl.Attribute) hcl.Expression {
	if !letheOnly(rd, a.Expr.Range(), fmt.Sprintf("a value in the lifecycle argument %q", a.Name)) {
		return nil
	}
	return a.Expr
}

// refersToValues reports whether an expression uses values that can be known before the plan.
func refersToValues(e hcl.Expression) bool {
	return slices.ContainsFunc(e.Variables(), func(t hcl.Traversal) bool {
		return slices.Contains([]string{"var", "local", "path", "terraform", "tofu"}, t.RootName())
	})
}

// notList reports whether an expression is not a list constructor.
func notList(e hcl.Expression) bool {
	_, ds := hcl.ExprList(e)
	return ds.HasErrors()
}

// perInstance returns the expression of an argument, or nil if the argument is absent. If the expression uses each or
// count, it may differ between instances, which is allowed only in files that only Lethe reads. In other files,
// perInstance reports an error, and returns the expression nevertheless.
func (l *lifecycleReader) perInstance(a *hcl.Attribute) hcl.Expression {
	if a == nil {
		return nil
	}
	for _, t := range a.Expr.Variables() {
		root := t.RootName()
		if root == "each" && l.r.ForEach != nil || root == "count" && l.r.Count != nil {
			letheOnly(l.rd, t.SourceRange(), fmt.Sprintf("%q in the lifecycle argument %q", root, a.Name))
			break
		}
	}
	return a.Expr
}

// refuse reports an error for each of attrs, which are arguments that only managed resources may have.
func (l *lifecycleReader) refuse(attrs hcl.Attributes) {
	for _, a := range byPlace(attrs) {
		if l.r.Mode == addr.Ephemeral {
			l.rd.error(a.NameRange, "Invalid lifecycle configuration for ephemeral resource", "The lifecycle argument %q is allowed only in \"resource\" blocks. Remove it.", a.Name)
			continue
		}
		l.rd.error(a.NameRange, "Invalid data resource lifecycle argument", "The lifecycle argument %q is allowed only in \"resource\" blocks. Remove it.", a.Name)
	}
}

// ignoreChanges reads `all`, or a list of paths into the resource. Other elements are errors.
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

// relative returns the path that an expression consists of, such as tags["a"]. It returns false for any other
// expression.
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

// reference returns the expression of a reference. In JSON syntax the reference is in a string, which reference parses.
// In native syntax a reference in quotes remains a string, because the language never allowed quotes here. reference
// returns nil for an invalid expression.
func (rd *reader) reference(e hcl.Expression) hclsyntax.Expression {
	if text, quoted := plainText(e); quoted && json.IsJSONExpression(e) {
		return rd.parseInside(e, text)
	}
	n, ds := native.Expression(e)
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

// validTrigger reports whether an expression is a reference to exactly one managed resource. Its indexes may use
// count.index and each.key. If the expression is anything else, validTrigger reports an error.
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

var triggerSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
	{Name: "events", Required: true}, {Name: "actions", Required: true}, {Name: "condition"}, {Name: "on_failure"},
}}

// actionTrigger reads an action_trigger block. It reports an error for a resource that is not managed.
func (l *lifecycleReader) actionTrigger(b *hcl.Block) {
	if l.r.Mode != addr.Managed {
		l.rd.error(b.DefRange, "Invalid action_trigger block", "Only \"resource\" blocks can have action_trigger blocks. Remove the block.")
		return
	}
	c, ok := l.rd.content(b.Body, triggerSchema)
	if !ok {
		return
	}
	t := &ActionTrigger{Range: place(b), Condition: argument(c, "condition"), OnFailure: Halt}
	l.events(t, c.Attributes["events"])
	l.triggeredActions(t, c.Attributes["actions"])
	if a := c.Attributes["on_failure"]; a != nil {
		if t.OnFailure = word(a.Expr); t.OnFailure != Halt && t.OnFailure != Taint && t.OnFailure != Continue {
			l.rd.error(a.Expr.Range(), "Invalid \"on_failure\" keyword", "The \"on_failure\" argument requires one of the following keywords: halt, taint, or continue.")
		}
	}
	l.r.Lifecycle.ActionTriggers = append(l.r.Lifecycle.ActionTriggers, t)
}

// events reads the events of a trigger. It reports an error for an unknown or repeated event, and for an empty list.
func (l *lifecycleReader) events(t *ActionTrigger, a *hcl.Attribute) {
	items, ok := l.rd.list(a.Expr, a.Name, "after_create")
	for _, item := range items {
		name := word(item)
		if text, quoted := plainText(item); quoted && name == "" {
			l.rd.quoted(item, "keywords")
			name = text
		}
		var e Event
		if e.UnmarshalText([]byte(name)) != nil {
			l.rd.error(item.Range(), "Invalid \"event\" value", "%q is no event. The \"events\" argument supports only the following values: before_create, after_create, before_update, after_update, before_destroy, after_destroy.", name)
			continue
		}
		if slices.Contains(t.Events, e) {
			l.rd.error(item.Range(), "Duplicate \"event\" value", "The event %s is listed twice. Remove one of the entries.", name)
			continue
		}
		t.Events = append(t.Events, e)
	}
	if ok && len(items) == 0 {
		l.rd.error(a.Expr.Range(), "No events specified", "At least one event must be specified for an action_trigger.")
	}
}

// triggeredActions reads the actions of a trigger: references to actions or to instances of actions.
func (l *lifecycleReader) triggeredActions(t *ActionTrigger, a *hcl.Attribute) {
	items, ok := l.rd.list(a.Expr, a.Name, "action.aws_lambda_invoke.example")
	for _, item := range items {
		ref, good := l.rd.actionRef(item)
		if !good {
			l.rd.error(item.Range(), "Invalid action argument inside action_triggers", "An element of \"actions\" must refer to an action of the same module, such as action.aws_lambda_invoke.example, or to an instance of one, such as action.aws_lambda_invoke.example[each.key].")
			continue
		}
		t.Actions = append(t.Actions, ref)
	}
	if ok && len(items) == 0 {
		l.rd.error(a.Expr.Range(), "No actions specified", "At least one action must be specified for an action_trigger.")
	}
}

// actionRef reads a reference to an action, with or without a key. It returns false for any other expression, and
// reports nothing.
func (rd *reader) actionRef(e hcl.Expression) (ActionRef, bool) {
	n := rd.reference(e)
	out := ActionRef{Range: e.Range()}
	if ix, ok := n.(*hclsyntax.IndexExpr); ok {
		n, out.Key = ix.Collection, ix.Key
	}
	t, ok := absolute(n)
	if !ok || len(t) < 3 || t.RootName() != "action" {
		return out, false
	}
	typ, okType := t[1].(hcl.TraverseAttr)
	name, okName := t[2].(hcl.TraverseAttr)
	out.Name = Name{Mode: addr.Action, Type: typ.Name, Name: name.Name}
	if ix, is := lastStep(t[3:]).(hcl.TraverseIndex); is && out.Key == nil {
		out.Key = &hclsyntax.LiteralValueExpr{Val: ix.Key, SrcRange: ix.SrcRange}
		return out, okType && okName
	}
	return out, okType && okName && len(t) == 3
}

// lastStep returns the only step of a traversal. It returns nil if the traversal has no step or more steps.
func lastStep(t hcl.Traversal) hcl.Traverser {
	if len(t) != 1 {
		return nil
	}
	return t[0]
}
