package schema

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

// reader reads values from MessagePack.
type reader struct {
	b     []byte
	s     string // the bytes of b as a string, whose parts are the decoded strings; "" if strings must be copied
	pos   int
	depth int // the number of dynamic values around the present value
}

const (
	// shareLimit is the size of a message in bytes up to which decoded strings are parts of the message. Such a string
	// keeps the whole message in memory, so strings of larger messages are copied.
	shareLimit = 64 << 10
	// depthLimit is the maximum depth of dynamic values inside one another, and of the type of a dynamic value.
	depthLimit = 200
	// typeLimit is the maximum size of the type of a dynamic value in bytes.
	typeLimit = 8 << 20
)

// smallInts has the values of small numbers, such as counts, ports and flags, so that they need no allocation.
var smallInts = func() (vs [256]cty.Value) {
	for i := range vs {
		vs[i] = cty.NumberIntVal(int64(i))
	}
	return vs
}()

// readers has readers for reuse, which have reached the end of their value.
var readers = sync.Pool{New: func() any { return new(reader) }}

func newReader(b []byte) *reader {
	r := readers.Get().(*reader)
	if r.b = b; len(b) <= shareLimit {
		r.s = string(b)
	}
	return r
}

func (r *reader) complete() bool { return true }

// end ignores bytes after the value, as Terraform and OpenTofu do. An error would taint an object that the provider has
// created.
func (r *reader) end() *failure {
	*r = reader{}
	readers.Put(r)
	return nil
}

// rest returns the unread bytes. readTo moves the reader forward so that rest are the unread bytes.
func (r *reader) rest() []byte       { return r.b[r.pos:] }
func (r *reader) readTo(rest []byte) { r.pos = len(r.b) - len(rest) }

func (r *reader) leaf(c *codec) (v cty.Value, is bool, f *failure) {
	switch t := msgp.NextType(r.rest()); {
	case t == msgp.InvalidType && r.pos == len(r.b):
		f = fail(errShort)
	case t == msgp.ExtensionType, t == msgp.TimeType, t == msgp.Complex64Type, t == msgp.Complex128Type:
		v, f = c.readUnknown(r)
	case c.kind == kindDynamic:
		v, f = readDynamic(r)
	case t == msgp.NilType:
		r.pos++
		v = c.null
	case c.kind == kindString:
		s, ok := r.str()
		if !ok {
			return cty.NilVal, true, c.required()
		}
		v = ctyvalue.String(s)
	case c.kind == kindNumber:
		v, f = r.number(t)
	case c.kind == kindBool && t == msgp.BoolType:
		yes, rest, _ := msgp.ReadBoolBytes(r.rest())
		r.readTo(rest)
		v = cty.BoolVal(yes)
	case c.kind == kindBool:
		f = c.required()
	default:
		return cty.NilVal, false, nil
	}
	return v, true, f
}

// begin reads the header of an array or map, and returns the number of elements, or of pairs. Each element takes at
// least one byte, and each pair two, so begin fails if the remaining bytes are too few. It also fails if the next value
// is neither an array nor a map.
func (r *reader) begin(c *codec) (int, *failure) {
	read, least := msgp.ReadArrayHeaderBytes, 1
	if c.kind == kindMap || c.kind == kindObject {
		read, least = msgp.ReadMapHeaderBytes, 2
	}
	n, rest, err := read(r.rest())
	if err != nil || int64(n) > int64(len(rest)/least) {
		return 0, c.required()
	}
	r.readTo(rest)
	return int(n), nil
}

func (r *reader) more(_ *codec, i, n int) bool { return i < n }

func (r *reader) failure() *failure { return nil }

func (r *reader) name(c *codec) (string, *failure) {
	name, ok := r.str()
	switch {
	case ok:
		return name, nil
	case c.kind == kindMap:
		return "", fail("the keys of a map must be strings")
	}
	return "", fail("the names of attributes must be strings")
}

