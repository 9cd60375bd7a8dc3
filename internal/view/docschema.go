package view

import (
	"io"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// WriteSchemasJSON writes what providers describe, as `providers schema -json` prints it. A
// provider whose schemas cannot be had is left out.
func WriteSchemasJSON(w io.Writer, ps []addr.Provider, s Schemas, hosts Hosts) error {
	ps = slices.Clone(ps)
	slices.SortFunc(ps, addr.Provider.Compare)
	ps = slices.Compact(ps)
	d := newDoc(w)
	var failed error
	d.object(func() {
		d.keyStr("format_version", formatSchemas)
		if len(ps) == 0 {
			return
		}
		d.Key("provider_schemas")
		d.object(func() {
			for _, p := range ps {
				if all := s.Of(p); all != nil {
					d.Key(hosts.of(p).String())
					d.object(func() { failed = d.providerSchemas(all, failed) })
				}
			}
		})
	})
	if err := d.end(); err != nil {
		return err
	}
	return failed
}

// providerSchemas writes one provider's schemas. A type with a broken schema is left out and reported.
func (d *doc) providerSchemas(s *provider.Schemas, failed error) error {
	d.Key("provider")
	if s.Config != nil {
		d.typeSchema(s.Config)
	} else {
		d.Word(`{"version":0}`)
	}
	for _, part := range []struct {
		name string
		mode addr.Mode
	}{{"resource_schemas", addr.Managed}, {"data_source_schemas", addr.Data}, {"ephemeral_resource_schemas", addr.Ephemeral}} {
		if types := s.Types(part.mode); len(types) > 0 {
			d.Key(part.name)
			d.object(func() {
				for _, name := range types {
					sch, err := s.Type(part.mode, name)
					if err != nil || sch == nil {
						failed = err
						continue
					}
					d.Key(name)
					d.typeSchema(sch)
				}
			})
		}
	}
	d.functions(s.Functions)
	return d.identities(s, failed)
}

func (d *doc) functions(all map[string]*provider.Function) {
	if len(all) == 0 {
		return
	}
	d.Key("functions")
	d.object(func() {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			d.Key(name)
			d.object(func() { d.function(all[name]) })
		}
	})
}

func (d *doc) identities(s *provider.Schemas, failed error) error {
	names := s.Identities()
	if len(names) == 0 {
		return failed
	}
	d.Key("resource_identity_schemas")
	d.object(func() {
		for _, name := range names {
			id, err := s.Identity(name)
			if err != nil || id == nil {
				failed = err
				continue
			}
			d.Key(name)
			d.object(func() { d.identitySchema(id) })
		}
	})
	return failed
}

func (d *doc) identitySchema(id *provider.Identity) {
	d.KeyInt("version", id.Version)
	d.Key("attributes")
	d.object(func() {
		for _, a := range id.Attrs {
			d.Key(a.Name)
			d.object(func() {
				d.Key("type")
				d.typeOf(a.Type)
				if a.Description != "" {
					d.keyStr("description", a.Description)
				}
				if a.Required {
					d.KeyBool("required_for_import", true)
				}
				if a.Optional {
					d.KeyBool("optional_for_import", true)
				}
			})
		}
	})
}

func (d *doc) typeSchema(s *schema.Schema) {
	d.object(func() {
		d.KeyInt("version", s.Version)
		if s.Block != nil {
			d.Key("block")
			d.blockSchema(s.Block)
		}
	})
}

func (d *doc) blockSchema(b *schema.Block) {
	d.object(func() {
		if len(b.Attrs) > 0 {
			d.Key("attributes")
			d.attrSchemas(b.Attrs)
		}
		if len(b.Blocks) > 0 {
			d.Key("block_types")
			d.object(func() {
				for _, n := range b.Blocks {
					d.Key(n.Name)
					d.object(func() { d.nestedSchema(n) })
				}
			})
		}
		d.described(b.Description, b.Markdown)
		d.deprecated(b.Deprecated, b.Deprecation)
	})
}

