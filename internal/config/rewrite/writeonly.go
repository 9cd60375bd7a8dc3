package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/schema"
)

// WriteOnly moves the value of an argument of a managed resource to a write-only argument. stored and to are the paths
// of the two arguments, as names. If the resource is not declared, the argument is not assigned, or a reference to the
// argument cannot be replaced, the result has the reason in Refused.
func (d *Draft) WriteOnly(of addr.Resource, stored, to []string) *Result {
	stored = stored[:min(len(stored), len(to))] // the path may lead to a part of the argument's value, but the whole value moves
	m := d.module(of.Module)
	if m == nil || d.in.Tree == nil {
		return refused(undeclared(of))
	}
	r := &Result{}
	r = d.attempt(r, func() string { return d.moveArgument(m, of, stored, to, r) })
	if len(stored) == 1 && r.Refused == "" && r.ByHand == nil && r.Advice == "" {
		d.moved[origin{declaration: declaration{m, symbol{"resource", of.Type, of.Name}}, attribute: stored[0]}] = r.origins
	}
	return r
}

func (d *Draft) moveArgument(m *module, of addr.Resource, stored, to []string, r *Result) string {
	var found []occurrence
	declared, moved, why := false, false, ""
	m.blocks("resource", []string{of.Type, of.Name}, func(f *part, b *hclsyntax.Block) {
		declared = true
		if ignores(b, stored[0]) {
			why = fmt.Sprintf("ignore_changes of %s contains %s, so the object may have another value than the configuration. Decide which value counts, remove the entry, and apply, before the value moves.", of, stored[0])
		}
		found = append(found, occurrences(f, b, b.Body, b, stored, eachOf(b))...)
		moved = moved || len(occurrences(f, b, b.Body, b, to, nil)) > 0
	})
	switch {
	case !declared:
		return d.inJSON(m, of, stored, to, r)
	case why != "":
		return why
	case len(found) == 0 && moved:
		return fmt.Sprintf("The configuration assigns %s of %s already. Apply it. If the provider then still stores the value, run \"lethe apply -refresh-only\".", strings.Join(to, "."), of)
	case len(found) == 0:
		return fmt.Sprintf("The configuration does not assign %s of %s as an argument that can be edited, so the value would be nowhere else. If the provider computed it, encrypt the state.", strings.Join(stored, "."), of)
	}
	s := d.schema(m, found[0].block)
	if s == nil {
		return fmt.Sprintf("The schema of %s is not available.", of.Type)
	}
	edits, why := d.substitute(m, of, stored, found)
	if why != "" {
		return why
	}
	last := to[len(to)-1]
	near := beside(s, to)
	version := schema.VersionOf(near, last)
	var origins []origin
	for i, a := range found {
		if a.has(last) {
			return fmt.Sprintf("%s has an argument %s already (%s).", of, last, a.f.name)
		}
		d.noteConstants(a.f, a.expr)
		edits = append(edits, replace(a.f, a.at, last))
		if !a.inside && i < len(found)-1 {
			continue // a block in an override file, which comes later, replaces this value
		}
		here := d.origins(m, a.f, a.expr, a.in)
		for _, o := range here {
			if o.fresh != "" {
				return fmt.Sprintf("The value would be nowhere afterwards: the function %s returns another value at each call (%s). Store the value in a secret manager first.", o.fresh, a.f.name)
			}
		}
		origins = append(origins, here...)
		edits = append(edits, d.versionEdits(m, of, a, s, stored, version, r)...)
	}
	if !d.apply(unique(edits)) {
		return fmt.Sprintf("%s cannot be edited.", of)
	}
	d.note(declaration{m, symbol{"resource", of.Type, of.Name}}, stored[0], becomesNull(stored))
	r.Arguments = append(r.Arguments, stored[0], to[0])
	if version == nil {
		r.Notes = append(r.Notes, fmt.Sprintf("%s has no version argument beside %s. The provider decides when it sends a new value.", of.Type, last))
	}
	if version != nil {
		r.Arguments = append(r.Arguments, version.Name)
	}
	for _, n := range m.nodes {
		r.Resources = append(r.Resources, addr.Resource{Module: n.Path, Mode: of.Mode, Type: of.Type, Name: of.Name})
	}
	r.origins = origins
	return ""
}

// becomesNull returns the end of a sentence about the first attribute of a path, whose last attribute becomes null.
func becomesNull(stored []string) string {
	if len(stored) > 1 {
		return "has no value for " + strings.Join(stored[1:], ".") + " afterwards."
	}
	return "is null afterwards."
}

