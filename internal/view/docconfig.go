package view

import (
	"maps"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/lang/outline"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// configDoc writes the configuration section of a plan document.
type configDoc struct {
	*doc
	*objects
	prog *program.Program
}

func (d *doc) configuration(prog *program.Program, x *objects) {
	c := &configDoc{d, x, prog}
	d.object(func() {
		c.providers()
		d.Key("root_module")
		c.module(prog.Tree().Root)
	})
}

// providerEntry is a provider configuration: written down, or implied by being used.
type providerEntry struct {
	node  *config.Node
	name  config.ProviderName
	block *config.Provider // nil: implied
}

// providerKey is what resources call a provider configuration by.
func providerKey(n *config.Node, name config.ProviderName) string {
	if n.Parent == nil {
		return name.String()
	}
	return n.Path.String() + ":" + name.String()
}

// keyOf finds the configuration that a local name means: where a module has none of its own, it is
// its parent's, as far up as the provider is known.
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

// passed is what a provider configuration of a module is called in its parent.
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

// providers writes all provider configurations.
func (d *configDoc) providers() {
	entries := map[string]providerEntry{}
	d.prog.Tree().Root.Walk(func(n *config.Node) {
		for name, block := range n.Module.Providers {
			entries[providerKey(n, name)] = providerEntry{n, name, block}
		}
		for local := range n.Module.Required {
			name := config.ProviderName{Local: local}
			if key := keyOf(n, name); entries[key].node == nil && key == providerKey(n, name) {
				entries[key] = providerEntry{n, name, nil}
			}
		}
	})
	if len(entries) == 0 {
		return
	}
	d.Key("provider_config")
	d.object(func() {
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			d.Key(key)
			d.object(func() { d.provider(entries[key]) })
		}
	})
}

func (d *configDoc) provider(e providerEntry) {
	p := e.node.Provider(e.name.Local)
	d.keyStr("name", e.name.Local)
	d.keyStr("full_name", d.hosts.of(p).String())
	if e.name.Alias != "" {
		d.keyStr("alias", e.name.Alias)
	}
	if r := e.node.Module.Required[e.name.Local]; r != nil && len(r.Versions) > 0 {
		var texts []string
		for _, v := range r.Versions {
			texts = append(texts, v.Text)
		}
		d.keyStr("version_constraint", strings.Join(texts, ", "))
	}
	if e.node.Parent != nil {
		d.keyStr("module_address", e.node.Path.String())
	}
	if e.block == nil || d.schemas == nil {
		return
	}
	if s := d.schemas.Of(p); s != nil && s.Config != nil {
		d.expressions("expressions", outline.OfBody(e.block.Body, s.Config.Block))
	}
}

// module writes a module with what it calls.
func (d *configDoc) module(n *config.Node) {
	m := n.Module
	d.object(func() {
		d.configOutputs(m)
		d.resources(n)
		d.calls(n)
		d.configVariables(m)
	})
}

func (d *configDoc) configOutputs(m *config.Module) {
	if len(m.Outputs) == 0 {
		return
	}
	d.Key("outputs")
	d.object(func() {
		for _, name := range slices.Sorted(maps.Keys(m.Outputs)) {
			o := m.Outputs[name]
			d.Key(name)
			d.object(func() {
				if o.Sensitive {
					d.KeyBool("sensitive", true)
				}
				if o.Ephemeral {
					d.KeyBool("ephemeral", true)
				}
				if o.Deprecated != "" {
					d.keyStr("deprecated", o.Deprecated)
				}
				d.Key("expression")
				d.expression(outline.Of(o.Expr))
				d.dependsOn(outline.Names(o.DependsOn))
				if o.Description != "" {
					d.keyStr("description", o.Description)
				}
			})
		}
	})
}

func (d *configDoc) dependsOn(names []string) {
	if len(names) > 0 {
		d.strings("depends_on", names)
	}
}

// resources writes the blocks of a module: managed, data, ephemeral.
func (d *configDoc) resources(n *config.Node) {
	if len(n.Module.Resources) == 0 {
		return
	}
	list := slices.Collect(maps.Values(n.Module.Resources))
	slices.SortFunc(list, func(a, b *config.Resource) int { return a.In(n.Path).Compare(b.In(n.Path)) })
	d.Key("resources")
	d.array(func() {
		for _, r := range list {
			d.object(func() { d.resource(n, r) })
		}
	})
}

func (d *configDoc) resource(n *config.Node, r *config.Resource) {
	local := addr.Resource{Mode: r.Mode, Type: r.Type, Name: r.Name.Name}
	d.keyStr("address", local.Local())
	d.keyStr("mode", r.Mode.String())
	d.keyStr("type", r.Type)
	d.keyStr("name", r.Name.Name)
	name := r.LocalProvider()
	d.keyStr("provider_config_key", keyOf(n, name))
	if len(r.Provisioners) > 0 {
		d.Key("provisioners")
		d.array(func() {
			for _, p := range r.Provisioners {
				d.object(func() {
					d.keyStr("type", p.Type)
					d.expressions("expressions", outline.Free(p.Body))
				})
			}
		})
	}
	s := d.bodySchema(n, r)
	version := int64(0)
	if s != nil {
		version = s.Version
		d.expressions("expressions", outline.OfBody(r.Body, s.Block))
	}
	d.KeyInt("schema_version", version)
	d.repeat(r.Repeat)
	d.dependsOn(outline.Names(r.DependsOn))
}

