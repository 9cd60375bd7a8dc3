package schema

import (
	"math"
	"math/big"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

// form has the parts in which the two encodings (MessagePack and JSON) differ. The method append of codec has the code
// that both share.
type form struct {
	null, yes, no          string
	comma, endList, endMap string
	beginList, beginMap    func(b []byte, n int) []byte
	text, key              func(b []byte, s string) []byte
	name                   func(a *attrCodec) []byte // returns the encoded name of an attribute, as a key
	number                 func(b []byte, f *big.Float) ([]byte, *failure)
	unknown                func(c *codec, b []byte, v cty.Value) ([]byte, *failure)
	dynamic                func(b, typ []byte, value func([]byte) ([]byte, *failure)) ([]byte, *failure) // encodes a value of dynamic type; typ is its type in JSON
}

// encode encodes v. It assumes that v has the type of the codec, which is nearly always true. Only if encoding fails
// because the types differ, it converts v and encodes the result.
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

// append appends the encoding of v to b. It returns a failure if v is marked, or does not have the type of the codec.
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
		if a.unstored && w == &jsonForm {
			continue
		}
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

// msgpackForm is the encoding of the provider protocol, as in package cty/msgpack.
var msgpackForm = form{
	null: "\xc0", yes: "\xc3", no: "\xc2",
	beginList: func(b []byte, n int) []byte { return msgp.AppendArrayHeader(b, uint32(n)) },
	beginMap:  func(b []byte, n int) []byte { return msgp.AppendMapHeader(b, uint32(n)) },
	text:      msgp.AppendString,
	key:       msgp.AppendString,
	name:      func(a *attrCodec) []byte { return a.wire },
	number:    func(b []byte, f *big.Float) ([]byte, *failure) { return appendNumber(b, f), nil },
	unknown:   appendUnknown,
	dynamic: func(b, typ []byte, value func([]byte) ([]byte, *failure)) ([]byte, *failure) {
		return value(msgp.AppendBytes(msgp.AppendArrayHeader(b, 2), typ))
	},
}

// appendUnknown encodes an unknown value. A value without refinements is a MessagePack extension of type 0 with one
// zero byte. Refinements are encoded as in package cty/msgpack.
func appendUnknown(c *codec, b []byte, v cty.Value) ([]byte, *failure) {
	ty := v.Type()
	if !ty.Equals(c.ty) && !(c.loose && ty.TestConformance(c.ty) == nil) {
		return nil, mismatched
	}
	if v.RawEquals(cty.UnknownVal(ty)) {
		return append(b, 0xd4, 0, 0), nil
	}
	refined, err := ctymsgpack.Marshal(v, ty)
	if err != nil {
		return nil, fail("what is known of it cannot be encoded")
	}
	return append(b, refined...), nil
}

// appendNumber encodes a number in the shortest exact form: an integer, a float, or decimal text.
func appendNumber(b []byte, f *big.Float) []byte {
	if f.IsInf() {
		return msgp.AppendFloat64(b, math.Inf(f.Sign()))
	}
	if i, acc := f.Int64(); acc == big.Exact {
		if i < 0 {
			return msgp.AppendInt64(b, i)
		}
		return msgp.AppendUint64(b, uint64(i))
	}
	if !f.IsInt() {
		if d, acc := f.Float64(); acc == big.Exact {
			return msgp.AppendFloat64(b, d)
		}
	}
	return msgp.AppendString(b, f.Text('f', -1))
}

// jsonForm is the encoding of values in states, as in package cty/json.
var jsonForm = form{
	null: "null", yes: "true", no: "false",
	comma: ",", endList: "]", endMap: "}",
	beginList: func(b []byte, _ int) []byte { return append(b, '[') },
	beginMap:  func(b []byte, _ int) []byte { return append(b, '{') },
	text:      func(b []byte, s string) []byte { return jsontext.AppendString(b, s) },
	key:       func(b []byte, s string) []byte { return append(jsontext.AppendString(b, s), ':') },
	name:      func(a *attrCodec) []byte { return a.text },
	number:    appendJSONNumber,
	unknown: func(*codec, []byte, cty.Value) ([]byte, *failure) {
		return nil, fail("the value is not known")
	},
	dynamic: func(b, typ []byte, value func([]byte) ([]byte, *failure)) ([]byte, *failure) {
		b, f := value(append(b, `{"value":`...))
		if f != nil {
			return nil, f
		}
		b = append(append(b, `,"type":`...), typ...)
		return append(b, '}'), nil
	},
}

func appendJSONNumber(b []byte, f *big.Float) ([]byte, *failure) {
	switch {
	case f.IsInf():
		return nil, fail("infinity cannot be encoded in JSON")
	case f.Sign() == 0:
		return append(b, '0'), nil // for negative zero, too
	}
	return ctyvalue.AppendNumber(b, f), nil
}
