package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// These tests build declarations from text with a small reader instead of the loader, so that they test this package
// alone. Lines "-- dir --" separate modules; the first module is the root.

type reader struct {
	t    testing.TB
	dirs map[string]*config.Module
	tree *config.Tree
}

// load reads a configuration. A line "-- NAME --" begins the text of the module with the source NAME. The text before
// it is the root module.
func load(t testing.TB, text string) *config.Tree {
	t.Helper()
	r := &reader{t: t, dirs: map[string]*config.Module{}, tree: &config.Tree{Sources: &diag.Sources{}}}
	dir := "."
	files := map[string]*strings.Builder{".": {}}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "-- ") {
			dir = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "-- "), " --")
			files[dir] = &strings.Builder{}
			continue
		}
		files[dir].WriteString(line)
	}
	for _, dir := range slices.Sorted(maps.Keys(files)) {
		r.dirs[dir] = r.module(dir, files[dir].String())
	}
	r.tree.Root = r.node(addr.Module{}, ".", nil, nil)
	return r.tree
}

func (r *reader) node(path addr.Module, dir string, call *config.Call, parent *config.Node) *config.Node {
	m := r.dirs[dir]
	if m == nil {
		r.t.Fatalf("no module %q", dir)
	}
	n := &config.Node{Path: path, Module: m, Call: call, Parent: parent, Children: map[string]*config.Node{}, Source: dir}
	for name, c := range m.Calls {
		src, _ := c.Source.Value(nil)
		n.Children[name] = r.node(path.Child(name), src.AsString(), c, n)
	}
	return n
}

func (r *reader) module(dir, text string) *config.Module {
	name := "main.tf"
	if dir != "." {
		name = dir + "/main.tf"
	}
	r.tree.Sources.Set(name, []byte(text))
	f, diags := hclsyntax.ParseConfig([]byte(text), name, hcl.InitialPos)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	m := &config.Module{
		Dir: dir, Required: map[string]*config.Requirement{}, Meta: map[string]*config.Meta{},
		Variables: map[string]*config.Variable{}, Locals: map[string]*config.Local{}, Outputs: map[string]*config.Output{},
		Calls: map[string]*config.Call{}, Providers: map[config.ProviderName]*config.Provider{},
		Resources: map[config.Name]*config.Resource{}, Checks: map[string]*config.Check{},
	}
	for _, b := range f.Body.(*hclsyntax.Body).Blocks {
		r.block(m, b, "")
	}
	return m
}

func (r *reader) block(m *config.Module, b *hclsyntax.Block, check string) {
	at := b.DefRange()
	switch b.Type {
	case "variable":
		m.Variables[b.Labels[0]] = r.variable(b)
	case "locals":
		for n, a := range b.Body.Attributes {
			m.Locals[n] = &config.Local{Expr: a.Expr, Range: a.SrcRange}
		}
	case "output":
		o := &config.Output{Name: b.Labels[0], Range: at, Type: cty.NilType}
		o.Expr = r.expr(b, "value")
		o.Sensitive, o.Ephemeral = r.flag(b, "sensitive"), r.flag(b, "ephemeral")
		o.Deprecated = r.text(b, "deprecated")
		o.DependsOn = r.traversals(b, "depends_on")
		o.Preconditions = r.conditions(b.Body, "precondition")
		if e := r.expr(b, "type"); e != nil {
			o.Type, o.Defaults, _ = typeexpr.TypeConstraintWithDefaults(e)
		}
		m.Outputs[o.Name] = o
	case "module":
		m.Calls[b.Labels[0]] = r.call(b)
	case "provider":
		p := &config.Provider{ProviderName: config.ProviderName{Local: b.Labels[0], Alias: r.text(b, "alias")}, ForEach: r.expr(b, "for_each"), Range: at}
		p.Body = r.rest(b, []string{"alias", "for_each", "version"}, nil)
		m.Providers[p.ProviderName] = p
	case "resource", "data", "ephemeral":
		res := r.resource(b)
		res.Check = check
		m.Resources[res.Name] = res
	case "check":
		c := &config.Check{Name: b.Labels[0], Asserts: r.conditions(b.Body, "assert"), Range: at}
		for _, inner := range b.Body.Blocks {
			if inner.Type == "data" || inner.Type == "ephemeral" {
				r.block(m, inner, c.Name)
				c.Scoped = append(c.Scoped, r.resource(inner).Name)
			}
		}
		m.Checks[c.Name] = c
	case "import":
		m.Imports = append(m.Imports, r.importBlock(b))
	case "required":
		r.required(m, b)
	default:
		r.t.Fatalf("unknown block %q", b.Type)
	}
}

