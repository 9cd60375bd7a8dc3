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
		name: "format", doc: "Writes values into a string, at the places and in the way that a format says.",
		params:  []param{{name: "format", typ: cty.String, doc: "Text with verbs in it, as in %s for a string or %05.1f for a number."}},
		rest:    &param{name: "args", typ: cty.DynamicPseudoType, doc: "The values, one for each verb.", mode: null | unknown | dynamic},
		returns: cty.DynamicPseudoType, kind: stringKind, run: formatted(stdlib.FormatFunc),
	},
	{
		name: "formatlist", doc: "Does what format does for each element of lists, and gives a list of the strings.",
		params: []param{{name: "format", typ: cty.String, doc: "Text with verbs in it, as for format."}},
		rest: &param{name: "args", typ: cty.DynamicPseudoType, mode: null | unknown | dynamic,
			doc: "The values, one for each verb. Lists must be of one length; a value that is not a list is used for all elements."},
		returns: cty.DynamicPseudoType, kind: stringsKind, run: formatted(stdlib.FormatListFunc),
	},
}

// maxField is the widest field: what Go's own formatting, which does the work for numbers, allows.
const maxField = 1_000_000

// formatted runs one of cty's formatting functions once it is certain that the result is of decent
// size.
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

// fields adds up widths and precisions in a format.
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