func (d *doc) described(text string, markdown bool) {
	if text != "" {
		d.keyStr("description", text)
	}
	kind := "plain"
	if markdown {
		kind = "markdown"
	}
	d.keyStr("description_kind", kind)
}

func (d *doc) deprecated(is bool, message string) {
	if is {
		d.KeyBool("deprecated", true)
	}
	if message != "" {
		d.keyStr("deprecation_message", message)
	}
}

func (d *doc) attrSchemas(attrs []*schema.Attr) {
	d.object(func() {
		for _, a := range attrs {
			d.Key(a.Name)
			d.object(func() { d.attrSchema(a) })
		}
	})
}

func (d *doc) attrSchema(a *schema.Attr) {
	if a.Object != nil {
		d.Key("nested_type")
		d.object(func() {
			d.Key("attributes")
			d.attrSchemas(a.Object.Attrs)
			d.keyStr("nesting_mode", a.Object.Nesting.String())
		})
	} else {
		d.Key("type")
		d.typeOf(a.Type)
	}
	d.described(a.Description, a.Markdown)
	d.deprecated(a.Deprecated, a.Deprecation)
	for _, f := range []struct {
		name string
		is   bool
	}{{"required", a.Required}, {"optional", a.Optional}, {"computed", a.Computed}, {"sensitive", a.Sensitive}, {"write_only", a.WriteOnly}} {
		if f.is {
			d.KeyBool(f.name, true)
		}
	}
}

func (d *doc) nestedSchema(n *schema.Nested) {
	d.keyStr("nesting_mode", n.Nesting.String())
	d.Key("block")
	d.blockSchema(n.Block)
	if n.Min > 0 {
		d.KeyInt("min_items", int64(n.Min))
	}
	if n.Max > 0 {
		d.KeyInt("max_items", int64(n.Max))
	}
}

func (d *doc) function(f *provider.Function) {
	for _, t := range []struct{ name, text string }{{"description", f.Description}, {"summary", f.Summary}, {"deprecation_message", f.DeprecationMessage}} {
		if t.text != "" {
			d.keyStr(t.name, t.text)
		}
	}
	d.Key("return_type")
	d.typeOf(f.Return)
	if len(f.Params) > 0 {
		d.Key("parameters")
		d.array(func() {
			for _, p := range f.Params {
				d.parameter(p.Name, p.Description, p.AllowNull, p.Type)
			}
		})
	}
	if p := f.Variadic; p != nil {
		d.Key("variadic_parameter")
		d.parameter(p.Name, p.Description, p.AllowNull, p.Type)
	}
}

func (d *doc) parameter(name, description string, nullable bool, ty cty.Type) {
	d.object(func() {
		d.keyStr("name", name)
		if description != "" {
			d.keyStr("description", description)
		}
		if nullable {
			d.KeyBool("is_nullable", true)
		}
		d.Key("type")
		d.typeOf(ty)
	})
}

// WriteFunctionsJSON writes the built-in functions, by plain name and by core:: name, as
// `metadata functions -json` prints them.
func WriteFunctionsJSON(w io.Writer) error {
	d := newDoc(w)
	d.object(func() {
		d.keyStr("format_version", formatFunctions)
		d.Key("function_signatures")
		d.object(func() {
			for _, prefix := range []string{"", "core::"} {
				for _, name := range funcs.Names() {
					if sig, ok := funcs.SignatureOf(name); ok {
						d.Key(prefix + name)
						d.object(func() { d.builtin(sig) })
					}
				}
			}
		})
	})
	return d.end()
}

func (d *doc) builtin(sig funcs.Signature) {
	d.keyStr("description", sig.Doc)
	d.Key("return_type")
	d.typeOf(sig.Returns)
	if len(sig.Params) > 0 {
		d.Key("parameters")
		d.array(func() {
			for _, p := range sig.Params {
				d.parameter(p.Name, p.Doc, p.Nullable, p.Type)
			}
		})
	}
	if p := sig.Variadic; p != nil {
		d.Key("variadic_parameter")
		d.parameter(p.Name, p.Doc, p.Nullable, p.Type)
	}
}
