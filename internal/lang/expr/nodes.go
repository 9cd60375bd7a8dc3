package expr

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// common reports whether a known number lies between 1/2 and 2⁶⁴, as most do: neither it nor what one operation makes
// of two such numbers has many digits.
func common(v cty.Value) bool {
	f := ctyvalue.Number(v)
	e := f.MantExp(nil)
	return f.Sign() > 0 && e >= 0 && e <= 64
}
