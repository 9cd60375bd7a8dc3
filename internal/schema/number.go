package schema

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// exponentLimit and digitLimit bound the size of numbers that come as text: printing 1e1000000000
// takes a gigabyte, and reading digits takes time that grows with their square.
const (
	exponentLimit = 10_000
	digitLimit    = 100_000
)

// parseNumber reads a decimal number exactly (to cty's 512 bits).
func parseNumber(s string) (cty.Value, *failure) {
	if len(s) > digitLimit || Exponent(s) > exponentLimit {
		return cty.NilVal, fail("the number is too large")
	}
	v, err := ctyvalue.ParseNumber(s)
	if err != nil {
		return cty.NilVal, notNumber()
	}
	return v, nil
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

func notNumber() *failure { return fail("a number is required") }
