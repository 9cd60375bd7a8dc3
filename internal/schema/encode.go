package schema

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// appendMsgpack writes v in the protocol's form.
func (c *codec) appendMsgpack(b []byte, v cty.Value) ([]byte, *failure) {
	if marked(v) {
		return nil, fail("a marked value cannot be encoded")
	}
	ty := v.Type()
	if c.kind == kindDynamic && ty != cty.DynamicPseudoType {
		return appendDynamic(b, v, ty)
	}
	if !v.IsKnown() {
		if !ty.Equals(c.ty) && !(c.loose && ty.TestConformance(c.ty) == nil) {
			return nil, mismatched
		}
		return appendUnknown(b, v)
	}
	if v.IsNull() {
		return append(b, codeNil), nil
	}
	if !c.is(ty) {
		return nil, mismatched
	}
	switch c.kind {
	case kindString:
		return appendStr(b, v.AsString()), nil
	case kindNumber:
		return appendNumber(b, ctyvalue.Number(v)), nil
	case kindBool:
		if v.True() {
			return append(b, codeTrue), nil
		}
		return append(b, codeFalse), nil
	case kindList, kindSet, kindTuple:
		return c.appendList(b, v)
	case kindMap:
		return c.appendMap(b, v)
	case kindObject:
		return c.appendObject(b, v)
	}
	return nil, fail("a value of this type cannot be encoded")
}

func (c *codec) appendList(b []byte, v cty.Value) ([]byte, *failure) {
	b = appendHead(b, v.LengthInt(), codeFixArray, codeArray16)
	var f *failure
	for i, ev := range ctyvalue.Items(v) {
		if b, f = c.item(i).appendMsgpack(b, ev); f != nil {
			return nil, f.at(i)
		}
	}
	return b, nil
}

func (c *codec) appendMap(b []byte, v cty.Value) ([]byte, *failure) {
	b = appendHead(b, v.LengthInt(), codeFixMap, codeMap16)
	var f *failure
	for k, ev := range ctyvalue.Members(v) {
		b = appendStr(b, k)
		if b, f = c.elem.appendMsgpack(b, ev); f != nil {
			return nil, f.in(cty.IndexStep{Key: cty.StringVal(k)})
		}
	}
	return b, nil
}

func (c *codec) appendObject(b []byte, v cty.Value) ([]byte, *failure) {
	b = appendHead(b, len(c.attrs), codeFixMap, codeMap16)
	attrs := fieldsOf(v)
	var f *failure
	for i := range c.attrs {
		a := &c.attrs[i]
		av, ok := attrs.get(a.name)
		if !ok {
			return nil, mismatched
		}
		b = append(b, a.wire...)
		if b, f = a.appendMsgpack(b, av); f != nil {
			return nil, f.in(cty.GetAttrStep{Name: a.name})
		}
	}
	return b, nil
}

// appendDynamic writes the type beside the value.
func appendDynamic(b []byte, v cty.Value, ty cty.Type) ([]byte, *failure) {
	name, err := ty.MarshalJSON()
	if err != nil {
		return nil, fail("its type cannot be encoded: " + err.Error())
	}
	b = append(b, codeFixArray|2)
	b = appendBin(b, name)
	return compile(ty).appendMsgpack(b, v)
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
