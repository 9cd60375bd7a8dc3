package funcs

import (
	"errors"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"math"
	"math/big"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"github.com/zclconf/go-cty/cty/gocty"
)

var numbers = []*builtin{
	fixed("abs", "Returns the absolute value of a number.", cty.Number, library(stdlib.AbsoluteFunc),
		number("num", "The number.")),
	fixed("ceil", "Rounds a number up to the next whole number.", cty.Number, func(c *call) (cty.Value, error) { return rounded(c.args[0], 1) },
		number("num", "The number to round.")),
	fixed("floor", "Rounds a number down to the next whole number.", cty.Number, func(c *call) (cty.Value, error) { return rounded(c.args[0], -1) },
		number("num", "The number to round.")),
	fixed("log", "Returns the logarithm of a number in a base.", cty.Number, floats(func(num, base float64) float64 { return math.Log(num) / math.Log(base) }),
		number("num", "The number, greater than zero."),
		number("base", "The base.")),
	{
		name: "max", doc: "Returns the greatest of its arguments.",
		rest:    &param{name: "numbers", typ: cty.Number, doc: "One number or more."},
		returns: cty.Number, run: library(stdlib.MaxFunc),
	},
	{
		name: "min", doc: "Returns the smallest of its arguments.",
		rest:    &param{name: "numbers", typ: cty.Number, doc: "One number or more."},
		returns: cty.Number, run: library(stdlib.MinFunc),
	},
	varying("parseint", "Parses a string as a whole number in a base.", parseIntType, parseInt,
		param{name: "number", typ: cty.DynamicPseudoType, doc: "Digits with an optional sign. Letters are the digits above nine."},
		number("base", "The base, from 2 to 62.")),
	fixed("pow", "Raises a number to a power.", cty.Number, power,
		number("num", "The number to raise."),
		number("power", "The exponent.")),
	fixed("signum", "Returns the sign of a whole number: -1, 0 or 1.", cty.Number, library(stdlib.SignumFunc),
		number("num", "A whole number.")),
	varying("sum", "Adds up the numbers of a list, set or tuple.", numberKind, sum,
		param{name: "list", typ: cty.DynamicPseudoType, doc: "The numbers, at least one."}),
}

// library returns a run of a builtin that calls f, a function of package cty.
func library(f function.Function) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) {
		v, err := f.Call(c.args)
		return v, c.because(err)
	}
}

// ofTypes returns a run of a builtin that calls f, a function of package cty whose result type depends only on the
// types of the arguments. Unlike library, it shows mistakes in the types even if the values are secret.
func ofTypes(f function.Function) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) {
		if _, err := f.ReturnTypeForValues(c.args); err != nil {
			return cty.NilVal, err
		}
		return library(f)(c)
	}
}

// libraryType returns a function that computes the result type of f, a function of package cty.
func libraryType(f function.Function) func(*call) (cty.Type, error) {
	return func(c *call) (cty.Type, error) {
		ty, err := f.ReturnTypeForValues(c.args)
		return ty, c.because(err)
	}
}

func numberKind(*call) (cty.Type, error) { return cty.Number, nil }

// rounded rounds up if direction is 1, and down if it is -1. It returns whole numbers and infinity unchanged; a whole
// number may be too large to be written.
func rounded(v cty.Value, direction int) (cty.Value, error) {
	f := v.AsBigFloat()
	if f.IsInf() || f.IsInt() {
		return v, nil
	}
	i, acc := f.Int(nil)
	if direction > 0 && acc == big.Below || direction < 0 && acc == big.Above {
		i.Add(i, big.NewInt(int64(direction)))
	}
	return cty.NumberVal(new(big.Float).SetPrec(f.Prec()).SetInt(i)), nil
}

