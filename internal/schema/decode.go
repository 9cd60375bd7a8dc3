package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

// reader is MessagePack being read.
type reader struct {
	b     []byte
	s     string // b as a string, whose parts serve as values; "" if they must be copied
	pos   int
	depth int // of dynamic values in dynamic values
}

const (
	// shareLimit is how large a message may be for its strings to be cut out of it and not copied:
	// a part of it keeps the whole in memory.
	shareLimit = 64 << 10
	// depthLimit is how deep dynamic values may be nested in each other, and their types.
	depthLimit = 200
	// typeLimit is how long the type of a dynamic value may be.
	typeLimit = 8 << 20
)

// smallInts saves allocating what counts, ports and flags mostly are.
var smallInts = func() (vs [256]cty.Value) {
	for i := range vs {
		vs[i] = cty.NumberIntVal(int64(i))
	}
	return vs
}()

// readers are some whose value was read to the end.
var readers = sync.Pool{New: func() any { return new(reader) }}

func newReader(b []byte) *reader {
	r := readers.Get().(*reader)
	if r.b = b; len(b) <= shareLimit {
		r.s = string(b)
	}
	return r
}

func (r *reader) complete() bool { return true }

func (r *reader) end() *failure {
	if r.pos < len(r.b) {
		return fail(fmt.Sprintf("%d bytes follow the end of the value", len(r.b)-r.pos))
	}
	*r = reader{}
	readers.Put(r)
	return nil
}

// rest is what was not read yet, and readTo says what that is now.
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

// begin reads the head of an array or map. Every element takes a byte at least, so a length that is more than what is
// left is a lie.
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

// readDynamic reads a type and a value of that type.
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

// readUnknown reads an extension: an unknown value.
func (c *codec) readUnknown(r *reader) (cty.Value, *failure) {
	ext := r.rest()
	rest, err := msgp.Skip(ext)
	if err != nil {
		return cty.NilVal, fail(errShort)
	}
	r.readTo(rest)
	ext = ext[:len(ext)-len(rest)]
	head := 2 // the code, a length where it is not in the code, and the type
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

// knownTypes are types that stood beside dynamic values, by their text: the objects of one resource often have the same,
// and reading one takes longer than reading its value. There are at most mostTypes.
var knownTypes struct {
	sync.RWMutex
	by map[string]cty.Type
}

const mostTypes = 1000

// typeFromJSON reads the type that stands beside a dynamic value.
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
	defer func() { // cty panics over an optional attribute that is not declared
		if why := recover(); why != nil {
			f = fail(fmt.Sprintf("invalid type: %v", why))
		}
	}()
	if err := ty.UnmarshalJSON(b); err != nil {
		return ty, fail("invalid type: " + err.Error())
	}
	if !json.Valid(b) { // which cty does not read to the end
		return ty, fail("invalid type: something follows it")
	}
	return ty, nil
}

// str reads a string, or bytes standing in for one.
func (r *reader) str() (string, bool) {
	text, rest, err := msgp.ReadStringZC(r.rest())
	if err != nil {
		text, rest, err = msgp.ReadBytesZC(r.rest())
	}
	if err != nil {
		return "", false
	}
	if r.readTo(rest); r.s != "" {
		return r.s[r.pos-len(text) : r.pos], true
	}
	return string(text), true
}

// number reads any of the forms of a number: integers, floats, decimal text.
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

// refinedExt is the type of extensions that say what is known about an unknown value: not null, the start of a
// string, bounds of a number or of a length. Package cty/msgpack reads them; they are rare.
const refinedExt = 0x0c

const (
	refinedLimit = 1024 // bytes that such a description may have
	// lengthLimit is the largest exactly known length that is believed: cty makes a list of so many
	// unknown elements of it.
	lengthLimit = 10_000
)

// refined reads a description. Contradictory ones make cty panic; there is no other way to learn of them all.
// Lengths are read as those of a map, of which cty makes no elements.
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

// monstrous reports whether a bound is a number that takes long to write down.
func monstrous(bound cty.Value, _ bool) bool {
	if !bound.IsKnown() || bound.AsBigFloat().IsInf() {
		return false
	}
	exp := bound.AsBigFloat().MantExp(nil)
	return exp > 4*exponentLimit || exp < -4*exponentLimit
}
