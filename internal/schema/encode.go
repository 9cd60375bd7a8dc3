package schema

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

// form is one of the two ways to write values. What they have in common is in append.
type form struct {
	null, yes, no          string
	comma, endList, endMap string
	beginList, beginMap    func(b []byte, n int) []byte
	text, key              func(b []byte, s string) []byte
	name                   func(a *attrCodec) []byte // of an attribute, as a key
	number                 func(b []byte, f *big.Float) ([]byte, *failure)
	unknown                func(c *codec, b []byte, v cty.Value) ([]byte, *failure)
	dynamic                func(b, typ []byte, value func([]byte) ([]byte, *failure)) ([]byte, *failure) // typ is the type in JSON
}

// append writes v.
func (c *codec) append(w *form, b []byte, v cty.Value) ([]byte, *failure) {
	if mark.Is(v, mark.Sensitive) || mark.Is(v, mark.Ephemeral) {
		return nil, fail("a marked value cannot be encoded")
	}
	ty := v.Type()
	switch {
	case c.kind == kindDynamic && ty != cty.DynamicPseudoType:
		typ, err := ty.MarshalJSON()
		if err != nil {
			return nil, fail("its type cannot be encoded: " + err.Error())
		}
		return w.dynamic(b, typ, func(b []byte) ([]byte, *failure) { return compile(ty).append(w, b, v) })
	case !v.IsKnown():
		return w.unknown(c, b, v)
	case v.IsNull():
		return append(b, w.null...), nil
	}
	switch {
	case c.kind == kindString && ty == cty.String:
		return w.text(b, v.AsString()), nil
	case c.kind == kindNumber && ty == cty.Number:
		return w.number(b, ctyvalue.Number(v))
	case c.kind == kindBool && ty == cty.Bool && v.True():
		return append(b, w.yes...), nil
	case c.kind == kindBool && ty == cty.Bool:
		return append(b, w.no...), nil
	case c.kind == kindList && ty.IsListType(), c.kind == kindSet && ty.IsSetType(),
		c.kind == kindTuple && ty.IsTupleType() && ty.Length() == len(c.items):
		return c.appendList(w, b, v)
	case c.kind == kindMap && ty.IsMapType():
		return c.appendMap(w, b, v)
	case c.kind == kindObject && ty.IsObjectType() && len(ty.AttributeTypes()) == len(c.attrs):
		return c.appendObject(w, b, v)
	}
	return nil, mismatched
}

func (c *codec) appendList(w *form, b []byte, v cty.Value) ([]byte, *failure) {
	b = w.beginList(b, v.LengthInt())
	var f *failure
	for i, ev := range ctyvalue.Items(v) {
		if i > 0 {
			b = append(b, w.comma...)
		}
		if b, f = c.item(i).append(w, b, ev); f != nil {
			return nil, f.at(i)
		}
	}
	return append(b, w.endList...), nil
}

func (c *codec) appendMap(w *form, b []byte, v cty.Value) ([]byte, *failure) {
	b = w.beginMap(b, v.LengthInt())
	comma := ""
	var f *failure
	for k, ev := range ctyvalue.Members(v) {
		b = w.key(append(b, comma...), k)
		if b, f = c.elem.append(w, b, ev); f != nil {
			return nil, f.in(cty.IndexStep{Key: cty.StringVal(k)})
		}
		comma = w.comma
	}
	return append(b, w.endMap...), nil
}

func (c *codec) appendObject(w *form, b []byte, v cty.Value) ([]byte, *failure) {
	b = w.beginMap(b, len(c.attrs))
	comma := ""
	var f *failure
	for i := range c.attrs {
		a := &c.attrs[i]
		av, ok := ctyvalue.Attribute(v, a.name)
		if !ok {
			return nil, mismatched
		}
		b = append(append(b, comma...), w.name(a)...)
		if b, f = a.append(w, b, av); f != nil {
			return nil, f.in(cty.GetAttrStep{Name: a.name})
		}
		comma = w.comma
	}
	return append(b, w.endMap...), nil
}

// msgpackForm is the protocol's form.
var msgpackForm = form{
	null: "\xc0", yes: "\xc3", no: "\xc2",
	beginList: func(b []byte, n int) []byte { return appendHead(b, n, codeFixArray, codeArray16) },
	beginMap:  func(b []byte, n int) []byte { return appendHead(b, n, codeFixMap, codeMap16) },
	text:      appendStr,
	key:       appendStr,
	name:      func(a *attrCodec) []byte { return a.wire },
	number:    func(b []byte, f *big.Float) ([]byte, *failure) { return appendNumber(b, f), nil },
	unknown:   appendUnknown,
	dynamic: func(b, typ []byte, value func([]byte) ([]byte, *failure)) ([]byte, *failure) {
		return value(appendBin(append(b, codeFixArray|2), typ))
	},
}

