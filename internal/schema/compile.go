package schema

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
)

// kind is the kind of a type. A codec stores the kind of its type, because the methods of cty.Type that return it are
// slower.
type kind uint8

const (
	kindDynamic kind = iota
	kindString
	kindNumber
	kindBool
	kindList
	kindSet
	kindMap
	kindTuple
	kindObject
	kindOther // capsule types, whose values cannot be encoded
)

// codec encodes and decodes values of one type.
type codec struct {
	kind          kind
	ty            cty.Type
	null, unknown cty.Value
	elem          *codec       // the codec of the elements of a list, set or map
	items         []*codec     // the codecs of the elements of a tuple
	attrs         []attrCodec  // the codecs of the attributes of an object, sorted by name
	names         []string     // the names of attrs
	loose         bool         // the type contains a dynamic type, so the elements of a value may have different types
	size          atomic.Int32 // the length of the last encoding in bytes, to reserve memory for the next
}

type attrCodec struct {
	*codec
	name string
	wire []byte // the attribute name in MessagePack
	text []byte // the attribute name in JSON, with the colon

	unstored bool // the attribute is omitted in JSON; see Attr
}

// the codecs of primitive types, which all other codecs share
var (
	dynamicCodec = newCodec(kindDynamic, cty.DynamicPseudoType)
	stringCodec  = newCodec(kindString, cty.String)
	numberCodec  = newCodec(kindNumber, cty.Number)
	boolCodec    = newCodec(kindBool, cty.Bool)
)

func newCodec(k kind, ty cty.Type) *codec {
	return &codec{kind: k, ty: ty, null: cty.NullVal(ty), unknown: cty.UnknownVal(ty), loose: k == kindDynamic}
}

func compile(ty cty.Type) *codec {
	switch {
	case ty == cty.String:
		return stringCodec
	case ty == cty.Number:
		return numberCodec
	case ty == cty.Bool:
		return boolCodec
	case ty == cty.DynamicPseudoType:
		return dynamicCodec
	case ty.IsListType():
		return collection(kindList, ty)
	case ty.IsSetType():
		return collection(kindSet, ty)
	case ty.IsMapType():
		return collection(kindMap, ty)
	case ty.IsTupleType():
		c := newCodec(kindTuple, ty)
		for _, ety := range ty.TupleElementTypes() {
			item := compile(ety)
			c.items = append(c.items, item)
			c.loose = c.loose || item.loose
		}
		return c
	case ty.IsObjectType():
		return object(ty)
	}
	return newCodec(kindOther, ty)
}

func collection(k kind, ty cty.Type) *codec {
	c := newCodec(k, ty)
	c.elem = compile(ty.ElementType())
	c.loose = c.elem.loose
	return c
}

func object(ty cty.Type) *codec {
	c := newCodec(kindObject, ty)
	for name, aty := range ty.AttributeTypes() {
		a := attrCodec{codec: compile(aty), name: name}
		a.wire = msgp.AppendString(nil, name)
		a.text = append(jsontext.AppendString(nil, name), ':')
		c.attrs = append(c.attrs, a)
		c.loose = c.loose || a.loose
	}
	slices.SortFunc(c.attrs, func(a, b attrCodec) int { return strings.Compare(a.name, b.name) })
	for i := range c.attrs {
		c.names = append(c.names, c.attrs[i].name)
	}
	return c
}

// attr returns the index of the attribute, or -1 if the type has no such attribute. It first tries the index i, because
// encoded objects are sorted by name.
func (c *codec) attr(name string, i int) int {
	if i < len(c.names) && c.names[i] == name {
		return i
	}
	i, ok := slices.BinarySearch(c.names, name)
	if !ok {
		return -1
	}
	return i
}

// item returns the codec of the i-th element of a list, set or tuple.
func (c *codec) item(i int) *codec {
	if c.kind == kindTuple {
		return c.items[i]
	}
	return c.elem
}

// failure is an error that the callers complete. Each caller appends its path step, so that no paths are built as long
// as decoding succeeds.
type failure struct {
	text     string
	steps    []cty.PathStep // the steps of the path, the innermost first
	mismatch bool           // the value does not have the type of the codec
}

func fail(text string) *failure { return &failure{text: text} }

var mismatched = &failure{text: "the value does not have the type of the schema", mismatch: true}

func (f *failure) in(step cty.PathStep) *failure {
	if f.mismatch {
		return f
	}
	f.steps = append(f.steps, step)
	return f
}

func (f *failure) at(index int) *failure {
	return f.in(cty.IndexStep{Key: cty.NumberIntVal(int64(index))})
}

func (f *failure) err() error {
	path := make(cty.Path, 0, len(f.steps))
	for _, s := range slices.Backward(f.steps) {
		path = append(path, s)
	}
	return path.NewErrorf("%s", f.text)
}

func normal(s string) string {
	if ctyvalue.IsASCII(s) {
		return s
	}
	return cty.NormalizeString(s)
}
