package schema

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/ctystrings"
)

// Unknown values travel as MessagePack extensions: one zero byte of type 0 where nothing is known
// about the value, else type 12 with a map of what is: not null, the start of a string, bounds of
// a number or of a length.

const refinedExt = 0x0c

// The keys of the map.
const (
	refineNull = iota + 1
	refinePrefix
	refineMin
	refineMax
	refineMinLength
	refineMaxLength
)

const (
	prefixLimit  = 256  // of what we write; readers refuse large refinements
	refinedLimit = 1024 // of what we read
	// lengthLimit is the largest exactly known length that we believe: cty makes a list of so many
	// unknown elements of it.
	lengthLimit = 10_000
)

// tupleOfBound is the form of a bound: the number, and whether it is included.
var tupleOfBound = compile(cty.Tuple([]cty.Type{cty.Number, cty.Bool}))

// appendUnknown writes an unknown value with its refinements.
func appendUnknown(b []byte, v cty.Value) ([]byte, *failure) {
	if v.Type() == cty.DynamicPseudoType {
		return append(b, codeFixExt1, 0, 0), nil
	}
	rng := v.Range()
	var body []byte
	n := 0
	add := func(key byte) { n++; body = append(body, key) }
	if rng.DefinitelyNotNull() {
		add(refineNull)
		body = append(body, codeFalse)
	}
	switch ty := rng.TypeConstraint(); {
	case ty == cty.Number:
		if low, included := rng.NumberLowerBound(); low.IsKnown() && low != cty.NegativeInfinity {
			add(refineMin)
			body = appendBound(body, low, included)
		}
		if high, included := rng.NumberUpperBound(); high.IsKnown() && high != cty.PositiveInfinity {
			add(refineMax)
			body = appendBound(body, high, included)
		}
	case ty == cty.String:
		if prefix := shorten(rng.StringPrefix()); prefix != "" {
			add(refinePrefix)
			body = appendStr(body, prefix)
		}
	case ty.IsCollectionType():
		if low := rng.LengthLowerBound(); low != 0 {
			add(refineMinLength)
			body = appendInt(body, int64(low))
		}
		if high := rng.LengthUpperBound(); high != math.MaxInt {
			add(refineMaxLength)
			body = appendInt(body, int64(high))
		}
	}
	if n == 0 {
		return append(b, codeFixExt1, 0, 0), nil
	}
	b = appendExtHead(b, len(body)+1)
	b = append(b, codeFixMap|byte(n))
	return append(b, body...), nil
}

func appendBound(b []byte, bound cty.Value, included bool) []byte {
	b = append(b, codeFixArray|2)
	b = appendNumber(b, bound.AsBigFloat())
	if included {
		return append(b, codeTrue)
	}
	return append(b, codeFalse)
}

func shorten(prefix string) string {
	if len(prefix) <= prefixLimit {
		return prefix
	}
	return ctystrings.SafeKnownPrefix(prefix[:prefixLimit-1])
}

func appendExtHead(b []byte, n int) []byte {
	switch n {
	case 1, 2, 4, 8, 16:
		b = append(b, codeFixExt1+byte(bits(n)))
	default:
		if n <= math.MaxUint8 {
			b = append(b, codeExt8, byte(n))
		} else {
			b = binary.BigEndian.AppendUint16(append(b, codeExt16), uint16(n))
		}
	}
	return append(b, refinedExt)
}

// bits is the logarithm of a power of two.
func bits(n int) (log int) {
	for ; n > 1; n >>= 1 {
		log++
	}
	return log
}

// readUnknown reads an extension: an unknown value.
func (c *codec) readUnknown(r *reader) (cty.Value, *failure) {
	code := r.b[r.pos]
	r.pos++
	n, ok := uint64(0), true
	if code >= codeFixExt1 && code <= codeFixExt16 {
		n = 1 << (code - codeFixExt1)
	} else {
		n, ok = r.uint(1 << (code - codeExt8))
	}
	typ, typed := r.uint(1)
	from, there := r.take(int(n))
	switch {
	case !ok || !typed || !there:
		return cty.NilVal, fail(errShort)
	case n <= 1:
		return c.unknown, nil
	case typ != refinedExt:
		return cty.NilVal, fail(fmt.Sprintf("unsupported extension type 0x%02x", typ))
	case n > refinedLimit:
		return cty.NilVal, fail("the description of an unknown value is too long")
	}
	body := &reader{b: r.b[from:r.pos]}
	entries, ok := body.length(codeFixMap, codeMap16)
	if !ok {
		return cty.NilVal, fail("the description of an unknown value is not a map")
	}
	if c.kind == kindDynamic {
		return c.unknown, nil
	}
	return c.refine(body, entries)
}

