package schema

import (
	"math/big"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// appendDecimal writes the shortest decimal text that tells f from all others of its precision,
// which for integers below 2^53 is their digits.
func appendDecimal(b []byte, f *big.Float) []byte {
	if i, acc := f.Int64(); acc == big.Exact && -1<<53 < i && i < 1<<53 && i != 0 && f.Prec() >= 53 {
		return strconv.AppendInt(b, i, 10)
	}
	return f.Append(b, 'f', -1)
}

// exponentLimit and digitLimit bound the size of numbers that come as text: printing 1e1000000000
// takes a gigabyte, and reading digits takes time that grows with their square.
const (
	exponentLimit = 10_000
	digitLimit    = 100_000
)

// parseNumber reads a decimal number exactly (to cty's 512 bits). What is of ordinary length and
// an integer takes a short way to the same value.
func parseNumber(s string) (cty.Value, *failure) {
	if i, ok := shortInt(s); ok {
		return cty.NumberVal(new(big.Float).SetPrec(512).SetInt64(i)), nil
	}
	if len(s) > digitLimit || Exponent(s) > exponentLimit {
		return cty.NilVal, fail("the number is too large")
	}
	v, err := cty.ParseNumberVal(s)
	if err != nil {
		return cty.NilVal, notNumber()
	}
	return v, nil
}

// shortInt reads an integer of up to 18 digits.
func shortInt(s string) (i int64, ok bool) {
	digits, negative := s, false
	if strings.HasPrefix(s, "-") {
		digits, negative = s[1:], true
	}
	if digits == "" || len(digits) > 18 {
		return 0, false
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
		i = i*10 + int64(c-'0')
	}
	if negative {
		i = -i
	}
	return i, !negative || i != 0 // text can say minus zero, integers cannot
}

// Exponent is the absolute value of what stands behind e or p in a number, 0 without one. It stops counting
// above 10,000, where no number is wanted any more.
func Exponent(s string) int {
	i := strings.IndexAny(s, "eEpP")
	if i < 0 {
		return 0
	}
	n := 0
	for _, c := range []byte(s[i+1:]) {
		if c >= '0' && c <= '9' {
			if n = n*10 + int(c-'0'); n > exponentLimit {
				return n
			}
		}
	}
	return n
}