// versionEdits returns the edits that set the version argument of a write-only argument. It returns nil if the
// write-only argument has no version argument (version is nil), or if the configuration sets it already.
func (d *Draft) versionEdits(m *module, of addr.Resource, a occurrence, s *schema.Block, stored []string, version *schema.Attr, r *Result) []edit {
	if version == nil || a.has(version.Name) {
		return nil
	}
	var argument *schema.Attr
	for _, x := range beside(s, stored) {
		if x.Name == a.name {
			argument = x
		}
	}
	value, out := d.version(m, of, a, version, argument, r)
	text := version.Name + " = " + value
	if a.object == nil {
		out = append(out, insert(a.f, a.body, a.attr, text)...)
	} else {
		end := a.expr.Range().End.Byte
		if a.object.OpenRange.Start.Line == a.expr.Range().Start.Line { // the object is on one line
			out = append(out, edit{a.f, end, end, ", " + text})
		} else {
			at := a.f.afterLine(a.expr.Range())
			out = append(out, edit{a.f, at, at, a.f.indent(a.at.Start.Byte) + text + "\n"})
		}
	}
	return out
}

// has reports whether the block or object of this assignment also assigns the argument name.
func (a occurrence) has(name string) bool {
	if a.object == nil {
		return a.body.Body.Attributes[name] != nil
	}
	return slices.ContainsFunc(a.object.Items, func(i hclsyntax.ObjectConsItem) bool { return keyOf(i.KeyExpr) == name })
}

// occurrences returns the assignments in a body of an argument at a path of names.
func occurrences(f *part, resource *hclsyntax.Block, body *hclsyntax.Body, at *hclsyntax.Block, names []string, in scope) []occurrence {
	var out []occurrence
	if a := body.Attributes[names[0]]; a != nil {
		if len(names) > 1 {
			return inObject(f, resource, a.Expr, names[1:], in)
		}
		return []occurrence{{f: f, block: resource, in: in, name: names[0], at: a.NameRange, expr: a.Expr, body: at, attr: a, inside: body != resource.Body}}
	}
	for _, b := range body.Blocks {
		switch {
		case b.Type == "_":
			out = append(out, occurrences(f, resource, b.Body, b, names, in)...)
		case len(names) > 1 && b.Type == names[0]:
			out = append(out, occurrences(f, resource, b.Body, b, names[1:], in)...)
		case len(names) > 1 && b.Type == "dynamic" && len(b.Labels) == 1 && b.Labels[0] == names[0]:
			for _, content := range b.Body.Blocks {
				if content.Type == "content" {
					out = append(out, occurrences(f, resource, content.Body, content, names[1:], iterating(b, in))...)
				}
			}
		}
	}
	return out
}

// iterating returns the scope for the content of a dynamic block: in, with the name of the iterator for the for_each
// expression.
func iterating(b *hclsyntax.Block, in scope) scope {
	over := b.Body.Attributes["for_each"]
	if over == nil {
		return in
	}
	name := b.Labels[0]
	if a := b.Body.Attributes["iterator"]; a != nil {
		name = hcl.ExprAsKeyword(a.Expr)
	}
	return in.with(name, over.Expr)
}

// inObject returns the assignments at a path of names in e. It searches objects, the elements of tuples and the results
// of for expressions. If an object does not have the first name, it counts as a map of objects, whose values are
// searched.
func inObject(f *part, resource *hclsyntax.Block, e hclsyntax.Expression, names []string, in scope) []occurrence {
	var out []occurrence
	switch e := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return inObject(f, resource, e.Expression, names, in)
	case *hclsyntax.TupleConsExpr:
		for _, x := range e.Exprs {
			out = append(out, inObject(f, resource, x, names, in)...)
		}
	case *hclsyntax.ForExpr:
		return inObject(f, resource, e.ValExpr, names, in.with(e.KeyVar, e.CollExpr).with(e.ValVar, e.CollExpr))
	case *hclsyntax.ObjectConsExpr:
		any := false
		for _, item := range e.Items {
			if keyOf(item.KeyExpr) != names[0] {
				continue
			}
			any = true
			if len(names) > 1 {
				out = append(out, inObject(f, resource, item.ValueExpr, names[1:], in)...)
				continue
			}
			out = append(out, occurrence{f: f, block: resource, in: in, name: names[0], at: item.KeyExpr.Range(), expr: item.ValueExpr, object: e, inside: true})
		}
		if !any { // no item has the name, so e is a map of objects
			for _, item := range e.Items {
				out = append(out, inObject(f, resource, item.ValueExpr, names, in)...)
			}
		}
	}
	return out
}

