package config

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// TestForeignOperators checks that an operator of another language is reported in every position of an expression.
func TestForeignOperators(t *testing.T) {
	for text, want := range map[string]string{
		"a and b": "Write &&.", "not a": "Write !.", "(a or b)": "Write ||.", "(\n  a and b\n)": "Write &&.", "f(x,not a)": "Write !.",
		"[for x in y : x if x and z]": "Write &&.", `"${not a}"`: "Write !.", "1 in [2]": "Write contains(list, value).",
		"a.not b": "extra characters", "[for x of y : x]": "For expression requires the 'in' keyword",
	} {
		var bag diag.Bag
		ParseExpression("x", []byte(text), limits.Limits{}, &bag)
		if l := bag.List(); len(l) != 1 || !strings.Contains(l[0].Detail, want) {
			t.Errorf("%s: %v", text, l)
		}
	}
}
