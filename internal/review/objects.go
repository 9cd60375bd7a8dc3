package review

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diff"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Objects finds the schemas of objects, and the values of changes. Only one goroutine may use it.
type Objects struct {
	Schemas provider.Lookup // returns the schemas of a provider; nil: no schemas are known
	forms   diff.Forms
	types   map[typeKey]*schema.Schema
}

type typeKey struct {
	provider addr.Provider
	mode     addr.Mode
	name     string
}

// NewObjects returns Objects that look up schemas with s, which may be nil.
func NewObjects(s provider.Lookup) *Objects {
	return &Objects{Schemas: s, types: map[typeKey]*schema.Schema{}}
}

// Schema returns the schema of an object's type, or nil if it is not available.
func (x *Objects) Schema(p addr.Provider, o addr.Instance) *schema.Schema {
	key := typeKey{p, o.Mode, o.Type}
	if s, ok := x.types[key]; ok {
		return s
	}
	var found *schema.Schema
	if x.Schemas != nil {
		if all := x.Schemas(p); all != nil {
			found, _ = all.Type(o.Mode, o.Type)
		}
	}
	x.types[key] = found
	return found
}

// Form returns the form of an object's type for package diff. Without a schema, it returns diff.NoSchema.
func (x *Objects) Form(p addr.Provider, o addr.Instance) *diff.BlockForm {
	if s := x.Schema(p, o); s != nil {
		return x.forms.Block(s.Block)
	}
	return diff.NoSchema
}

// Stored returns the value of an object in a state, or the zero value if e is nil. Without a schema that fits, the
// value has the types of the stored JSON.
func (x *Objects) Stored(e *state.Entry, o addr.Instance) mark.Value {
	if e == nil {
		return mark.Value{}
	}
	marks := mark.SensitiveAt(e.Sensitive)
	if e.Flatmap != nil {
		return mark.Value{Raw: flatValue(e.Flatmap), Marks: marks}
	}
	if s := x.Schema(e.Provider.Provider, o); s != nil {
		if v, err := s.DecodeJSON(e.Attrs); err == nil {
			return mark.Value{Raw: v, Marks: marks}
		}
	}
	for i, m := range marks { // a path inside an attribute fits the schema's types, and may not fit those of the JSON
		marks[i].Path = m.Path[:min(1, len(m.Path))]
	}
	return mark.Value{Raw: untyped(e.Attrs), Marks: marks}
}

// Shown returns the value of an object in a state like Stored, with the marks that hide its values from people.
func (x *Objects) Shown(e *state.Entry, o addr.Instance) mark.Value { return echoed(o, x.Stored(e, o)) }

// echoed returns the value of an object with the marks that hide its values from people. The output of terraform_data is
// its input, so it has the marks of the input. In expressions and documents, it has no marks, as in Terraform.
func echoed(o addr.Instance, v mark.Value) mark.Value {
	if o.Type != "terraform_data" || o.Mode != addr.Managed {
		return v
	}
	var more []mark.At
	for _, m := range v.Marks {
		if len(m.Path) > 0 && m.Path[0] == (cty.GetAttrStep{Name: "input"}) {
			m.Path = append(cty.GetAttrPath("output"), m.Path[1:]...)
			more = append(more, m)
		}
	}
	v.Marks = mark.Union(v.Marks, more)
	return v
}

// untyped returns the attributes of an object as a value without a schema, because the schema is not available or has
// another version. If attrs is not a JSON object, untyped returns an empty object.
func untyped(attrs []byte) cty.Value {
	var v ctyjson.SimpleJSONValue
	if err := v.UnmarshalJSON(attrs); err != nil || !v.Type().IsObjectType() {
		return cty.EmptyObjectVal
	}
	return v.Value
}

// flatValue returns an object of a very old state, whose attribute names contain dots.
func flatValue(m map[string]string) cty.Value {
	attrs := map[string]cty.Value{}
	for k, v := range m {
		attrs[k] = cty.StringVal(v)
	}
	return cty.ObjectVal(attrs)
}

// Values returns the prior and the planned value of a change.
func (x *Objects) Values(c *plan.Change) (before, after mark.Value) {
	if c.Unchanged {
		v := x.Stored(c.Entry, c.Object.Instance)
		return v, v
	}
	return c.Before, c.After
}

// Diff compares the prior and the planned value of a change. If the change forgets the object, the values count as
// equal. relevant selects the parts whose differences count.
func (x *Objects) Diff(c *plan.Change, relevant *diff.Paths, d diff.Differ) *diff.Node {
	f := x.Form(c.Provider.Provider, c.Object.Instance)
	before, after := x.Values(c)
	b, a := d.Object(f, echoed(c.Object.Instance, before)), d.Object(f, echoed(c.Object.Instance, after))
	if c.Action == plan.Forget {
		a = b
	}
	d.Replaced = c.Action.Replaces()
	paths := &diff.Paths{}
	for _, p := range c.Replace {
		paths.Add(p)
	}
	for _, p := range c.Sent {
		paths.Place(p).Sent = true
	}
	return d.Block(f, b, a, paths, relevant)
}
