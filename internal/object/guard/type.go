package guard

import (
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Type is the schema of one resource type. All objects of the type share it.
type Type struct {
	*schema.Schema
	Name     string
	Mode     addr.Mode
	Identity *provider.Identity // nil if objects of the type have no identity
	Meta     provider.Dynamic   // provider_meta of the module

	once      sync.Once
	writeOnly []string
	top       bool
}

// writeOnlyNames returns the names of the write-only attributes at the top of the schema. all is true if the schema has
// no other write-only attributes.
func (t *Type) writeOnlyNames() (names []string, all bool) {
	t.once.Do(func() {
		t.top = true
		for _, a := range t.Attrs {
			if a.WriteOnly {
				t.writeOnly = append(t.writeOnly, a.Name)
			} else if a.Object != nil {
				t.top = t.top && !(&schema.Block{Attrs: a.Object.Attrs}).HasWriteOnly()
			}
		}
		for _, n := range t.Blocks {
			t.top = t.top && !n.Block.HasWriteOnly()
		}
	})
	return t.writeOnly, t.top
}

// Shown returns the name and the text of the attribute that identifies an object to a reader.
func (t *Type) Shown(v cty.Value) (key, text string) {
	if v == cty.NilVal || v.IsNull() {
		return "", ""
	}
	for _, name := range []string{"id", "name"} {
		a := t.Attr(name)
		if a == nil || a.Type != cty.String || a.Sensitive || a.WriteOnly {
			continue
		}
		if s := v.GetAttr(name); s.IsKnown() && !s.IsNull() && s.AsString() != "" {
			return name, s.AsString()
		}
	}
	return "", ""
}

// Marked returns a value with the sensitive marks of its configuration and of the schema. It drops ephemeral marks,
// because an answer about a persistent object is not ephemeral.
func (t *Type) Marked(v cty.Value, config mark.Value) mark.Value {
	return mark.Value{Raw: v, Marks: t.withSchemaMarks(mark.Carry(config.Sensitive(), v), v)}
}

// Sensitive returns the sensitive paths of v: the paths of the schema, and the paths in configured that exist in v.
func (t *Type) Sensitive(v cty.Value, configured []cty.Path) []cty.Path {
	var found []mark.At
	for _, p := range configured {
		if _, err := p.Apply(v); err == nil {
			found = append(found, mark.At{Path: p, Tag: mark.Sensitive})
		}
	}
	return mark.Value{Marks: t.withSchemaMarks(found, v)}.PathsOf(mark.Sensitive)
}

// withSchemaMarks returns the marks of v: the given marks of its current or stored configuration, and the marks of the
// schema. Write-only attributes are null, so the configuration's marks do not apply to them.
func (t *Type) withSchemaMarks(configured []mark.At, v cty.Value) []mark.At {
	if t.HasWriteOnly() {
		configured = slices.DeleteFunc(configured, func(m mark.At) bool { return t.IsWriteOnly(m.Path) })
	}
	return mark.Union(configured, mark.SensitiveAt(t.SensitivePaths(v)))
}

// identityType returns the type of the identities of the type's objects.
func (t *Type) identityType() cty.Type {
	atys := make(map[string]cty.Type, len(t.Identity.Attrs))
	for _, a := range t.Identity.Attrs {
		atys[a.Name] = a.Type
	}
	return cty.Object(atys)
}

// IdentityWire encodes an identity for a request. NilVal and null become the empty message.
func (t *Type) IdentityWire(v cty.Value) provider.Dynamic {
	if v == cty.NilVal || v.IsNull() || t.Identity == nil {
		return provider.Dynamic{}
	}
	b, err := schema.Encode(v, t.identityType())
	if err != nil {
		return provider.Dynamic{}
	}
	return Send(b)
}
