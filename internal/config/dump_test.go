package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config/native"
	"github.com/zclconf/go-cty/cty"
)

// dump writes a module without its ranges, so that equal declarations have equal texts in both syntaxes and in any
// arrangement of files. It reads bodies with bodySchema.
func dump(m *Module) string {
	d := &dumper{}
	for _, v := range m.Version {
		d.line("version %s", v.Text)
	}
	for _, local := range sortedKeys(m.Required) {
		r := m.Required[local]
		d.line("requires %s = %s host=%v versions=%s aliases=%v implied=%v", local, r.Source, r.HostGiven, texts(r.Versions), r.Aliases, r.Range == hcl.Range{})
	}
	d.backend("backend", m.Backend)
	d.backend("cloud", m.Cloud)
	if m.Encryption != nil {
		d.line("encryption")
		d.body(m.Encryption)
	}
	for _, local := range sortedKeys(m.Meta) {
		d.line("meta %s", local)
		d.body(m.Meta[local].Body)
	}
	for _, name := range sortedKeys(m.Variables) {
		d.variable(m.Variables[name])
	}
	for _, name := range sortedKeys(m.Locals) {
		d.line("local %s = %s", name, show(m.Locals[name].Expr))
	}
	for _, name := range sortedKeys(m.Outputs) {
		d.output(m.Outputs[name])
	}
	for _, name := range sortedKeys(m.Calls) {
		d.call(m.Calls[name])
	}
	for _, name := range sortedNames(m.Providers) {
		p := m.Providers[name]
		d.line("provider %s each=%s versions=%s", name, show(p.ForEach), texts(p.Versions))
		d.body(p.Body)
	}
	d.resources(m)
	for _, name := range sortedKeys(m.Checks) {
		c := m.Checks[name]
		d.line("check %s scoped=%v", name, c.Scoped)
		d.conditions("assert", c.Asserts)
	}
	d.statements(m)
	return d.b.String()
}

type dumper struct{ b strings.Builder }

func (d *dumper) line(format string, a ...any) { fmt.Fprintf(&d.b, format+"\n", a...) }

func texts(vs []VersionConstraint) string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Text)
	}
	return strings.Join(out, ";")
}

func (d *dumper) backend(what string, b *Backend) {
	if b != nil {
		d.line("%s %s", what, b.Type)
		d.body(b.Body)
	}
}

func (d *dumper) variable(v *Variable) {
	def := "none"
	if v.Default != cty.NilVal {
		def = v.Default.GoString()
	}
	d.line("variable %s %q type=%s given=%v defaults=%v default=%s nullable=%v sensitive=%v ephemeral=%v const=%v deprecated=%q", v.Name, v.Description, v.Type.FriendlyName(), v.TypeGiven, v.Defaults != nil, def, v.Nullable, v.Sensitive, v.Ephemeral, v.Const, v.Deprecated)
	d.conditions("validation", v.Validations)
}

func (d *dumper) output(o *Output) {
	typ := "none"
	if o.Type != cty.NilType {
		typ = o.Type.FriendlyName()
	}
	d.line("output %s %q = %s type=%s sensitive=%v ephemeral=%v deprecated=%q depends=%s", o.Name, o.Description, show(o.Expr), typ, o.Sensitive, o.Ephemeral, o.Deprecated, paths(o.DependsOn))
	d.conditions("precondition", o.Preconditions)
}

func (d *dumper) call(c *Call) {
	d.line("module %s source=%s version=%s %s depends=%s given=%v", c.Name, show(c.Source), show(c.Versions), repeats(c.Repeat), paths(c.DependsOn), c.ProvidersGiven)
	slices.SortFunc(c.Providers, func(a, b Passed) int { return strings.Compare(a.Child.String(), b.Child.String()) })
	for _, p := range c.Providers {
		d.line("  passes %s = %s[%s]", p.Child, p.Parent.ProviderName, show(p.Parent.Key))
	}
	d.body(c.Body)
}

func repeats(r Repeat) string {
	return fmt.Sprintf("count=%s each=%s enabled=%s", show(r.Count), show(r.ForEach), show(r.Enabled))
}

func (d *dumper) resources(m *Module) {
	var names []Name
	for n := range m.Resources {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b Name) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, n := range names {
		d.resource(m.Resources[n])
	}
	for _, n := range slices.SortedFunc(maps.Keys(m.Actions), func(a, b Name) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }) {
		d.resource(m.Actions[n])
	}
}

func (d *dumper) resource(r *Resource) {
	prov := "implied"
	if r.Provider != nil {
		prov = fmt.Sprintf("%s[%s]", r.Provider.ProviderName, show(r.Provider.Key))
	}
	d.line("%s %s.%s provider=%s %s depends=%s check=%q", r.Mode.Block(), r.Type, r.Name.Name, prov, repeats(r.Repeat), paths(r.DependsOn), r.Check)
	l := r.Lifecycle
	d.line("  lifecycle first=%v prevent=%s destroy=%s all=%v ignore=%s", l.CreateFirst, show(l.PreventDestroy), show(l.Destroy), l.IgnoreAll, paths(l.Ignore))
	for _, t := range l.Triggers {
		d.line("  trigger %s", show(t))
	}
	for _, t := range l.ActionTriggers {
		d.line("  action_trigger %v condition=%s on_failure=%s", t.Events, show(t.Condition), t.OnFailure)
		for _, a := range t.Actions {
			d.line("    %s.%s[%s]", a.Type, a.Name.Name, show(a.Key))
		}
	}
	d.conditions("precondition", l.Preconditions)
	d.conditions("postcondition", l.Postconditions)
	d.connection(r.Connection)
	d.provisioners(r.Provisioners)
	d.body(r.Body)
}

