package schema

import "github.com/zclconf/go-cty/cty"

// The functions of this file are the only way to convert objects to bytes and back. Two forms exist: the MessagePack of
// the provider protocol and the JSON of states. In both, the output equals the output of the packages cty/msgpack and
// cty/json, byte for byte. A type is compiled once to a tree of codecs with sorted names and encoded keys, and the tree
// is used for every object of that type.
//
// The input comes from other programs and may be invalid. So decoding compares every length with the remaining bytes
// before it reserves memory, limits the depth of dynamic values, and names the invalid attribute in its errors.

// Encode returns v, an object, in the MessagePack form of the provider protocol. If v does not have the block's type,
// Encode converts it. It returns an error if any part of v is marked, or v cannot be converted.
func (b *Block) Encode(v cty.Value) ([]byte, error) { return b.codec().encode(v, &msgpackForm) }

// Decode decodes an object of the block's type from MessagePack. If that fails, the error is a cty.PathError.
func (b *Block) Decode(msgpack []byte) (cty.Value, error) {
	return b.codec().decode(newReader(msgpack))
}

// EncodeJSON returns v, an object, in the JSON form in which states store attributes, with sorted keys. It omits
// attributes that are Unstored. If v does not have the block's type, EncodeJSON converts it. It returns an error if any
// part of v is unknown or marked or an infinite number, or v cannot be converted.
func (b *Block) EncodeJSON(v cty.Value) ([]byte, error) { return b.codec().encode(v, &jsonForm) }

// DecodeJSON decodes an object of the block's type from JSON: the attributes in a state, or a provider's answer in
// JSON. Missing attributes become null. Numbers have the precision of cty, 512 bits. DecodeJSON converts strings to
// numbers and bools and the reverse, because old states contain such strings. It returns an error for an attribute that
// the block does not have. The errors are cty.PathErrors.
func (b *Block) DecodeJSON(json []byte) (cty.Value, error) { return b.codec().decode(newText(json)) }

// Encode returns the MessagePack form of a value of any type, such as an argument or an identity. If v does not have
// the type ty, Encode converts it. It returns an error if any part of v is marked, or v cannot be converted.
func Encode(v cty.Value, ty cty.Type) ([]byte, error) { return compile(ty).encode(v, &msgpackForm) }

// Decode decodes a value of the type ty from MessagePack. Data that are malformed or do not fit ty are an error.
func Decode(msgpack []byte, ty cty.Type) (cty.Value, error) {
	return compile(ty).decode(newReader(msgpack))
}

// Codec encodes and decodes many values of one type faster than the functions Encode and Decode.
type Codec struct{ codec *codec }

// CodecOf returns the Codec of a type.
func CodecOf(ty cty.Type) Codec { return Codec{compile(ty)} }

// Encode returns v in MessagePack. It returns an error if any part of v is marked, or v cannot be converted to the
// type.
func (c Codec) Encode(v cty.Value) ([]byte, error) { return c.codec.encode(v, &msgpackForm) }

// Decode decodes a value of the codec's type from MessagePack. Data that are malformed or do not fit the type are an
// error.
func (c Codec) Decode(msgpack []byte) (cty.Value, error) { return c.codec.decode(newReader(msgpack)) }

// EncodeJSON returns a value in JSON. It returns an error if any part of v is unknown or marked or an infinite number,
// or v cannot be converted to the type ty.
func EncodeJSON(v cty.Value, ty cty.Type) ([]byte, error) { return compile(ty).encode(v, &jsonForm) }

// DecodeJSON decodes a value of the type ty from JSON. Data that are malformed or do not fit ty are an error.
func DecodeJSON(json []byte, ty cty.Type) (cty.Value, error) {
	return compile(ty).decode(newText(json))
}