// readDynamic reads a value of dynamic type: an array of a type and a value of that type, or nil, for which it returns
// a null without a type. It returns a failure if the type is invalid, the value does not have the type, or the depth
// exceeds depthLimit.
func readDynamic(r *reader) (cty.Value, *failure) {
	n, rest, err := msgp.ReadArrayHeaderBytes(r.rest())
	switch {
	case msgp.IsNil(r.rest()):
		r.pos++
		return cty.NullVal(cty.DynamicPseudoType), nil
	case err != nil || n != 2:
		return cty.NilVal, fail("a value of any type must come with its type")
	}
	r.readTo(rest)
	if r.depth++; r.depth > depthLimit {
		return cty.NilVal, fail("values of any type are nested too deep")
	}
	defer func() { r.depth-- }()
	name, ok := r.str()
	if !ok {
		return cty.NilVal, fail("a value of any type must come with its type")
	}
	ty, f := typeFromJSON([]byte(name))
	if f != nil {
		return cty.NilVal, f
	}
	return compile(ty).read(r)
}

// readUnknown reads an extension of MessagePack, which encodes an unknown value. It returns a failure if the extension
// is invalid.
func (c *codec) readUnknown(r *reader) (cty.Value, *failure) {
	ext := r.rest()
	rest, err := msgp.Skip(ext)
	if err != nil || tooLong(ext) {
		return cty.NilVal, fail(errShort)
	}
	r.readTo(rest)
	ext = ext[:len(ext)-len(rest)]
	head := 2 // the bytes before the content: the code, the type and, for some codes, the length
	switch ext[0] {
	case 0xc7, 0xc8, 0xc9:
		head += 1 << (ext[0] - 0xc7)
	}
	n, typ := len(ext)-head, ext[head-1]
	switch {
	case n <= 1 || typ == refinedExt && c.kind == kindDynamic:
		return c.unknown, nil
	case typ != refinedExt:
		return cty.NilVal, fail(fmt.Sprintf("unsupported extension type 0x%02x", typ))
	case n > refinedLimit:
		return cty.NilVal, fail("the description of an unknown value is too long")
	}
	return c.refined(ext)
}

// knownTypes has up to mostTypes types of dynamic values by their JSON text. Objects of one resource often have the
// same types, and parsing a type takes longer than reading a value of it.
var knownTypes struct {
	sync.RWMutex
	by map[string]cty.Type
}

const mostTypes = 1000

// typeFromJSON returns the type of a dynamic value from its JSON text. It keeps parsed types in knownTypes. It returns
// a failure if the text is not a type.
func typeFromJSON(b []byte) (cty.Type, *failure) {
	knownTypes.RLock()
	ty, ok := knownTypes.by[string(b)]
	knownTypes.RUnlock()
	if ok {
		return ty, nil
	}
	ty, f := readType(b)
	if f == nil {
		knownTypes.Lock()
		defer knownTypes.Unlock()
		if knownTypes.by == nil {
			knownTypes.by = map[string]cty.Type{}
		}
		if len(knownTypes.by) < mostTypes {
			knownTypes.by[string(b)] = ty
		}
	}
	return ty, f
}

func readType(b []byte) (ty cty.Type, f *failure) {
	depth := 0
	for _, c := range b {
		switch c {
		case '[', '{':
			if depth++; depth > depthLimit {
				return ty, fail("the type of the value is nested too deep")
			}
		case ']', '}':
			depth--
		}
	}
	if len(b) > typeLimit {
		return ty, fail("the type of the value is too long")
	}
	defer func() { // cty panics if an optional attribute in the type is not declared
		if why := recover(); why != nil {
			f = fail(fmt.Sprintf("invalid type: %v", why))
		}
	}()
	if err := ty.UnmarshalJSON(b); err != nil {
		return ty, fail("invalid type: " + err.Error())
	}
	if !json.Valid(b) { // cty ignores text after the end of the type
		return ty, fail("invalid type: something follows it")
	}
	return ty, nil
}

// str reads a string, which may also have MessagePack's binary type. It returns false for any other value.
func (r *reader) str() (string, bool) {
	text, rest, err := ReadText(r.rest())
	if err != nil {
		return "", false
	}
	if r.readTo(rest); r.s != "" {
		return r.s[r.pos-len(text) : r.pos], true
	}
	return string(text), true
}

// tooLong reports whether b begins with a string, a binary value or an extension that has a 32-bit length and is longer
// than b. It is needed because on 32-bit systems msgp computes with such lengths without a check for overflow.
func tooLong(b []byte) bool {
	return len(b) >= 5 && (b[0] == 0xdb || b[0] == 0xc6 || b[0] == 0xc9) && uint64(binary.BigEndian.Uint32(b[1:])) > uint64(len(b))
}