// required reads `required "local" { source = "…" aliases = [local.alias] }`.
func (r *reader) required(m *config.Module, b *hclsyntax.Block) {
	req := &config.Requirement{Local: b.Labels[0], Range: b.DefRange()}
	p, err := addr.ParseProvider(r.text(b, "source"))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Source = p
	for _, t := range r.traversals(b, "aliases") {
		req.Aliases = append(req.Aliases, providerName(t))
	}
	m.Required[req.Local] = req
}

func providerName(t hcl.Traversal) config.ProviderName {
	n := config.ProviderName{Local: t.RootName()}
	if len(t) > 1 {
		if a, ok := t[1].(hcl.TraverseAttr); ok {
			n.Alias = a.Name
		}
	}
	return n
}

func (r *reader) variable(b *hclsyntax.Block) *config.Variable {
	v := &config.Variable{Name: b.Labels[0], Type: cty.DynamicPseudoType, Default: cty.NilVal, Nullable: true, Range: b.DefRange()}
	if e := r.expr(b, "type"); e != nil {
		v.Type, v.Defaults, _ = typeexpr.TypeConstraintWithDefaults(e)
		v.TypeGiven = true
	}
	if e := r.expr(b, "default"); e != nil {
		v.Default, _ = e.Value(nil)
		if out, err := convert.Convert(v.Default, v.Type); err == nil {
			v.Default = out
		}
	}
	if b.Body.Attributes["nullable"] != nil {
		v.Nullable = r.flag(b, "nullable")
	}
	v.Sensitive, v.Ephemeral, v.Const = r.flag(b, "sensitive"), r.flag(b, "ephemeral"), r.flag(b, "const")
	v.Deprecated = r.text(b, "deprecated")
	v.Validations = r.conditions(b.Body, "validation")
	return v
}

func (r *reader) call(b *hclsyntax.Block) *config.Call {
	c := &config.Call{Name: b.Labels[0], Source: r.expr(b, "source"), Versions: r.expr(b, "version"), Range: b.DefRange(), DependsOn: r.traversals(b, "depends_on")}
	c.Repeat = r.repeat(b)
	if e := r.expr(b, "providers"); e != nil {
		c.ProvidersGiven = true
		pairs, _ := hcl.ExprMap(e)
		for _, p := range pairs {
			k, _ := hcl.AbsTraversalForExpr(p.Key)
			c.Providers = append(c.Providers, config.Passed{Child: providerName(k), Parent: *r.providerRef(p.Value), Range: hcl.RangeBetween(p.Key.Range(), p.Value.Range())})
		}
	}
	c.Body = r.rest(b, []string{"source", "version", "count", "for_each", "depends_on", "providers"}, []string{"lifecycle"})
	return c
}

func (r *reader) providerRef(e hcl.Expression) *config.ProviderRef {
	out := &config.ProviderRef{Range: e.Range()}
	if ix, ok := e.(*hclsyntax.IndexExpr); ok {
		out.Key = ix.Key
		e = ix.Collection
	}
	t, diags := hcl.AbsTraversalForExpr(e)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	out.ProviderName = providerName(t)
	if len(t) > 2 {
		ix := t[2].(hcl.TraverseIndex)
		out.Key = &hclsyntax.LiteralValueExpr{Val: ix.Key, SrcRange: ix.SrcRange}
	}
	return out
}

