package funcs

import (
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

var formats = []*builtin{
	{
		name: "format", doc: "Formats values according to a format string.",
		params:  []param{{name: "format", typ: cty.String, doc: "Text with verbs, such as %s for a string or %05.1f for a number."}},
		rest:    &param{name: "args", typ: cty.DynamicPseudoType, doc: "The values, one for each verb.", mode: null | unknown | dynamic},
		returns: cty.DynamicPseudoType, kind: stringKind, run: formatted(stdlib.FormatFunc),
	},
	{
		name: "formatlist", doc: "Applies format to each element of lists, and returns a list of the strings.",
		params: []param{{name: "format", typ: cty.String, doc: "Text with verbs, as for format."}},
		rest: &param{name: "args", typ: cty.DynamicPseudoType, mode: null | unknown | dynamic,
			doc: "The values, one for each verb. Lists must have the same length. A value that is not a list is used for all elements."},
		returns: cty.DynamicPseudoType, kind: stringsKind, run: formatted(stdlib.FormatListFunc),
	},
}

// maxField is the maximum width of a verb. Package fmt, which formats the numbers, has the same limit.
const maxField = 1_000_000

// formatted returns the field run of a builtin. It calls f, a formatting function of cty, unless the result would be
// too large, which is an error.
func formatted(f function.Function) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) {
		wide, err := fields(c.args[0].AsString())
		if err != nil {
			return cty.NilVal, c.because(err)
		}
		s := contents(&c.limits)
		s.Bytes = wide
		rows := 1
		for _, v := range c.args[1:] {
			if !mark.Look(&s, v) {
				return cty.NilVal, c.problem(s)
			}
			if isSequence(v.Type()) && v.IsKnown() && !v.IsNull() {
				rows = max(rows, v.LengthInt())
			}
		}
		if err := c.fits(0, rows, int(wide)+len(c.args[0].AsString())); err != nil {
			return cty.NilVal, err
		}
		r, err := f.Call(c.args)
		return r, c.because(err)
	}
}

// fields returns the sum of all widths and precisions in a format string. It returns an error if one of them is greater
// than maxField. The number of an argument in brackets, as in %[2]d, counts as a width.
func fields(format string) (total int64, err error) {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		for i++; i < len(format) && strings.IndexByte("0123456789.+-# []", format[i]) >= 0; i++ {
			n := int64(0)
			for ; i < len(format) && format[i] >= '0' && format[i] <= '9'; i++ {
				if n = n*10 + int64(format[i]-'0'); n > maxField {
					return 0, fmt.Errorf("a field of the format is wider than %d characters", maxField)
				}
			}
			total += n
			if n > 0 {
				i--
			}
		}
	}
	return total, nil
}
