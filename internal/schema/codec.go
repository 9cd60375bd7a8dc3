package schema

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// This file is the one place where objects become bytes and bytes objects. Two forms exist: the
// protocol's MessagePack (what package cty/msgpack writes, to the byte) and JSON as states keep it
// (what package cty/json writes, to the byte). A type is compiled once into a tree of codecs,
// with names sorted, keys encoded and lengths known, and used for every object of that type.
//
// What comes in was written by other programs. Decoding checks every length against what is left
// before it reserves memory, bounds the depth where data chooses it (values of dynamic type), and
// names the attribute that is wrong.

// Encode gives the protocol's MessagePack form of v, which must be unmarked and is converted to
// the block's type where it is not of it.
func (b *Block) Encode(v cty.Value) ([]byte, error) { return b.codec().encode(v, &msgpackForm) }

// Decode reads an object of the block's type from MessagePack. An error is a cty.PathError.
func (b *Block) Decode(msgpack []byte) (cty.Value, error) {
	return b.codec().decode(newReader(msgpack))
}

// EncodeJSON gives the JSON form of v, with sorted keys, as states keep attributes. Unknown values
// have no such form.
func (b *Block) EncodeJSON(v cty.Value) ([]byte, error) { return b.codec().encode(v, &jsonForm) }

// DecodeJSON reads an object of the block's type from JSON: what states keep, and what providers
// may send instead of MessagePack. Absent attributes are null, numbers are exact. An error is a
// cty.PathError.
func (b *Block) DecodeJSON(json []byte) (cty.Value, error) { return b.codec().decode(newText(json)) }

// Encode gives the MessagePack form of a value of any type: an argument, an identity.
func Encode(v cty.Value, ty cty.Type) ([]byte, error) { return compile(ty).encode(v, &msgpackForm) }

// Decode reads a value of any type from MessagePack.
func Decode(msgpack []byte, ty cty.Type) (cty.Value, error) {
	return compile(ty).decode(newReader(msgpack))
}

// Codec is Encode and Decode for many values of one type.
type Codec struct{ codec *codec }

// CodecOf compiles a type.
func CodecOf(ty cty.Type) Codec { return Codec{compile(ty)} }

// Encode gives the MessagePack form of v.
func (c Codec) Encode(v cty.Value) ([]byte, error) { return c.codec.encode(v, &msgpackForm) }

// Decode reads a value from MessagePack.
func (c Codec) Decode(msgpack []byte) (cty.Value, error) { return c.codec.decode(newReader(msgpack)) }

// EncodeJSON gives the JSON form of a value of any type.
func EncodeJSON(v cty.Value, ty cty.Type) ([]byte, error) { return compile(ty).encode(v, &jsonForm) }

// DecodeJSON reads a value of any type from JSON.
func DecodeJSON(json []byte, ty cty.Type) (cty.Value, error) {
	return compile(ty).decode(newText(json))
}

func (b *Block) codec() *codec { return b.shape().codec }

// kind is what a codec is for; it saves asking the type again and again.
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
	kindOther // capsules: no form at all
)

// codec reads and writes values of one type.
type codec struct {
	kind          kind
	ty            cty.Type
	null, unknown cty.Value
	elem          *codec       // of lists, sets, maps
	items         []*codec     // of tuples
	attrs         []attrCodec  // of objects, sorted by name
	names         []string     // of attrs
	loose         bool         // a dynamic type is somewhere inside: elements may differ
	size          atomic.Int32 // how long the last encoding was: the next will be about as long
}

type attrCodec struct {
	*codec
	name string
	wire []byte // the name in MessagePack
	text []byte // the name in JSON, with the colon
}

// Primitives need no compiling.
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

// attr finds an attribute by name, -1 if there is none; the i-th is tried first, since all forms are written sorted.
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

// item is the codec of the i-th element.
func (c *codec) item(i int) *codec {
	if c.kind == kindTuple {
		return c.items[i]
	}
	return c.elem
}

// encode writes v. Values are nearly always of the codec's type already, so that is assumed, and
// conversion tried only where the assumption fails.
func (c *codec) encode(v cty.Value, w *form) ([]byte, error) {
	out, f := c.append(w, make([]byte, 0, c.size.Load()+16), v)
	if f == nil {
		c.size.Store(int32(min(len(out), shareLimit)))
		return out, nil
	}
	if f.mismatch {
		converted, err := convert.Convert(v, c.ty)
		if err != nil {
			return nil, err
		}
		if out, f = c.append(w, nil, converted); f == nil {
			return out, nil
		}
	}
	return nil, f.err()
}

// failure is an error on its way up: every level adds its step, so that nothing is paid for paths
// while all goes well.
type failure struct {
	text     string
	steps    []cty.PathStep // the innermost first
	mismatch bool           // the value is of another type than the codec
}

func fail(text string) *failure { return &failure{text: text} }

var mismatched = &failure{text: "the value is of another type than the schema says", mismatch: true}

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