func (r *reader) repeat(b *hclsyntax.Block) config.Repeat {
	rep := config.Repeat{Count: r.expr(b, "count"), ForEach: r.expr(b, "for_each")}
	for _, inner := range b.Body.Blocks {
		if inner.Type == "lifecycle" {
			rep.Enabled = r.expr(inner, "enabled")
		}
	}
	return rep
}

func (r *reader) resource(b *hclsyntax.Block) *config.Resource {
	mode := map[string]addr.Mode{"resource": addr.Managed, "data": addr.Data, "ephemeral": addr.Ephemeral}[b.Type]
	res := &config.Resource{Name: config.Name{Mode: mode, Type: b.Labels[0], Name: b.Labels[1]}, Range: b.DefRange(), TypeRange: b.LabelRanges[0], DependsOn: r.traversals(b, "depends_on")}
	res.Repeat = r.repeat(b)
	if e := r.expr(b, "provider"); e != nil {
		res.Provider = r.providerRef(e)
	}
	for _, inner := range b.Body.Blocks {
		switch inner.Type {
		case "lifecycle":
			res.Lifecycle = r.lifecycle(inner)
		case "connection":
			res.Connection = &config.Connection{Body: inner.Body}
		case "provisioner":
			p := &config.Provisioner{Type: inner.Labels[0], Range: inner.DefRange()}
			p.Destroy = hcl.ExprAsKeyword(r.exprOr(inner, "when")) == "destroy"
			p.Body = r.rest(inner, []string{"when", "on_failure"}, []string{"connection"})
			res.Provisioners = append(res.Provisioners, p)
		}
	}
	res.Body = r.rest(b, []string{"count", "for_each", "provider", "depends_on"}, []string{"lifecycle", "connection", "provisioner"})
	return res
}

func (r *reader) exprOr(b *hclsyntax.Block, name string) hcl.Expression {
	if e := r.expr(b, name); e != nil {
		return e
	}
	return hcl.StaticExpr(cty.NilVal, hcl.Range{})
}

func (r *reader) lifecycle(b *hclsyntax.Block) config.Lifecycle {
	l := config.Lifecycle{PreventDestroy: r.expr(b, "prevent_destroy"), Destroy: r.expr(b, "destroy")}
	l.CreateFirst = r.flag(b, "create_before_destroy")
	l.Preconditions, l.Postconditions = r.conditions(b.Body, "precondition"), r.conditions(b.Body, "postcondition")
	if e := r.expr(b, "replace_triggered_by"); e != nil {
		l.Triggers, _ = hcl.ExprList(e)
	}
	return l
}

func (r *reader) importBlock(b *hclsyntax.Block) *config.Import {
	im := &config.Import{To: r.expr(b, "to"), ID: r.expr(b, "id"), Identity: r.expr(b, "identity"), ForEach: r.expr(b, "for_each"), Range: b.DefRange()}
	names := words(im.To)
	var m addr.Module
	for len(names) > 1 && names[0] == "module" {
		m = m.Child(names[1])
		names = names[2:]
	}
	im.Resource = addr.Resource{Module: m, Mode: addr.Managed, Type: names[0], Name: names[1]}
	return im
}

// words returns the names in an address.
func words(e hcl.Expression) []string {
	var t hcl.Traversal
	var out []string
	switch e := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		t = e.Traversal
	case *hclsyntax.IndexExpr:
		return words(e.Collection)
	case *hclsyntax.RelativeTraversalExpr:
		out, t = words(e.Source), e.Traversal
	case *hclsyntax.TemplateWrapExpr:
		return words(e.Wrapped)
	case *hclsyntax.TemplateExpr:
		v, _ := e.Value(nil)
		inner, _ := hclsyntax.ParseExpression([]byte(v.AsString()), "", hcl.InitialPos)
		return words(inner)
	}
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseRoot:
			out = append(out, s.Name)
		case hcl.TraverseAttr:
			out = append(out, s.Name)
		}
	}
	return out
}

