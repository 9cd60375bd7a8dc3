package diff

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Form is the part of a schema that affects the look of a value. If no schema describes a value, its *Form is nil, and
// the type of the value determines its look.
type Form struct {
	kind      formKind
	nested    bool // removed parts are shown with "-> null", because the schema defines them as attributes
	block     bool // the form is a nested block
	explicit  bool // an object without a schema, in which null differs from a missing value
	sensitive bool
	writeOnly bool
	version   string // the name of the version argument of a write-only attribute; "" if it has none
	elem      *Form
	parts     map[string]*Form
}

type formKind uint8

const (
	fScalar formKind = iota
	fList
	fSet
	fMap
	fObject
)

// strict reports whether the form is an object in which null means the same as a missing value.
func (f *Form) strict() bool { return f != nil && f.kind == fObject && !f.explicit }

// Element returns the form of the elements of a collection, or nil if f is nil or has no elements.
func (f *Form) Element() *Form {
	if f == nil {
		return nil
	}
	return f.elem
}

// Part returns the form of an attribute, or of an element of a map. It returns nil if f is nil, or if f has no such
// attribute and no schema describes f. If a schema describes f, a missing attribute counts as sensitive: it may be an
// attribute of another version of the schema.
func (f *Form) Part(name string) *Form {
	switch {
	case f == nil:
		return nil
	case f.kind == fMap:
		return f.elem
	}
	part, known := f.parts[name]
	if !known && f.kind == fObject && f.nested {
		return undeclared
	}
	return part
}

// undeclared is the form of an attribute that a schema does not have.
var undeclared = &Form{kind: fScalar, sensitive: true}

func (f *Form) isWriteOnly() bool { return f != nil && f.writeOnly }

// IsSensitive reports whether the schema declares the value as sensitive.
func (f *Form) IsSensitive() bool { return f != nil && f.sensitive }

// isBlocks reports whether f is the form of a nested block, or of the collection of all nested blocks of one type.
func (f *Form) isBlocks() bool { return f != nil && (f.block || f.elem.isBlocks()) }

// BlockForm is the form of a block or of a whole object. It distinguishes nested blocks from attributes.
type BlockForm struct {
	Form
	blocks []nestedBlock // sorted by name
}

// NoSchema is the form of an object whose schema is unknown. All its attributes count as sensitive.
var NoSchema = &BlockForm{Form: Form{kind: fObject, nested: true}}

type nestedBlock struct {
	name    string
	nesting schema.Nesting
	*BlockForm
}

// Forms caches the forms of schemas. Only one goroutine may use it.
type Forms struct {
	blocks map[*schema.Block]*BlockForm
}

// Block returns the form of a block.
func (fs *Forms) Block(b *schema.Block) *BlockForm {
	if f := fs.blocks[b]; f != nil {
		return f
	}
	f := &BlockForm{Form: Form{kind: fObject, nested: true, block: true, parts: attrForms(b.Attrs)}}
	for _, n := range b.Blocks {
		in := fs.Block(n.Block)
		f.blocks = append(f.blocks, nestedBlock{n.Name, n.Nesting, in})
		f.parts[n.Name] = in.repeated(n.Nesting, false)
	}
	slices.SortFunc(f.blocks, func(a, b nestedBlock) int { return strings.Compare(a.name, b.name) })
	if fs.blocks == nil {
		fs.blocks = map[*schema.Block]*BlockForm{}
	}
	fs.blocks[b] = f
	return f
}

// repeated returns the form of the collection of all blocks of one type, or of all objects of a nested attribute. f is
// the form of one block or object. If the nesting permits only one, repeated returns f. nested is the value of
// Form.nested.
func (f *Form) repeated(n schema.Nesting, nested bool) *Form {
	kinds := map[schema.Nesting]formKind{schema.List: fList, schema.Set: fSet, schema.Map: fMap}
	if kind, ok := kinds[n]; ok {
		return &Form{kind: kind, nested: nested, elem: f}
	}
	return f
}

func attrForms(attrs []*schema.Attr) map[string]*Form {
	out := make(map[string]*Form, len(attrs))
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

func attrForm(a *schema.Attr) *Form {
	f := TypeForm(a.Type, false)
	if a.Object != nil {
		f = objectForm(a.Object)
	}
	if a.Sensitive || a.WriteOnly {
		if f == nil {
			f = &Form{kind: fScalar}
		} else {
			c := *f
			f = &c
		}
		f.sensitive, f.writeOnly = a.Sensitive, a.WriteOnly
	}
	return f
}

func objectForm(o *schema.Object) *Form {
	obj := &Form{kind: fObject, nested: true, parts: attrForms(o.Attrs)}
	return obj.repeated(o.Nesting, true)
}

var scalar = &Form{kind: fScalar}

// TypeForm returns the form of a type, or nil for a dynamic type. explicit is true if null differs from a missing value
// in objects of the type.
func TypeForm(ty cty.Type, explicit bool) *Form {
	switch {
	case ty == cty.DynamicPseudoType:
		return nil
	case ty.IsListType():
		return &Form{kind: fList, elem: TypeForm(ty.ElementType(), explicit)}
	case ty.IsSetType():
		return &Form{kind: fSet, elem: TypeForm(ty.ElementType(), explicit)}
	case ty.IsTupleType():
		return &Form{kind: fList}
	case ty.IsMapType():
		return &Form{kind: fMap, elem: TypeForm(ty.ElementType(), explicit)}
	case ty.IsObjectType():
		f := &Form{kind: fObject, explicit: explicit, parts: map[string]*Form{}}
		for name, aty := range ty.AttributeTypes() {
			f.parts[name] = TypeForm(aty, explicit)
		}
		return f
	}
	return scalar
}