func (d *dumper) connection(c *Connection) {
	if c != nil {
		d.line("  connection")
		d.body(c.Body)
	}
}

func (d *dumper) provisioners(list []*Provisioner) {
	for _, p := range list {
		d.line("  provisioner %s destroy=%v continue=%v", p.Type, p.Destroy, p.Continue)
		d.connection(p.Connection)
		d.body(p.Body)
	}
}

func (d *dumper) conditions(what string, list []*Condition) {
	for _, c := range list {
		d.line("  %s %s: %s", what, show(c.Condition), show(c.Message))
	}
}

func (d *dumper) statements(m *Module) {
	for _, s := range m.Moved {
		d.line("moved %s -> %s", s.From.Target, s.To.Target)
	}
	for _, s := range m.Removed {
		destroy := "unsaid"
		if s.Destroy != nil {
			destroy = fmt.Sprint(*s.Destroy)
		}
		d.line("removed %s destroy=%s", s.From.Target, destroy)
		d.connection(s.Connection)
		d.provisioners(s.Provisioners)
	}
	for _, s := range m.Imports {
		prov := "none"
		if s.Provider != nil {
			prov = s.Provider.String()
		}
		d.line("import %s (%s) id=%s identity=%s each=%s provider=%s", show(s.To), s.Resource, show(s.ID), show(s.Identity), show(s.ForEach), prov)
	}
}

// bodySchema contains the names that tests use in bodies.
var bodySchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "count"}, {Name: "for_each"}, {Name: "command"}, {Name: "type"}, {Name: "path"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "disk"}, {Type: "dynamic", LabelNames: []string{"type"}}},
}

var dynamicSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "for_each"}, {Name: "iterator"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "content"}},
}

func (d *dumper) body(b hcl.Body) { d.content(b, bodySchema, "    ") }

func (d *dumper) content(b hcl.Body, s *hcl.BodySchema, indent string) {
	c, ds := b.Content(s)
	if ds.HasErrors() {
		d.line("%sERROR %s", indent, ds)
	}
	for _, name := range sortedKeys(c.Attributes) {
		d.line("%s%s = %s", indent, name, show(c.Attributes[name].Expr))
	}
	for _, inner := range c.Blocks {
		d.line("%s%s %s", indent, inner.Type, strings.Join(inner.Labels, " "))
		next := bodySchema
		if inner.Type == "dynamic" {
			next = dynamicSchema
		}
		d.content(inner.Body, next, indent+"  ")
	}
}

func paths(list []hcl.Traversal) string {
	var out []string
	for _, t := range list {
		out = append(out, steps(t))
	}
	return strings.Join(out, ",")
}

func steps(t hcl.Traversal) string {
	var b strings.Builder
	for _, step := range t {
		switch step := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(step.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + step.Name)
		case hcl.TraverseIndex:
			b.WriteString("[" + step.Key.GoString() + "]")
		}
	}
	return b.String()
}

// show writes an expression of either syntax.
func show(e hcl.Expression) string {
	if e == nil {
		return "-"
	}
	n, ds := native.Expression(e)
	if ds.HasErrors() {
		return "ERROR " + ds.Error()
	}
	return tree(n)
}

func tree(e hclsyntax.Expression) string {
	switch e := e.(type) {
	case *hclsyntax.TemplateWrapExpr:
		return tree(e.Wrapped)
	case *hclsyntax.ParenthesesExpr:
		return tree(e.Expression)
	case *hclsyntax.TemplateExpr:
		return "tmpl(" + trees(e.Parts) + ")"
	case *hclsyntax.LiteralValueExpr:
		return e.Val.GoString()
	case *hclsyntax.ScopeTraversalExpr:
		return steps(e.Traversal)
	case *hclsyntax.RelativeTraversalExpr:
		return tree(e.Source) + steps(e.Traversal)
	case *hclsyntax.TupleConsExpr:
		return "[" + trees(e.Exprs) + "]"
	case *hclsyntax.ObjectConsExpr:
		var items []string
		for _, item := range e.Items {
			items = append(items, tree(item.KeyExpr)+"="+tree(item.ValueExpr))
		}
		return "{" + strings.Join(items, ",") + "}"
	case *hclsyntax.ObjectConsKeyExpr:
		if v, ds := e.Value(nil); !ds.HasErrors() {
			return v.GoString()
		}
		return tree(e.Wrapped)
	case *hclsyntax.FunctionCallExpr:
		return e.Name + "(" + trees(e.Args) + ")"
	case *hclsyntax.BinaryOpExpr:
		return fmt.Sprintf("(%s %v %s)", tree(e.LHS), e.Op.Type.FriendlyName(), tree(e.RHS))
	case *hclsyntax.UnaryOpExpr:
		if v, ds := e.Value(nil); !ds.HasErrors() {
			return v.GoString()
		}
		return "op " + tree(e.Val)
	case *hclsyntax.IndexExpr:
		return tree(e.Collection) + "[" + tree(e.Key) + "]"
	}
	return fmt.Sprintf("%T", e)
}

func trees(list []hclsyntax.Expression) string {
	var out []string
	for _, e := range list {
		out = append(out, tree(e))
	}
	return strings.Join(out, ", ")
}