func (r *reader) conditions(b *hclsyntax.Body, typ string) []*config.Condition {
	var out []*config.Condition
	for _, inner := range b.Blocks {
		if inner.Type == typ {
			out = append(out, &config.Condition{Condition: r.expr(inner, "condition"), Message: r.expr(inner, "error_message"), Range: inner.DefRange()})
		}
	}
	return out
}

// rest returns the body without meta-arguments.
func (r *reader) rest(b *hclsyntax.Block, attrs, blocks []string) hcl.Body {
	out := &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: b.Body.SrcRange, EndRange: b.Body.EndRange}
	for n, a := range b.Body.Attributes {
		if !slices.Contains(attrs, n) {
			out.Attributes[n] = a
		}
	}
	for _, inner := range b.Body.Blocks {
		if !slices.Contains(blocks, inner.Type) {
			out.Blocks = append(out.Blocks, inner)
		}
	}
	return out
}

func (r *reader) expr(b *hclsyntax.Block, name string) hcl.Expression {
	if a := b.Body.Attributes[name]; a != nil {
		return a.Expr
	}
	return nil
}

func (r *reader) flag(b *hclsyntax.Block, name string) bool {
	e := r.expr(b, name)
	if e == nil {
		return false
	}
	v, _ := e.Value(nil)
	return v.True()
}

func (r *reader) text(b *hclsyntax.Block, name string) string {
	e := r.expr(b, name)
	if e == nil {
		return ""
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() {
		r.t.Fatal(diags)
	}
	return v.AsString()
}

func (r *reader) traversals(b *hclsyntax.Block, name string) []hcl.Traversal {
	e := r.expr(b, name)
	if e == nil {
		return nil
	}
	list, _ := hcl.ExprList(e)
	var out []hcl.Traversal
	for _, item := range list {
		t, diags := hcl.AbsTraversalForExpr(item)
		if diags.HasErrors() {
			r.t.Fatal(diags)
		}
		out = append(out, t)
	}
	return out
}

// fake returns the schemas of the provider "test" for every provider.
type fake struct{}

func (fake) Of(p addr.Provider) *provider.Schemas {
	s := provider.NewSchemas(&schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{
		{Name: "region", Type: cty.String, Optional: true},
		{Name: "token", Type: cty.String, Optional: true},
	}}})
	for _, mode := range []addr.Mode{addr.Managed, addr.Data, addr.Ephemeral} {
		s.Add(mode, "test_thing", func() (*schema.Schema, error) { return objectType(mode), nil })
		s.Add(mode, "test_strict", func() (*schema.Schema, error) {
			return &schema.Schema{Block: &schema.Block{Attrs: []*schema.Attr{{Name: "id", Type: cty.String, Computed: true}, {Name: "need_wo", Type: cty.String, Required: true, WriteOnly: true}}}}, nil
		})
		s.Add(mode, "test_other", func() (*schema.Schema, error) { return objectType(mode), nil })
	}
	return s
}

// cached is fake with a cache of the schemas.
var cached = &cachedSchemas{m: map[addr.Provider]*provider.Schemas{}}

type cachedSchemas struct {
	m map[addr.Provider]*provider.Schemas
}

func (c *cachedSchemas) Of(p addr.Provider) *provider.Schemas {
	if c.m[p] == nil {
		c.m[p] = fake{}.Of(p)
	}
	return c.m[p]
}