// ignores reports whether ignore_changes of a resource contains an argument, a part of it, or all.
func ignores(b *hclsyntax.Block, name string) bool {
	for _, inner := range b.Body.Blocks {
		if inner.Type != "lifecycle" || inner.Body.Attributes["ignore_changes"] == nil {
			continue
		}
		e := inner.Body.Attributes["ignore_changes"].Expr
		if hcl.ExprAsKeyword(e) == "all" {
			return true
		}
		for _, t := range hclsyntax.Variables(e) {
			if t.RootName() == name {
				return true
			}
		}
	}
	return false
}

// substitute returns the edits that replace references to an attribute, which is null after the move, by the expression
// that the argument has now. If that is not possible, substitute returns the reason. Otherwise the reason is "".
func (d *Draft) substitute(m *module, of addr.Resource, stored []string, found []occurrence) ([]edit, string) {
	s := symbol{"resource", of.Type, of.Name}
	null := func(u use, which string) string {
		return fmt.Sprintf("%s uses %s, %s would be null. Replace this reference first, for example by the value of the argument.", describe(u), u.f.source(u.traversal.SourceRange()), which)
	}
	var edits []edit
	for _, u := range m.uses(s) {
		names := u.steps(s)
		switch a := found[0]; {
		case len(names) == 0:
			if u.reads(s, stored[0]) {
				return nil, null(u, "whose "+stored[0])
			}
		case names[0] != stored[0]:
		case len(stored) > 1 || len(names) > 1 || len(found) > 1 || !portable(a.expr):
			return nil, null(u, "which")
		default:
			edits = append(edits, replace(u.f, u.traversal.SourceRange(), operand(a)))
		}
	}
	self := false
	m.blocks("resource", []string{of.Type, of.Name}, func(_ *part, b *hclsyntax.Block) { self = self || readsSelf(b, stored[0]) })
	if self {
		return nil, fmt.Sprintf("%s uses self.%s, which would be null. Replace this reference first, for example by the value of the argument.", of, stored[0])
	}
	if name := m.inJSON(symbol{"resource", of.Type, of.Name}); name != "" {
		return nil, fmt.Sprintf("%s may use %s.%s, which would be null.", name, of, strings.Join(stored, "."))
	}
	return edits, ""
}

// portable reports whether an expression has the same value outside its resource: it does not use self, each or count.
func portable(e hclsyntax.Expression) bool {
	for _, t := range hclsyntax.Variables(e) {
		if n := t.RootName(); n == "each" || n == "count" || n == "self" {
			return false
		}
	}
	return true
}

// operand returns the text of the expression of an argument, in parentheses if that is necessary inside another
// expression.
func operand(a occurrence) string {
	text := a.f.source(a.expr.Range())
	switch a.expr.(type) {
	case *hclsyntax.ScopeTraversalExpr, *hclsyntax.TemplateExpr, *hclsyntax.FunctionCallExpr, *hclsyntax.IndexExpr, *hclsyntax.LiteralValueExpr:
		return text
	}
	return "(" + text + ")"
}

// inJSON sets r.Advice to a description of the edit for the user if a JSON file declares the resource, and returns "".
// If no JSON file declares it, inJSON returns the reason why the move is refused.
func (d *Draft) inJSON(m *module, of addr.Resource, stored, to []string, r *Result) string {
	for n := range m.nodes[0].Module.Resources {
		if n.Mode != of.Mode || n.Type != of.Type || n.Name != of.Name {
			continue
		}
		declared := m.nodes[0].Module.Resources[n]
		last := to[len(to)-1]
		r.Advice = fmt.Sprintf("In %s, rename the argument %q of %s to %q.\n", declared.Range.Filename, strings.Join(stored, "."), of, last)
		if s := d.in.Block(m.nodes[0].Provider(declared.LocalProvider().Local), of.Mode, of.Type); s != nil {
			if v := schema.VersionOf(beside(s, to), last); v != nil {
				r.Advice += fmt.Sprintf("Beside it, set %q to 1. Increase the number with each new value.\n", v.Name)
			}
		}
		r.Advice += "If the value comes from a variable that only such arguments use, set \"ephemeral\": true in the variable.\n"
		r.Notes = append(r.Notes, fmt.Sprintf("%s was not changed, because it is JSON.", declared.Range.Filename))
		r.Notes = append(r.Notes, d.brokenBy([]effect{{declaration: declaration{m, symbol{"resource", of.Type, of.Name}}, attribute: stored[0], now: becomesNull(stored)}})...)
		return ""
	}
	return undeclared(of)
}