// floats returns a run of a builtin with two numbers. It computes f with numbers of type float64, as Terraform and
// OpenTofu do for functions without exact results. If the result is not a number (NaN), it returns an error.
func floats(f func(a, b float64) float64) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) {
		var in [2]float64
		for i := range in {
			if err := gocty.FromCtyValue(c.args[i], &in[i]); err != nil {
				return cty.NilVal, c.because(err)
			}
		}
		r := f(in[0], in[1])
		if math.IsNaN(r) {
			return cty.NilVal, errors.New("the result is not a real number")
		}
		return cty.NumberFloatVal(r), nil
	}
}

// power raises a number to a power. Above 2^53, a number of type float64 has more digits than its shortest text, so that
// the number changes when it is stored or sent to a provider. Therefore power returns such a number in the full
// precision. A power of whole numbers is exact if it fits: `pow(2, 64)` is 18446744073709551616.
func power(c *call) (cty.Value, error) {
	v, err := floats(math.Pow)(c)
	if err != nil {
		return v, err
	}
	f := ctyvalue.Number(v)
	if f.IsInf() || f.MantExp(nil) <= 53 {
		return v, nil
	}
	const most = 512 // the precision of numbers in bits
	base, exponent := ctyvalue.Number(c.args[0]), ctyvalue.Number(c.args[1])
	if n, acc := exponent.Int64(); acc == big.Exact && base.IsInt() && n > 0 && f.MantExp(nil) <= most {
		i, _ := base.Int(nil)
		return cty.NumberVal(new(big.Float).SetPrec(most).SetInt(i.Exp(i, big.NewInt(n), nil))), nil
	}
	return cty.NumberVal(new(big.Float).SetPrec(most).Set(f)), nil
}

func parseIntType(c *call) (cty.Type, error) {
	if ty := c.given[0].Type(); ty != cty.String {
		return cty.NilType, bad(0, "first argument must be a string, not %s", ty.FriendlyName())
	}
	return cty.Number, nil
}

func parseInt(c *call) (cty.Value, error) {
	if _, err := parseIntType(c); err != nil {
		return cty.NilVal, err
	}
	text := c.args[0].AsString()
	base, err := wholeNumber(c.args[1])
	if err != nil {
		return cty.NilVal, c.badBecause(1, err)
	}
	if base < 2 || base > 62 {
		return cty.NilVal, bad(1, "base must be a whole number between 2 and 62 inclusive")
	}
	if len(text) > convert.MaxDigits {
		return cty.NilVal, bad(0, "%w", convert.ErrManyDigits)
	}
	n, ok := new(big.Int).SetString(text, base)
	if !ok {
		return cty.NilVal, bad(0, "cannot parse %s as a base %s integer", c.quote(0, text), c.show(1, base))
	}
	return cty.NumberVal(new(big.Float).SetInt(n)), nil
}

// wholeNumber returns a number as an int. It returns an error if the number has a fraction or does not fit into an int.
func wholeNumber(v cty.Value) (int, error) {
	var n int
	err := gocty.FromCtyValue(v, &n)
	return n, err
}

func sum(c *call) (cty.Value, error) {
	v := c.args[0]
	if !v.CanIterateElements() {
		return cty.NilVal, bad(0, "cannot sum noniterable")
	}
	if c.unknown {
		return cty.UnknownVal(cty.Number), nil
	}
	vals := ctyvalue.Elements(v)
	if len(vals) == 0 {
		return cty.NilVal, bad(0, "cannot sum an empty list")
	}
	if !isSequence(v.Type()) {
		return cty.NilVal, errSumTypes
	}
	total := cty.Zero
	for _, e := range vals {
		n, err := e, error(nil)
		if e.Type() != cty.Number {
			n, err = convert.To(e, cty.Number)
		}
		if err != nil || n.IsNull() {
			return cty.NilVal, errSumTypes
		}
		if err := convert.Writable(n); err != nil { // otherwise, adding 1 to n could take half a gigabyte of memory
			return cty.NilVal, bad(0, "%w", err)
		}
		total = total.Add(n)
	}
	return total, nil
}

var errSumTypes = bad(0, "argument must be list, set, or tuple of number values")
