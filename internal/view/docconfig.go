package view

import (
	"cmp"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/lockfile"
	"github.com/lethe-iac/lethe/internal/lang/outline"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
	"github.com/zclconf/go-cty/cty"
)

// WriteConfigJSON writes the configuration as `show -json -config` prints it. The document is the configuration section
// of a plan document, with its own format version 1.0. hosts completes addresses of providers without a host.
func WriteConfigJSON(w io.Writer, program *program.Program, sch provider.Lookup, hosts jsondoc.Hosts) error {
	x := newObjects(sch)
	x.hosts = hosts
	c := x.configDocument(program)
	c.Format = formatConfig
	return jsondoc.Write(w, *c, jsondoc.OneLine)
}

// WriteModuleJSON writes one module in the form of `show -json -module`: a configuration without the parts that need
// installed modules and providers, namely called modules, schemas and expressions.
func WriteModuleJSON(w io.Writer, m *config.Module) error {
	r := configReader{objects: newObjects(nil), alone: true}
	n := &config.Node{Module: m}
	return jsondoc.Write(w, configDocument{formatConfig, r.providers(n), r.module(n)}, jsondoc.OneLine)
}

// configDocument is the configuration section of a plan document.
type configDocument struct {
	Format    string                              `json:"format_version,omitempty"` // only in the document of a configuration, not in a plan document
	Providers iter.Seq2[string, providerDocument] `json:"provider_config,omitempty"`
	Root      configModule                        `json:"root_module"`
}

// providerDocument is a provider configuration. It has a block, or it is implied because the module uses the provider.
type providerDocument struct {
	Name        string      `json:"name"`
	FullName    string      `json:"full_name"`
	Alias       string      `json:"alias,omitempty"`
	Versions    string      `json:"version_constraint,omitempty"`
	Module      string      `json:"module_address,omitempty"`
	Expressions expressions `json:"expressions,omitempty"`
}

// configModule is a module with the modules that it calls.
type configModule struct {
	Outputs   iter.Seq2[string, outputConfig]   `json:"outputs,omitempty"`
	Resources iter.Seq[resourceConfig]          `json:"resources,omitempty"`
	Calls     iter.Seq2[string, callConfig]     `json:"module_calls,omitempty"`
	Variables iter.Seq2[string, variableConfig] `json:"variables,omitempty"`
}

type outputConfig struct {
	Sensitive   bool        `json:"sensitive,omitempty"`
	Ephemeral   bool        `json:"ephemeral,omitempty"`
	Deprecated  string      `json:"deprecated,omitempty"`
	Expression  *expression `json:"expression,omitempty"`
	DependsOn   []string    `json:"depends_on,omitempty"`
	Description string      `json:"description,omitempty"`
}

// resourceConfig is a block of a managed resource, a data source or an ephemeral resource.
type resourceConfig struct {
	Address      string              `json:"address"`
	Mode         string              `json:"mode"`
	Type         string              `json:"type"`
	Name         string              `json:"name"`
	Provider     string              `json:"provider_config_key"`
	Provisioners []provisionerConfig `json:"provisioners,omitempty"`
	Expressions  expressions         `json:"expressions,omitempty"`
	Schema       *int64              `json:"schema_version,omitempty"`
	repetition
	DependsOn []string `json:"depends_on,omitempty"`
}

type provisionerConfig struct {
	Type        string      `json:"type"`
	Expressions expressions `json:"expressions,omitempty"`
}

type repetition struct {
	Count   expression `json:"count_expression,omitzero"`
	ForEach expression `json:"for_each_expression,omitzero"`
	Enabled expression `json:"enabled_expression,omitzero"`
}

// callConfig is a module call with its whole module.
type callConfig struct {
	Source      string      `json:"source"`
	Expressions expressions `json:"expressions,omitempty"`
	repetition
	Module    *configModule `json:"module,omitempty"`
	Versions  string        `json:"version_constraint,omitempty"`
	DependsOn []string      `json:"depends_on,omitempty"`
}

// variableConfig is a variable. An ephemeral variable has no default here.
type variableConfig struct {
	Type        jsondoc.Type `json:"type,omitzero"`
	Required    bool         `json:"required,omitempty"`
	Default     jsonValue    `json:"default,omitzero"`
	Description string       `json:"description,omitempty"`
	Sensitive   bool         `json:"sensitive,omitempty"`
	Ephemeral   bool         `json:"ephemeral,omitempty"`
	Deprecated  string       `json:"deprecated,omitempty"`
}

