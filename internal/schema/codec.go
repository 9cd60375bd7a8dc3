package schema

import "github.com/zclconf/go-cty/cty"

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
