package schema

import (
	"math"

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
