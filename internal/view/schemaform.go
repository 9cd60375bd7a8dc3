package view

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// schemaForm is what a schema says about the look of a value. A nil *schemaForm is a value that no schema
// describes: its own type says what it is.
type schemaForm struct {
	kind      formKind
	nested    bool // parts are attributes of the schema, and end with "-> null" when they go
	block     bool // the inside of a block
	explicit  bool // of an object without a schema: null is not the same as nothing
	secret    bool
	writeOnly bool
	version   string // of a write-only attribute: the name of its version argument, "" if there is none
	elem      *schemaForm
	parts     map[string]*schemaForm
}

type formKind uint8

const (
	fScalar formKind = iota
	fList
	fSet
	fMap
	fObject
)

// strict reports whether null is the same as nothing in an object.
func (f *schemaForm) strict() bool { return f != nil && f.kind == fObject && !f.explicit }

func (f *schemaForm) element() *schemaForm {
	if f == nil {
		return nil
	}
	return f.elem
}

func (f *schemaForm) part(name string) *schemaForm {
	switch {
	case f == nil:
		return nil
	case f.kind == fMap:
		return f.elem
	}
	return f.parts[name]
}

func (f *schemaForm) writes() bool { return f != nil && f.writeOnly }
func (f *schemaForm) hides() bool  { return f != nil && f.secret }

// blockSchemaForm is the inside of a block: a form of the whole, and which of its parts are blocks.
type blockSchemaForm struct {
	schemaForm
	blocks []nestedSchemaForm // sorted by name
	inner  map[string]bool
}

type nestedSchemaForm struct {
	name    string
	nesting schema.Nesting
	*blockSchemaForm
}

// schemaForms makes forms of schemas and keeps them. It serves one goroutine.
type schemaForms struct {
	blocks map[*schema.Block]*blockSchemaForm
}

func (fs *schemaForms) block(b *schema.Block) *blockSchemaForm {
	if f := fs.blocks[b]; f != nil {
		return f
	}
	f := &blockSchemaForm{schemaForm: schemaForm{kind: fObject, nested: true, block: true, parts: attrForms(b.Attrs)}, inner: map[string]bool{}}
	for _, n := range b.Blocks {
		in := fs.block(n.Block)
		f.blocks = append(f.blocks, nestedSchemaForm{n.Name, n.Nesting, in})
		f.parts[n.Name] = in.repeated(n.Nesting, false)
		f.inner[n.Name] = true
	}
	slices.SortFunc(f.blocks, func(a, b nestedSchemaForm) int { return strings.Compare(a.name, b.name) })
	if fs.blocks == nil {
		fs.blocks = map[*schema.Block]*blockSchemaForm{}
	}
	fs.blocks[b] = f
	return f
}

// repeated is the form of all blocks of a type together, or of all objects of a nested attribute.
func (f *schemaForm) repeated(n schema.Nesting, nested bool) *schemaForm {
	kinds := map[schema.Nesting]formKind{schema.List: fList, schema.Set: fSet, schema.Map: fMap}
	if kind, ok := kinds[n]; ok {
		return &schemaForm{kind: kind, nested: nested, elem: f}
	}
	return f
}

func attrForms(attrs []*schema.Attr) map[string]*schemaForm {
	out := make(map[string]*schemaForm, len(attrs))
	for _, a := range attrs {
		out[a.Name] = attrForm(a)
	}
	for name, f := range out {
		if v := name + "_version"; f != nil && f.writeOnly && out[v] != nil {
			f.version = v
		}
	}
	return out
}

func attrForm(a *schema.Attr) *schemaForm {
	f := typeForm(a.Type, false)
	if a.Object != nil {
		f = objectForm(a.Object)
	}
	if a.Sensitive || a.WriteOnly {
		if f == nil {
			f = &schemaForm{kind: fScalar}
		} else {
			c := *f
			f = &c
		}
		f.secret, f.writeOnly = a.Sensitive, a.WriteOnly
	}
	return f
}

func objectForm(o *schema.Object) *schemaForm {
	obj := &schemaForm{kind: fObject, nested: true, parts: attrForms(o.Attrs)}
	return obj.repeated(o.Nesting, true)
}

var scalar = &schemaForm{kind: fScalar}

// typeForm is the form of a type; nil for what can be anything. In its objects, explicit nulls may be something
// else than nothing.
func typeForm(ty cty.Type, explicit bool) *schemaForm {
	switch {
	case ty == cty.DynamicPseudoType:
		return nil
	case ty.IsListType():
		return &schemaForm{kind: fList, elem: typeForm(ty.ElementType(), explicit)}
	case ty.IsSetType():
		return &schemaForm{kind: fSet, elem: typeForm(ty.ElementType(), explicit)}
	case ty.IsTupleType():
		return &schemaForm{kind: fList}
	case ty.IsMapType():
		return &schemaForm{kind: fMap, elem: typeForm(ty.ElementType(), explicit)}
	case ty.IsObjectType():
		f := &schemaForm{kind: fObject, explicit: explicit, parts: map[string]*schemaForm{}}
		for name, aty := range ty.AttributeTypes() {
			f.parts[name] = typeForm(aty, explicit)
		}
		return f
	}
	return scalar
}