func objectType(mode addr.Mode) *schema.Schema {
	b := &schema.Block{
		Attrs: []*schema.Attr{
			{Name: "any", Type: cty.DynamicPseudoType, Optional: true},
			{Name: "id", Type: cty.String, Computed: true},
			{Name: "legacy", Type: cty.List(cty.Object(map[string]cty.Type{"a": cty.String, "b": cty.Number})), Optional: true, Computed: true},
			{Name: "list", Type: cty.List(cty.String), Optional: true},
			{Name: "name", Type: cty.String, Optional: true},
			{Name: "nested", Type: cty.Object(map[string]cty.Type{"x": cty.String, "y": cty.Number}), Optional: true,
				Object: &schema.Object{Nesting: schema.Single, Attrs: []*schema.Attr{{Name: "x", Type: cty.String, Optional: true}, {Name: "y", Type: cty.Number, Required: true}}}},
			{Name: "num", Type: cty.Number, Optional: true},
			{Name: "old", Type: cty.String, Optional: true, Deprecated: true, Deprecation: "Use name."},
			{Name: "secret", Type: cty.String, Optional: true, Sensitive: true},
			{Name: "secret_wo", Type: cty.String, Optional: true, WriteOnly: true},
			{Name: "tags", Type: cty.Map(cty.String), Optional: true},
		},
		Blocks: []*schema.Nested{
			{Name: "group", Nesting: schema.Group, Block: inner()},
			{Name: "keyed", Nesting: schema.Map, Block: inner()},
			{Name: "one", Nesting: schema.Single, Block: inner()},
			{Name: "rule", Nesting: schema.List, Block: inner(), Max: 3},
			{Name: "uniq", Nesting: schema.Set, Block: inner()},
		},
	}
	kept := func(b *schema.Block) { // kept removes the write-only attributes of a block
		b.Attrs = slices.DeleteFunc(b.Attrs, func(a *schema.Attr) bool { return a.WriteOnly })
	}
	kept(b.Blocks[4].Block)
	if mode != addr.Managed {
		kept(b)
		for _, n := range b.Blocks {
			kept(n.Block)
		}
	}
	return &schema.Schema{Block: b}
}

func inner() *schema.Block {
	return &schema.Block{
		Attrs: []*schema.Attr{
			{Name: "a", Type: cty.String, Optional: true},
			{Name: "b", Type: cty.Number, Optional: true},
			{Name: "wo", Type: cty.String, Optional: true, WriteOnly: true},
		},
	}
}

// compile compiles without errors.
func compile(t testing.TB, text string) *program.Program {
	t.Helper()
	var bag diag.Bag
	p, ok := Compile(load(t, text), &bag)
	if !ok {
		t.Fatalf("compile:\n%s", show(&bag))
	}
	return p
}

// check compiles and checks without errors.
func check(t testing.TB, text string) *program.Program {
	t.Helper()
	p := compile(t, text)
	var bag diag.Bag
	if !vet.Check(p, cached.Of, vet.CheckOptions{}, &bag) {
		t.Fatalf("check:\n%s", show(&bag))
	}
	return p
}

// rootFrame returns a root frame of a checked program.
func rootFrame(t testing.TB, text string, o frame.Options) *frame.Frame {
	t.Helper()
	var bag diag.Bag
	f, ok := frame.New(check(t, text), o, &bag)
	if !ok {
		t.Fatalf("frame:\n%s", show(&bag))
	}
	return f
}

// show formats diagnostics as text.
func show(bag *diag.Bag) string {
	var b strings.Builder
	for _, d := range bag.List() {
		at := ""
		if d.Subject != nil {
			at = fmt.Sprintf("%s:%d: ", d.Subject.Filename, d.Subject.Start.Line)
		}
		fmt.Fprintf(&b, "%s%s: %s\n", at, d.Severity, d.Summary)
		if d.Address != "" {
			fmt.Fprintf(&b, "    with %s\n", d.Address)
		}
		if d.Call != nil {
			fmt.Fprintf(&b, "    | while calling %s\n", d.Call)
		}
		for _, v := range d.Values {
			fmt.Fprintf(&b, "    | %s %s\n", v.Traversal, v.Statement)
		}
		for line := range strings.Lines(d.Detail) {
			fmt.Fprintf(&b, "    %s\n", strings.TrimRight(line, "\n"))
		}
	}
	return b.String()
}
