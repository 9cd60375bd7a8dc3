package schema

import (
	"fmt"
	"math"

	"github.com/tinylib/msgp/msgp"
	"github.com/zclconf/go-cty/cty"
	ctymsgpack "github.com/zclconf/go-cty/cty/msgpack"
)

// refinedExt is the type of extensions that say what is known about an unknown value: not null, the start of a
// string, bounds of a number or of a length. Package cty/msgpack reads them; they are rare.
const refinedExt = 0x0c

const (
	refinedLimit = 1024 // bytes that such a description may have
	// lengthLimit is the largest exactly known length that is believed: cty makes a list of so many
	// unknown elements of it.
	lengthLimit = 10_000
)

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