func (d *configDoc) bodySchema(n *config.Node, r *config.Resource) *schema.Schema {
	if decl, ok := d.prog.Resource(r.In(n.Path)); ok {
		if s := d.prog.Schema(decl.ID); s != nil {
			return s
		}
	}
	return d.schema(n.Provider(r.LocalProvider().Local), addr.Instance{Mode: r.Mode, Type: r.Type})
}

func (d *configDoc) repeat(r config.Repeat) {
	if r.Count != nil {
		d.given("count_expression", outline.Of(r.Count))
	}
	if r.ForEach != nil {
		d.given("for_each_expression", outline.Of(r.ForEach))
	}
	if r.Enabled != nil {
		d.given("enabled_expression", outline.Of(r.Enabled))
	}
}

// calls writes the module calls, each with its whole module.
func (d *configDoc) calls(n *config.Node) {
	if len(n.Module.Calls) == 0 {
		return
	}
	d.Key("module_calls")
	d.object(func() {
		for _, name := range slices.Sorted(maps.Keys(n.Module.Calls)) {
			d.Key(name)
			d.object(func() { d.call(n.Module.Calls[name], n.Children[name]) })
		}
	})
}

func (d *configDoc) call(c *config.Call, child *config.Node) {
	source := ""
	if child != nil {
		source = child.Source
	}
	if v := outline.Of(c.Source).Constant; source == "" && isText(v) {
		source = v.AsString()
	}
	d.keyStr("source", source)
	if body := outline.Free(c.Body); len(body.Attrs) > 0 {
		d.expressions("expressions", body)
	}
	d.repeat(c.Repeat)
	if child != nil {
		d.Key("module")
		d.module(child)
	}
	if v := outline.Of(c.Versions).Constant; c.Versions != nil && isText(v) {
		d.keyStr("version_constraint", v.AsString())
	}
	d.dependsOn(outline.Names(c.DependsOn))
}

func isText(v cty.Value) bool {
	return v != cty.NilVal && v.IsKnown() && !v.IsNull() && v.Type() == cty.String
}

// configVariables writes the variables of a module. What an ephemeral one is by default is not
// told.
func (d *configDoc) configVariables(m *config.Module) {
	if len(m.Variables) == 0 {
		return
	}
	d.Key("variables")
	d.object(func() {
		for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
			v := m.Variables[name]
			d.Key(name)
			d.object(func() { d.variable(v) })
		}
	})
}

func (d *configDoc) variable(v *config.Variable) {
	if v.TypeGiven {
		d.Key("type")
		d.typeOf(v.Type.WithoutOptionalAttributesDeep())
	}
	switch {
	case v.Default == cty.NilVal:
		d.KeyBool("required", true)
	case !v.Ephemeral:
		d.Key("default")
		d.value(v.Default)
	}
	if v.Description != "" {
		d.keyStr("description", v.Description)
	}
	if v.Sensitive {
		d.KeyBool("sensitive", true)
	}
	if v.Ephemeral {
		d.KeyBool("ephemeral", true)
	}
	if v.Deprecated != "" {
		d.keyStr("deprecated", v.Deprecated)
	}
}

// given writes an expression if there is anything to say about it.
func (d *configDoc) given(name string, e outline.Expr) {
	if e.Given() {
		d.Key(name)
		d.expression(e)
	}
}

func (d *configDoc) expression(e outline.Expr) {
	d.object(func() {
		switch {
		case len(e.References) > 0:
			d.strings("references", e.References)
		case e.Constant != cty.NilVal:
			d.Key("constant_value")
			d.value(e.Constant)
		}
	})
}

// expressions writes a body: arguments and blocks together, sorted.
func (d *configDoc) expressions(name string, b *outline.Body) {
	if len(b.Attrs)+len(b.Blocks) == 0 {
		return
	}
	d.Key(name)
	d.body(b)
}

func (d *configDoc) body(b *outline.Body) {
	d.object(func() {
		attrs, blocks := b.Attrs, b.Blocks
		for len(attrs) > 0 || len(blocks) > 0 {
			if len(blocks) == 0 || len(attrs) > 0 && attrs[0].Name < blocks[0].Name {
				d.Key(attrs[0].Name)
				d.expression(attrs[0].Expr)
				attrs = attrs[1:]
				continue
			}
			d.Key(blocks[0].Name)
			d.blocks(blocks[0])
			blocks = blocks[1:]
		}
	})
}

func (d *configDoc) blocks(b outline.Blocks) {
	switch b.Nesting {
	case schema.Single, schema.Group:
		d.body(b.Bodies[0].Body)
	case schema.Map:
		d.object(func() {
			for _, l := range b.Bodies {
				d.Key(l.Label)
				d.body(l.Body)
			}
		})
	default:
		d.array(func() {
			for _, l := range b.Bodies {
				d.body(l.Body)
			}
		})
	}
}
