package view

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view/diff"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// objects finds schemas of objects, and the state entries of a plan's changes. It serves one goroutine.
type objects struct {
	schemas     provider.Lookup
	schemaForms diff.Forms
	types       map[typeKey]*schema.Schema
	hosts       jsondoc.Hosts
}

type typeKey struct {
	provider addr.Provider
	mode     addr.Mode
	name     string
}

func newObjects(s provider.Lookup) *objects {
	return &objects{schemas: s, types: map[typeKey]*schema.Schema{}}
}

// schema is the schema of an object's type, nil if it cannot be had.
func (x *objects) schema(p addr.Provider, o addr.Instance) *schema.Schema {
	key := typeKey{p, o.Mode, o.Type}
	if s, ok := x.types[key]; ok {
		return s
	}
	var found *schema.Schema
	if x.schemas != nil {
		if all := x.schemas(p); all != nil {
			found, _ = all.Type(o.Mode, o.Type)
		}
	}
	x.types[key] = found
	return found
}

// schemaForm returns the form of an object of a type; nil without a schema.
func (x *objects) schemaForm(p addr.Provider, o addr.Instance) *diff.BlockForm {
	if s := x.schema(p, o); s != nil {
		return x.schemaForms.Block(s.Block)
	}
	return diff.NoSchema
}

// stored returns the value of an object in a state.
func (x *objects) stored(e *state.Entry, o addr.Instance) mark.Value {
	if e == nil {
		return mark.Value{}
	}
	marks := mark.SensitiveAt(e.Sensitive)
	if e.Flatmap != nil {
		return mark.Value{Raw: flatValue(e.Flatmap), Marks: marks}
	}
	if s := x.schema(e.Provider.Provider, o); s != nil {
		if v, err := s.DecodeJSON(e.Attrs); err == nil {
			return mark.Value{Raw: v, Marks: marks}
		}
	}
	return mark.Value{Raw: untyped(e.Attrs), Marks: marks}
}

// untyped is an object whose schema is not at hand, or of another version than its attributes.
func untyped(attrs []byte) cty.Value {
	var v ctyjson.SimpleJSONValue
	if err := v.UnmarshalJSON(attrs); err != nil || !v.Type().IsObjectType() {
		return cty.EmptyObjectVal
	}
	return v.Value
}

// flatValue is an object as very old states hold it: names with dots in them.
func flatValue(m map[string]string) cty.Value {
	attrs := map[string]cty.Value{}
	for k, v := range m {
		attrs[k] = cty.StringVal(v)
	}
	return cty.ObjectVal(attrs)
}

// values returns the prior and the planned value of a change.
func (x *objects) values(c *plan.Change) (before, after mark.Value) {
	if c.Unchanged {
		v := x.stored(c.Entry, c.Object.Instance)
		return v, v
	}
	return c.Before, c.After
}

func (x *objects) document(f *diff.BlockForm, v mark.Value) *diff.Value {
	if v.Raw == cty.NilVal || v.Raw.IsKnown() && v.Raw.IsNull() {
		return nil
	}
	return diff.NewValue(v.Raw, &f.Form, diff.SensitivePaths(v))
}

// diff compares the prior and the planned value of a change.
func (x *objects) diff(c *plan.Change, relevant *diff.Paths, o Options) *diff.Node {
	f := x.schemaForm(c.Provider.Provider, c.Object.Instance)
	before, after := x.values(c)
	b, a := x.document(f, before), x.document(f, after)
	if c.Action == plan.Forget {
		a = b
	}
	d := &diff.Differ{ShowSensitive: o.ShowSensitive, Replaced: c.Action.Replaces()}
	paths := &diff.Paths{}
	for _, p := range c.Replace {
		paths.Add(p)
	}
	for _, p := range c.Sent {
		paths.Place(p).Sent = true
	}
	return d.Block(f, b, a, paths, relevant)
}
