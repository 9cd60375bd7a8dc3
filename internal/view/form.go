package view

import (
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// form is what a schema says about the look of a value. A nil *form is a value that no schema
// describes: its own type says what it is.
type form struct {
	kind      formKind
	nested    bool // parts are attributes of the schema, and end with "-> null" when they go
	block     bool // the inside of a block
	explicit  bool // of an object without a schema: null is not the same as nothing
	secret    bool
	writeOnly bool
	version   string // of a write-only attribute: the name of its version argument, "" if there is none
	elem      *form
	parts     map[string]*form
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
func (f *form) strict() bool { return f != nil && f.kind == fObject && !f.explicit }

func (f *form) element() *form {
	if f == nil {
		return nil
	}
	return f.elem
}

func (f *form) part(name string) *form {
	switch {
	case f == nil:
		return nil
	case f.kind == fMap:
		return f.elem
	}
	return f.parts[name]
}

func (f *form) writes() bool { return f != nil && f.writeOnly }
func (f *form) hides() bool  { return f != nil && f.secret }

// blockForm is the inside of a block: a form of the whole, and which of its parts are blocks.
type blockForm struct {
	form
	blocks []nestedForm // sorted by name
	inner  map[string]bool
}

type nestedForm struct {
	name    string
	nesting schema.Nesting
	*blockForm
}

// forms makes forms of schemas and keeps them. It serves one goroutine.
type forms struct{ blocks map[*schema.Block]*blockForm }

func (fs *forms) block(b *schema.Block) *blockForm {
	if f := fs.blocks[b]; f != nil {
		return f
	}
	f := &blockForm{form: form{kind: fObject, nested: true, block: true, parts: attrForms(b.Attrs)}, inner: map[string]bool{}}
	for _, n := range b.Blocks {
		in := fs.block(n.Block)
		f.blocks = append(f.blocks, nestedForm{n.Name, n.Nesting, in})
		f.parts[n.Name] = in.repeated(n.Nesting)
		f.inner[n.Name] = true
	}
	slices.SortFunc(f.blocks, func(a, b nestedForm) int { return strings.Compare(a.name, b.name) })
	if fs.blocks == nil {
		fs.blocks = map[*schema.Block]*blockForm{}
	}
	fs.blocks[b] = f
	return f
}

// repeated is the form of all blocks of a type together.
func (f *blockForm) repeated(n schema.Nesting) *form {
	switch n {
	case schema.List:
		return &form{kind: fList, elem: &f.form}
	case schema.Set:
		return &form{kind: fSet, elem: &f.form}
	case schema.Map:
		return &form{kind: fMap, elem: &f.form}
	}
	return &f.form
}

func attrForms(attrs []*schema.Attr) map[string]*form {
	out := make(map[string]*form, len(attrs))
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

func attrForm(a *schema.Attr) *form {
	f := typeForm(a.Type)
	if a.Object != nil {
		f = objectForm(a.Object)
	}
	if a.Sensitive || a.WriteOnly {
		if f == nil {
			f = &form{kind: fScalar}
		} else {
			c := *f
			f = &c
		}
		f.secret, f.writeOnly = a.Sensitive, a.WriteOnly
	}
	return f
}

func objectForm(o *schema.Object) *form {
	obj := &form{kind: fObject, nested: true, parts: attrForms(o.Attrs)}
	switch o.Nesting {
	case schema.List:
		return &form{kind: fList, nested: true, elem: obj}
	case schema.Set:
		return &form{kind: fSet, nested: true, elem: obj}
	case schema.Map:
		return &form{kind: fMap, nested: true, elem: obj}
	}
	return obj
}

var scalar = &form{kind: fScalar}

// typeForm is the form of a type; nil for what can be anything.
func typeForm(ty cty.Type) *form {
	switch {
	case ty == cty.DynamicPseudoType:
		return nil
	case ty.IsListType():
		return &form{kind: fList, elem: typeForm(ty.ElementType())}
	case ty.IsSetType():
		return &form{kind: fSet, elem: typeForm(ty.ElementType())}
	case ty.IsTupleType():
		return &form{kind: fList}
	case ty.IsMapType():
		return &form{kind: fMap, elem: typeForm(ty.ElementType())}
	case ty.IsObjectType():
		f := &form{kind: fObject, parts: map[string]*form{}}
		for name, aty := range ty.AttributeTypes() {
			f.parts[name] = typeForm(aty)
		}
		return f
	}
	return scalar
}