// ReadText reads a MessagePack string, which may also have the binary type. rest is the bytes after the string. It
// returns an error if b begins with another value or is too short. text shares the memory of b.
func ReadText(b []byte) (text, rest []byte, err error) {
	if tooLong(b) {
		return nil, b, msgp.ErrShortBytes
	}
	if text, rest, err = msgp.ReadStringZC(b); err != nil {
		text, rest, err = msgp.ReadBytesZC(b)
	}
	return text, rest, err
}

// number reads a number in one of its forms: integer, float or decimal text. It returns a failure if the value is not a
// number.
func (r *reader) number(t msgp.Type) (v cty.Value, f *failure) {
	var i int64
	var u uint64
	var d float64
	var rest []byte
	var err error
	switch t {
	case msgp.IntType:
		if i, rest, err = msgp.ReadInt64Bytes(r.rest()); i >= 0 && i < int64(len(smallInts)) {
			v = smallInts[i]
		} else {
			v = cty.NumberIntVal(i)
		}
	case msgp.UintType:
		if u, rest, err = msgp.ReadUint64Bytes(r.rest()); u < uint64(len(smallInts)) {
			v = smallInts[u]
		} else {
			v = cty.NumberUIntVal(u)
		}
	case msgp.Float32Type, msgp.Float64Type:
		if d, rest, err = msgp.ReadFloat64Bytes(r.rest()); math.IsNaN(d) {
			return cty.NilVal, notNumber()
		}
		v = cty.NumberFloatVal(d)
	default:
		s, ok := r.str()
		if !ok {
			return cty.NilVal, notNumber()
		}
		return parseNumber(s)
	}
	if err != nil {
		return cty.NilVal, notNumber()
	}
	r.readTo(rest)
	return v, nil
}

// refinedExt is the type of MessagePack extensions with the refinements of an unknown value: not null, the prefix of a
// string, and bounds of a number or of a length. Package cty/msgpack decodes these extensions, because they are rare.
const refinedExt = 0x0c

const (
	refinedLimit = 1024 // the maximum size of refinements in bytes
	// lengthLimit is the largest exact length that is accepted as a refinement, because cty creates a list with as many
	// unknown elements. A larger exact length becomes an upper bound.
	lengthLimit = 10_000
)

// refined decodes the refinements of an unknown value. If refinements contradict one another, cty panics, and refined
// returns a failure. It decodes the lengths of all collections as lengths of a map, because cty creates no elements for
// maps.
func (c *codec) refined(ext []byte) (v cty.Value, f *failure) {
	defer func() {
		if recover() != nil {
			v, f = cty.NilVal, fail("the description of an unknown value contradicts itself")
		}
	}()
	ty := c.ty
	if c.elem != nil {
		ty = cty.Map(cty.DynamicPseudoType)
	}
	v, err := ctymsgpack.Unmarshal(ext, ty)
	if err != nil {
		return cty.NilVal, fail("the description of an unknown value is malformed")
	}
	rng := v.Range()
	switch {
	case v.IsNull():
		return c.null, nil
	case c.kind == kindNumber && (monstrous(rng.NumberLowerBound()) || monstrous(rng.NumberUpperBound())):
		return cty.NilVal, fail("the description of an unknown value is malformed")
	case c.elem == nil:
		return v, nil
	}
	b := c.unknown.Refine()
	if rng.DefinitelyNotNull() {
		b = b.NotNull()
	}
	low, high := rng.LengthLowerBound(), rng.LengthUpperBound()
	if low > 0 && (low != high || low <= lengthLimit) {
		b = b.CollectionLengthLowerBound(low)
	}
	if high < math.MaxInt {
		b = b.CollectionLengthUpperBound(high)
	}
	return b.NewValue(), nil
}

// monstrous reports whether a bound has such a large exponent that formatting it takes too long.
func monstrous(bound cty.Value, _ bool) bool {
	if !bound.IsKnown() || bound.AsBigFloat().IsInf() {
		return false
	}
	exp := bound.AsBigFloat().MantExp(nil)
	return exp > 4*exponentLimit || exp < -4*exponentLimit
}