// expression has the references of an expression, or its value if it is constant.
type expression struct {
	References []string  `json:"references,omitempty"`
	Constant   jsonValue `json:"constant_value,omitzero"`
}

// expressions has the arguments and blocks of a body, sorted together by name. An argument is an expression. A block is
// an object, or an array or object of objects, depending on its nesting.
type expressions = iter.Seq2[string, any]

// configReader makes the configuration section.
type configReader struct {
	*objects
	prog  *program.Program // the whole configuration; nil if only one module is documented
	alone bool             // only one module is documented, without expressions and called modules
}

func (x *objects) configDocument(prog *program.Program) *configDocument {
	r := configReader{objects: x, prog: prog}
	return &configDocument{Providers: r.providers(prog.Tree().Root), Root: r.module(prog.Tree().Root)}
}

// providerKey returns the key by which resources refer to a provider configuration.
func providerKey(n *config.Node, name config.ProviderName) string {
	if n.Parent == nil {
		return name.String()
	}
	return n.Path.String() + ":" + name.String()
}

// keyOf returns the key of the provider configuration that a local name means. If the module has no block for the name,
// the configuration comes from the parent module, as far up as the parents know the provider.
func keyOf(n *config.Node, name config.ProviderName) string {
	for n.Module.Providers[name] == nil && n.Parent != nil {
		up, ok := passed(n, name)
		if !ok {
			break
		}
		n, name = n.Parent, up
	}
	return providerKey(n, name)
}

// passed returns the name that the parent module gives to a provider configuration of its child n. It returns false if
// the parent does not pass the configuration.
func passed(n *config.Node, name config.ProviderName) (config.ProviderName, bool) {
	for _, p := range n.Call.Providers {
		if p.Child == name {
			return p.Parent.ProviderName, true
		}
	}
	if n.Call.ProvidersGiven || name.Alias != "" {
		return name, false
	}
	_, known := n.Parent.Module.Required[name.Local]
	known = known || n.Parent.Module.Providers[name] != nil
	return name, known && n.Parent.Provider(name.Local) == n.Provider(name.Local)
}

// providers yields all provider configurations of a module and of the modules that it calls.
func (r configReader) providers(root *config.Node) iter.Seq2[string, providerDocument] {
	all := map[string]providerDocument{}
	root.Walk(func(n *config.Node) {
		for name, block := range n.Module.Providers {
			all[providerKey(n, name)] = r.provider(n, name, block)
		}
		for local := range n.Module.Required {
			name := config.ProviderName{Local: local}
			key := keyOf(n, name)
			if _, present := all[key]; !present && key == providerKey(n, name) {
				all[key] = r.provider(n, name, nil)
			}
		}
	})
	return jsondoc.Members(all, func(p providerDocument) providerDocument { return p })
}

// provider returns the document of a provider configuration. If the configuration is implied, block is nil.
func (r configReader) provider(n *config.Node, name config.ProviderName, block *config.Provider) providerDocument {
	p := n.Provider(name.Local)
	doc := providerDocument{Name: name.Local, FullName: r.hosts.Of(p), Alias: name.Alias, Module: n.Path.String()}
	if required := n.Module.Required[name.Local]; required != nil {
		doc.Versions = lockfile.Constraint(required.Versions)
	}
	if block == nil || r.Schemas == nil {
		return doc
	}
	if s := r.Schemas(p); s != nil && s.Config != nil {
		doc.Expressions = expressionsOf(outline.OfBody(block.Body, s.Config.Block))
	}
	return doc
}

func (r configReader) module(n *config.Node) configModule {
	resources := slices.Collect(maps.Values(n.Module.Resources))
	slices.SortFunc(resources, func(a, b *config.Resource) int { return a.In(n.Path).Compare(b.In(n.Path)) })
	return configModule{
		Outputs:   jsondoc.Members(n.Module.Outputs, r.output),
		Resources: jsondoc.Each(resources, func(res *config.Resource) resourceConfig { return r.resource(n, res) }),
		Calls:     jsondoc.Members(n.Module.Calls, func(c *config.Call) callConfig { return r.call(c, n.Children[c.Name]) }),
		Variables: jsondoc.Members(n.Module.Variables, variableOf),
	}
}

