package view

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// objects looks objects up: their schemas, and what the changes of a plan leave in state entries.
// It serves one goroutine.
type objects struct {
	schemas     provider.Lookup
	schemaForms schemaForms
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

// schemaForm is how an object of a type looks; without a schema, its values say it.
func (x *objects) schemaForm(p addr.Provider, o addr.Instance) *blockSchemaForm {
	if s := x.schema(p, o); s != nil {
		return x.schemaForms.block(s.Block)
	}
	return noSchema
}

var noSchema = &blockSchemaForm{schemaForm: schemaForm{kind: fObject, nested: true}}

// stored is the value of an object as it is in a state.
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

// values are what a change goes from and to.
func (x *objects) values(c *plan.Change) (before, after mark.Value) {
	if c.Unchanged {
		v := x.stored(c.Entry, c.Object.Instance)
		return v, v
	}
	return c.Before, c.After
}

func (x *objects) document(f *blockSchemaForm, v mark.Value) *docValue {
	if v.Raw == cty.NilVal || v.Raw.IsKnown() && v.Raw.IsNull() {
		return nil
	}
	return document(v.Raw, &f.schemaForm, secretTree(v))
}

// diff compares what a change goes from and to.
func (x *objects) diff(c *plan.Change, relevant *tree, o Options) *node {
	f := x.schemaForm(c.Provider.Provider, c.Object.Instance)
	before, after := x.values(c)
	b, a := x.document(f, before), x.document(f, after)
	if c.Action == plan.Forget {
		a = b
	}
	d := &differ{secrets: o.ShowSensitive, replaced: c.Action.Replaces()}
	paths := &tree{}
	for _, p := range c.Replace {
		paths.add(p)
	}
	for _, p := range c.Sent {
		paths.node(p).sent = true
	}
	return d.block(f, b, a, paths, relevant)
}