// appendUnknown writes an unknown value: as a MessagePack extension of one zero byte of type 0 where nothing is
// known about the value, else as package cty/msgpack describes what is.
func appendUnknown(c *codec, b []byte, v cty.Value) ([]byte, *failure) {
	ty := v.Type()
	if !ty.Equals(c.ty) && !(c.loose && ty.TestConformance(c.ty) == nil) {
		return nil, mismatched
	}
	if v.RawEquals(cty.UnknownVal(ty)) {
		return append(b, codeFixExt1, 0, 0), nil
	}
	refined, err := ctymsgpack.Marshal(v, ty)
	if err != nil {
		return nil, fail("what is known of it cannot be encoded")
	}
	return append(b, refined...), nil
}

// appendNumber writes the shortest exact form: an integer, a float, or decimal text.
func appendNumber(b []byte, f *big.Float) []byte {
	if f.IsInf() {
		return appendFloat(b, math.Inf(f.Sign()))
	}
	if i, acc := f.Int64(); acc == big.Exact {
		return appendInt(b, i)
	}
	if !f.IsInt() {
		if d, acc := f.Float64(); acc == big.Exact {
			return appendFloat(b, d)
		}
	}
	return appendStr(b, f.Text('f', -1))
}

func appendInt(b []byte, i int64) []byte {
	switch {
	case i >= 0:
		return appendUint(b, uint64(i))
	case i >= -32:
		return append(b, byte(i))
	case i >= math.MinInt8:
		return append(b, codeInt8, byte(i))
	case i >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, codeInt16), uint16(i))
	case i >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, codeInt32), uint32(i))
	}
	return binary.BigEndian.AppendUint64(append(b, codeInt64), uint64(i))
}

func appendUint(b []byte, u uint64) []byte {
	switch {
	case u <= 0x7f:
		return append(b, byte(u))
	case u <= math.MaxUint8:
		return append(b, codeUint8, byte(u))
	case u <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, codeUint16), uint16(u))
	case u <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, codeUint32), uint32(u))
	}
	return binary.BigEndian.AppendUint64(append(b, codeUint64), u)
}

func appendFloat(b []byte, d float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, codeFloat64), math.Float64bits(d))
}

func appendStr(b []byte, s string) []byte {
	if n := len(s); n < 32 {
		b = append(b, codeFixStr|byte(n))
	} else if n <= math.MaxUint8 {
		b = append(b, codeStr8, byte(n))
	} else {
		b = appendLen(b, n, codeStr16)
	}
	return append(b, s...)
}

func appendBin(b, data []byte) []byte {
	if n := len(data); n <= math.MaxUint8 {
		b = append(b, codeBin8, byte(n))
	} else {
		b = appendLen(b, n, codeBin16)
	}
	return append(b, data...)
}

// appendHead starts an array or a map of n entries; wide is the code of its 16-bit form.
func appendHead(b []byte, n int, fix, wide byte) []byte {
	if n < 16 {
		return append(b, fix|byte(n))
	}
	return appendLen(b, n, wide)
}

// appendLen writes a length of 16 bits, or of 32 with the next code.
func appendLen(b []byte, n int, code16 byte) []byte {
	if n <= math.MaxUint16 {
		return binary.BigEndian.AppendUint16(append(b, code16), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(b, code16+1), uint32(n))
}

// The codes of MessagePack.
const (
	codeFixMap   = 0x80
	codeFixArray = 0x90
	codeFixStr   = 0xa0
	codeNil      = 0xc0
	codeFalse    = 0xc2
	codeTrue     = 0xc3
	codeBin8     = 0xc4
	codeBin16    = 0xc5
	codeBin32    = 0xc6
	codeExt8     = 0xc7
	codeExt16    = 0xc8
	codeExt32    = 0xc9
	codeFloat32  = 0xca
	codeFloat64  = 0xcb
	codeUint8    = 0xcc
	codeUint16   = 0xcd
	codeUint32   = 0xce
	codeUint64   = 0xcf
	codeInt8     = 0xd0
	codeInt16    = 0xd1
	codeInt32    = 0xd2
	codeInt64    = 0xd3
	codeFixExt1  = 0xd4
	codeFixExt16 = 0xd8
	codeStr8     = 0xd9
	codeStr16    = 0xda
	codeStr32    = 0xdb
	codeArray16  = 0xdc
	codeArray32  = 0xdd
	codeMap16    = 0xde
	codeMap32    = 0xdf
)