// refine applies the entries. Contradictory ones make cty panic; there is no other way to learn
// of them all.
func (c *codec) refine(r *reader, entries int) (v cty.Value, f *failure) {
	defer func() {
		if recover() != nil {
			v, f = cty.NilVal, fail("the description of an unknown value contradicts itself")
		}
	}()
	x := &refiner{c, r, c.unknown.Refine(), 0, math.MaxInt}
	for range entries {
		if !x.entry() {
			return cty.NilVal, fail("the description of an unknown value is malformed")
		}
	}
	return x.value(), nil
}

type refiner struct {
	c         *codec
	r         *reader
	b         *cty.RefinementBuilder
	low, high int // length
}

// entry applies the next one, and reports whether it made sense. Keys that nobody knows yet are
// passed over.
func (x *refiner) entry() bool {
	key, ok := x.r.integer()
	if !ok {
		return false
	}
	switch key {
	case refineNull:
		return x.null()
	case refinePrefix:
		prefix, ok := x.r.str()
		if !ok || x.c.kind != kindString || !utf8.ValidString(prefix) {
			return false
		}
		x.b = x.b.StringPrefixFull(prefix)
		return true
	case refineMin, refineMax:
		return x.bound(key == refineMin)
	case refineMinLength, refineMaxLength:
		n, ok := x.r.integer()
		if !ok || n < 0 || x.c.elem == nil {
			return false
		}
		if key == refineMinLength {
			x.low = max(x.low, int(n))
		} else {
			x.high = min(x.high, int(n))
		}
		return true
	}
	return x.r.skip()
}

func (x *refiner) null() bool {
	null, ok := x.r.bool()
	switch {
	case !ok:
		return false
	case null:
		x.b = x.b.Null()
	default:
		x.b = x.b.NotNull()
	}
	return true
}

func (x *refiner) bound(lower bool) bool {
	bound, f := tupleOfBound.read(x.r)
	if x.c.kind != kindNumber || f != nil || !bound.IsWhollyKnown() || bound.IsNull() {
		return false
	}
	number, included := bound.Index(smallInts[0]), bound.Index(smallInts[1])
	switch {
	case number.IsNull() || included.IsNull():
		return false
	case lower:
		x.b = x.b.NumberRangeLowerBound(number, included.True())
	default:
		x.b = x.b.NumberRangeUpperBound(number, included.True())
	}
	return true
}

func (x *refiner) value() cty.Value {
	if x.low == x.high && x.low > lengthLimit {
		x.low = 0
	}
	if x.low > 0 {
		x.b = x.b.CollectionLengthLowerBound(x.low)
	}
	if x.high < math.MaxInt {
		x.b = x.b.CollectionLengthUpperBound(x.high)
	}
	if v := x.b.NewValue(); !v.RawEquals(x.c.unknown.Refine().NewValue()) {
		return v
	}
	return x.c.unknown // nothing was said after all
}

// integer reads a small number that must be one.
func (r *reader) integer() (int64, bool) {
	if r.pos >= len(r.b) {
		return 0, false
	}
	v, f := r.number()
	if f != nil {
		return 0, false
	}
	i, acc := v.AsBigFloat().Int64()
	return i, acc == big.Exact
}

func (r *reader) bool() (is, ok bool) {
	from, ok := r.take(1)
	if !ok {
		return false, false
	}
	is = r.b[from] == codeTrue
	return is, is || r.b[from] == codeFalse
}

// skip passes over a value of any form: a scalar, or an array or map of what it can pass over.
// It is for descriptions only, which are short.
func (r *reader) skip() bool {
	if r.pos >= len(r.b) {
		return false
	}
	code := r.b[r.pos]
	switch {
	case code == codeNil || code == codeFalse || code == codeTrue:
		r.pos++
		return true
	case code&0xf0 == codeFixArray || code == codeArray16:
		n, ok := r.length(codeFixArray, codeArray16)
		return ok && r.skipAll(n)
	case code&0xf0 == codeFixMap || code == codeMap16:
		n, ok := r.length(codeFixMap, codeMap16)
		return ok && r.skipAll(2*n)
	case code <= 0x7f || code >= 0xe0 || code >= codeFloat32 && code <= codeInt64:
		_, f := r.number()
		return f == nil
	}
	_, ok := r.str()
	return ok
}

func (r *reader) skipAll(n int) bool {
	for range n {
		if !r.skip() {
			return false
		}
	}
	return true
}
