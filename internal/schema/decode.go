package schema

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"sync"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
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

func (r *reader) leaf(c *codec) (v cty.Value, is bool, f *failure) {
	if r.pos >= len(r.b) {
		return cty.NilVal, true, fail(errShort)
	}
	switch code := r.b[r.pos]; {
	case isExt(code):
		v, f = c.readUnknown(r)
	case c.kind == kindDynamic:
		v, f = readDynamic(r)
	case code == codeNil:
		r.pos++
		v = c.null
	case c.kind == kindString:
		s, ok := r.str()
		if !ok {
			return cty.NilVal, true, c.required()
		}
		v = ctyvalue.String(s)
	case c.kind == kindNumber:
		v, f = r.number()
	case c.kind == kindBool && code == codeTrue:
		r.pos++
		v = cty.True
	case c.kind == kindBool && code == codeFalse:
		r.pos++
		v = cty.False
	case c.kind == kindBool:
		f = c.required()
	default:
		return cty.NilVal, false, nil
	}
	return v, true, f
}

func (r *reader) begin(c *codec) (int, *failure) {
	fix, wide := byte(codeFixArray), byte(codeArray16)
	if c.kind == kindMap || c.kind == kindObject {
		fix, wide = codeFixMap, codeMap16
	}
	n, ok := r.length(fix, wide)
	if !ok {
		return 0, c.required()
	}
	return n, nil
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
	if r.b[r.pos] == codeNil {
		r.pos++
		return cty.NullVal(cty.DynamicPseudoType), nil
	}
	if n, ok := r.length(codeFixArray, codeArray16); !ok || n != 2 {
		return cty.NilVal, fail("a value of any type must come with its type")
	}
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

// typeFromJSON reads the type that stands beside a dynamic value.
func typeFromJSON(b []byte) (ty cty.Type, f *failure) {
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
	if err := ty.UnmarshalJSON(b); err != nil {
		return ty, fail("invalid type: " + err.Error())
	}
	if !json.Valid(b) { // which cty does not read to the end
		return ty, fail("invalid type: something follows it")
	}
	return ty, nil
}

func isExt(code byte) bool {
	return code >= codeFixExt1 && code <= codeFixExt16 || code >= codeExt8 && code <= codeExt32
}

// take gives the next n bytes' place, and whether they are there.
func (r *reader) take(n int) (from int, ok bool) {
	if n < 0 || n > len(r.b)-r.pos {
		return 0, false
	}
	from = r.pos
	r.pos += n
	return from, true
}

// uint reads a big-endian number of n bytes.
func (r *reader) uint(n int) (uint64, bool) {
	from, ok := r.take(n)
	if !ok {
		return 0, false
	}
	b := r.b[from:]
	switch n {
	case 1:
		return uint64(b[0]), true
	case 2:
		return uint64(binary.BigEndian.Uint16(b)), true
	case 4:
		return uint64(binary.BigEndian.Uint32(b)), true
	}
	return binary.BigEndian.Uint64(b), true
}

// str reads a string, or bytes standing in for one.
func (r *reader) str() (string, bool) {
	if r.pos >= len(r.b) {
		return "", false
	}
	code := r.b[r.pos]
	r.pos++
	n, ok := uint64(0), true
	switch {
	case code&0xe0 == codeFixStr:
		n = uint64(code & 0x1f)
	case code >= codeStr8 && code <= codeStr32:
		n, ok = r.uint(1 << (code - codeStr8))
	case code >= codeBin8 && code <= codeBin32:
		n, ok = r.uint(1 << (code - codeBin8))
	default:
		return "", false
	}
	from, there := r.take(int(n))
	switch {
	case !ok || !there:
		return "", false
	case r.s != "":
		return r.s[from:r.pos], true
	}
	return string(r.b[from:r.pos]), true
}

// length reads the head of an array or map. Every element takes a byte at least, so a length that
// is more than what is left is a lie.
func (r *reader) length(fix, wide byte) (int, bool) {
	if r.pos >= len(r.b) {
		return 0, false
	}
	code := r.b[r.pos]
	r.pos++
	n, ok := uint64(0), true
	switch {
	case code&0xf0 == fix:
		n = uint64(code & 0x0f)
	case code == wide:
		n, ok = r.uint(2)
	case code == wide+1:
		n, ok = r.uint(4)
	default:
		return 0, false
	}
	if fix == codeFixMap && n > uint64(len(r.b)-r.pos)/2 || n > uint64(len(r.b)-r.pos) {
		return 0, false
	}
	return int(n), ok
}

// number reads any of the forms of a number: integers, floats, decimal text.
func (r *reader) number() (cty.Value, *failure) {
	code := r.b[r.pos]
	if code <= 0x7f {
		r.pos++
		return smallInts[code], nil
	}
	if code >= 0xe0 {
		r.pos++
		return cty.NumberIntVal(int64(int8(code))), nil
	}
	switch {
	case code >= codeUint8 && code <= codeUint64:
		r.pos++
		u, ok := r.uint(1 << (code - codeUint8))
		if !ok {
			return cty.NilVal, notNumber()
		}
		if u < uint64(len(smallInts)) {
			return smallInts[u], nil
		}
		return cty.NumberUIntVal(u), nil
	case code >= codeInt8 && code <= codeInt64:
		r.pos++
		bytes := 1 << (code - codeInt8)
		u, ok := r.uint(bytes)
		if !ok {
			return cty.NilVal, notNumber()
		}
		shift := 64 - 8*bytes
		return cty.NumberIntVal(int64(u<<shift) >> shift), nil
	case code == codeFloat32 || code == codeFloat64:
		r.pos++
		return r.float(4 << (code - codeFloat32))
	}
	s, ok := r.str()
	if !ok {
		return cty.NilVal, notNumber()
	}
	return parseNumber(s)
}

func (r *reader) float(bytes int) (cty.Value, *failure) {
	u, ok := r.uint(bytes)
	d := math.Float64frombits(u)
	if bytes == 4 {
		d = float64(math.Float32frombits(uint32(u)))
	}
	if !ok || math.IsNaN(d) {
		return cty.NilVal, notNumber()
	}
	return cty.NumberFloatVal(d), nil
}

func notNumber() *failure { return fail("a number is required") }
