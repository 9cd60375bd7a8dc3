package guard

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Type is the schema of one resource type. All objects of the type share it.
type Type struct {
	*schema.Schema
	Name     string
	Mode     addr.Mode
	Identity *provider.Identity // nil if objects of the type have no identity
	Meta     provider.Dynamic   // the provider_meta block of the module, encoded

	once      sync.Once // guards writeOnly and top, which are the results of writeOnlyNames
	writeOnly []string
	top       bool
}

// writeOnlyNames returns the names of the write-only attributes at the top level of the schema. The result all is true
// if the schema has no write-only attributes at other levels.
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

// Shown returns the name ("id" or "name") and the value of the attribute that identifies an object to users. It returns
// "" if no attribute is known, not empty and not sensitive.
func (t *Type) Shown(v mark.Value) (key, text string) {
	if v.Raw == cty.NilVal || v.Raw.IsNull() {
		return "", ""
	}
	for _, name := range t.Identifying(v.PathsOf(mark.Sensitive)) {
		if s := v.Raw.GetAttr(name); s.IsKnown() && !s.IsNull() && s.AsString() != "" {
			return name, s.AsString()
		}
	}
	return "", ""
}

// identifying has the attributes that may identify an object to users, the best first.
var identifying = []string{"id", "name"}

// Identifying returns the names of the attributes that may identify an object to users: "id" and "name", if they are
// strings. sensitive has the sensitive paths of the object. If the id is sensitive, the name is excluded, too, because
// the name may be a part of the id.
func (t *Type) Identifying(sensitive []cty.Path) []string {
	from, to := 0, 0
	for i, name := range identifying {
		a := t.Attr(name)
		switch {
		case a == nil || a.Type != cty.String || a.WriteOnly:
			if to == 0 {
				from = i + 1
			}
		case a.Sensitive || covered(sensitive, name):
			return identifying[from:max(from, to)]
		default:
			to = i + 1
		}
	}
	return identifying[from:max(from, to)]
}

// covered reports whether one of the paths is the path of the attribute, or the empty path of the whole object.
func covered(paths []cty.Path, name string) bool {
	return slices.ContainsFunc(paths, func(p cty.Path) bool {
		if len(p) != 1 {
			return len(p) == 0
		}
		step, ok := p[0].(cty.GetAttrStep)
		return ok && step.Name == name
	})
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

// Configured returns the paths in sensitive, the stored sensitive paths of an object, that come from its configuration.
// It excludes the paths that are sensitive by the schema, because Lethe adds these to every value. v is the value of
// the object.
func (t *Type) Configured(sensitive []cty.Path, v cty.Value) []cty.Path {
	if len(sensitive) == 0 {
		return nil
	}
	schema := map[string]bool{}
	for _, p := range t.SensitivePaths(v) {
		schema[mark.PathString(p)] = true
	}
	return slices.DeleteFunc(slices.Clone(sensitive), func(p cty.Path) bool { return schema[mark.PathString(p)] })
}

// carried returns the sensitive paths of an entry for the new value v. If the elements of a list or a map may have
// moved, the path of an element becomes the path of the list or map (ADR 13). The paths stay unchanged if the stored
// object has another schema version or cannot be decoded.
func (t *Type) carried(e *state.Entry, v cty.Value) []cty.Path {
	inside := func(p cty.Path) bool {
		return slices.ContainsFunc(p, func(step cty.PathStep) bool { _, attr := step.(cty.GetAttrStep); return !attr })
	}
	if e.Schema != t.Version || e.Attrs == nil || !slices.ContainsFunc(e.Sensitive, inside) {
		return e.Sensitive
	}
	was, err := t.DecodeJSON(e.Attrs)
	if err != nil {
		return e.Sensitive
	}
	marks := mark.SensitiveAt(t.Configured(e.Sensitive, was))
	return mark.Value{Marks: mark.Carry(mark.Value{Raw: was, Marks: marks}, v)}.PathsOf(mark.Sensitive)
}

// withSchemaMarks returns the sensitive marks of v: the marks in configured and the marks of the schema. It drops the
// marks of write-only attributes in configured, because these attributes are null in answers. It may change configured,
// which the caller must not use afterwards.
func (t *Type) withSchemaMarks(configured []mark.At, v cty.Value) []mark.At {
	if t.HasWriteOnly() {
		configured = slices.DeleteFunc(configured, func(m mark.At) bool { return t.IsWriteOnly(m.Path) })
	}
	return mark.Union(configured, mark.SensitiveAt(t.SensitivePaths(v)))
}

// identityType returns the cty type of the identities of this resource type. t.Identity must not be nil.
func (t *Type) identityType() cty.Type {
	atys := make(map[string]cty.Type, len(t.Identity.Attrs))
	for _, a := range t.Identity.Attrs {
		atys[a.Name] = a.Type
	}
	return cty.Object(atys)
}

// ImportIdentity converts the identity in an import block to the identity schema of the type. Attributes that the block
// omits are null. It returns an error if the type has no identity, if given is no object, or if an attribute is not in
// the schema, has another type, or is required and missing. The error is a sentence without a capital letter and a full
// stop.
func (t *Type) ImportIdentity(given cty.Value) (cty.Value, error) {
	switch ty := given.Type(); {
	case t.Identity == nil:
		return cty.NilVal, fmt.Errorf("objects of the type %s have no identity, so the import needs an id", t.Name)
	case !ty.IsObjectType() && !ty.IsMapType():
		return cty.NilVal, errors.New("an identity is an object")
	}
	attrs, was := map[string]cty.Value{}, given.AsValueMap()
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if !slices.ContainsFunc(t.Identity.Attrs, func(a provider.IdentityAttr) bool { return a.Name == name }) {
			return cty.NilVal, fmt.Errorf("the identity of the type %s has no attribute %q", t.Name, name)
		}
	}
	for _, a := range t.Identity.Attrs {
		v, ok := was[a.Name]
		if !ok {
			v = cty.NullVal(a.Type)
		}
		v, err := convert.To(v, a.Type)
		switch {
		case err != nil:
			return cty.NilVal, fmt.Errorf("the attribute %q must be a %s", a.Name, a.Type.FriendlyName())
		case v.IsNull() && a.Required:
			return cty.NilVal, fmt.Errorf("the attribute %q is required", a.Name)
		}
		attrs[a.Name] = v
	}
	return cty.ObjectVal(attrs), nil
}

// IdentityWire encodes an identity for a request. It returns the empty message if v is NilVal or null, if the type has
// no identity, or if encoding fails.
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