func (r configReader) output(o *config.Output) outputConfig {
	doc := outputConfig{o.Sensitive, o.Ephemeral, o.Deprecated, nil, outline.Names(o.DependsOn), o.Description}
	if !r.alone {
		doc.Expression = new(expressionOf(outline.Of(o.Expr)))
	}
	return doc
}

func (r configReader) resource(n *config.Node, res *config.Resource) resourceConfig {
	local := addr.Resource{Mode: res.Mode, Type: res.Type, Name: res.Name.Name}
	doc := resourceConfig{
		Address: local.Local(), Mode: res.Mode.String(), Type: res.Type, Name: res.Name.Name, Provider: keyOf(n, res.LocalProvider()),
		DependsOn: outline.Names(res.DependsOn),
	}
	for _, p := range res.Provisioners {
		doc.Provisioners = append(doc.Provisioners, provisionerConfig{p.Type, r.expressions(outline.Free(p.Body))})
	}
	if r.alone {
		return doc
	}
	doc.repetition, doc.Schema = repetitionOf(res.Repeat), new(int64)
	if s := r.bodySchema(n, res); s != nil {
		doc.Expressions, *doc.Schema = expressionsOf(outline.OfBody(res.Body, s.Block)), s.Version
	}
	return doc
}

func (r configReader) bodySchema(n *config.Node, res *config.Resource) *schema.Schema {
	if decl, ok := r.prog.Resource(res.In(n.Path)); ok {
		if s := r.prog.Schema(decl.ID); s != nil {
			return s
		}
	}
	return r.Schema(n.Provider(res.LocalProvider().Local), addr.Instance{Mode: res.Mode, Type: res.Type})
}

func repetitionOf(r config.Repeat) repetition {
	return repetition{expressionOf(outline.Of(r.Count)), expressionOf(outline.Of(r.ForEach)), expressionOf(outline.Of(r.Enabled))}
}

func (r configReader) call(c *config.Call, child *config.Node) callConfig {
	doc := callConfig{
		Source: constantText(outline.Of(c.Source)), Expressions: r.expressions(outline.Free(c.Body)), Versions: constantText(outline.Of(c.Versions)), DependsOn: outline.Names(c.DependsOn),
	}
	if !r.alone {
		doc.repetition = repetitionOf(c.Repeat)
	}
	if child != nil {
		doc.Source, doc.Module = cmp.Or(doc.Source, child.Source), new(r.module(child))
	}
	return doc
}

// constantText returns the value of an expression that is a constant string. It returns "" for all other expressions.
func constantText(e outline.Expr) string {
	v := e.Constant
	if v == cty.NilVal || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
		return ""
	}
	return v.AsString()
}

func variableOf(v *config.Variable) variableConfig {
	doc := variableConfig{Required: v.Default == cty.NilVal, Description: v.Description, Sensitive: v.Sensitive, Ephemeral: v.Ephemeral, Deprecated: v.Deprecated}
	if v.TypeGiven {
		doc.Type = jsondoc.Type(v.Type)
	}
	if !v.Ephemeral {
		doc.Default = jsonValue(v.Default)
	}
	return doc
}

func expressionOf(e outline.Expr) expression {
	if len(e.References) > 0 {
		return expression{References: e.References}
	}
	return expression{Constant: jsonValue(e.Constant)}
}

// expressions returns the expressions of a body, or nil in the document of a single module, which has no expressions.
func (r configReader) expressions(b *outline.Body) expressions {
	if r.alone {
		return nil
	}
	return expressionsOf(b)
}

func expressionsOf(b *outline.Body) expressions {
	all := map[string]any{}
	for _, a := range b.Attrs {
		all[a.Name] = expressionOf(a.Expr)
	}
	for _, l := range b.Blocks {
		all[l.Name] = repeatedBlocks(l)
	}
	return jsondoc.Members(all, func(e any) any { return e })
}

// repeatedBlocks returns all blocks of a type, in the form that the nesting of the type requires.
func repeatedBlocks(b outline.Blocks) any {
	switch b.Nesting {
	case schema.Single, schema.Group:
		return expressionsOf(b.Bodies[0].Body)
	case schema.Map:
		return jsondoc.EachNamed(b.Bodies, func(l outline.Labeled) (string, expressions) { return l.Label, expressionsOf(l.Body) })
	}
	return jsondoc.Each(b.Bodies, func(l outline.Labeled) expressions { return expressionsOf(l.Body) })
}
