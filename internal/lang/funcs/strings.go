package funcs

import (
	"errors"
	"strings"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

var texts = []*builtin{
	fixed("chomp", "Removes line breaks from the end of a string.", cty.String, chomp,
		text("str", "The string.")),
	fixed("endswith", "Reports whether a string ends with a suffix.", cty.Bool, comparing(strings.HasSuffix),
		text("str", "The string to examine."),
		text("suffix", "The suffix.")),
	fixed("indent", "Adds spaces before each line of a string except the first.", cty.String, indent,
		number("spaces", "How many spaces."),
		text("str", "The lines.")),
	{
		name: "join", doc: "Joins the strings of one or more lists.",
		params:  []param{{name: "separator", typ: cty.String, doc: "The separator."}},
		rest:    &param{name: "lists", typ: cty.List(cty.String), doc: "The lists of strings."},
		returns: cty.String, run: join,
	},
	fixed("lower", "Converts all letters of a string to lower case.", cty.String, onText(strings.ToLower),
		text("str", "The string.")),
	fixed("split", "Splits a string into a list of strings.", cty.List(cty.String), split,
		text("separator", "The separator. An empty separator splits between any two characters."),
		text("str", "The string to split.")),
	fixed("startswith", "Reports whether a string begins with a prefix.", cty.Bool, startsWith,
		param{name: "str", typ: cty.String, doc: "The string to examine.", mode: unknown},
		text("prefix", "The prefix.")),
	fixed("strcontains", "Reports whether a string contains another string.", cty.Bool, comparing(strings.Contains),
		text("str", "The string to examine."),
		text("substr", "The string to find.")),
	fixed("strrev", "Reverses the order of the characters of a string. Combined characters stay together.", cty.String, library(stdlib.ReverseFunc),
		text("str", "The string.")),
	fixed("substr", "Returns a part of a string.", cty.String, library(stdlib.SubstrFunc),
		text("str", "The string."),
		number("offset", "The index of the first character, counted from zero. A negative index counts from the end."),
		number("length", "The maximum number of characters. If negative, all characters that follow.")),
	fixed("title", "Converts the first letter of each word to upper case.", cty.String, library(stdlib.TitleFunc),
		text("str", "The words.")),
	fixed("trim", "Removes given characters from both ends of a string.", cty.String, onTexts(strings.Trim),
		text("str", "The string."),
		text("cutset", "The characters to remove, in any order.")),
	fixed("trimprefix", "Removes a prefix from a string, if present.", cty.String, onTexts(strings.TrimPrefix),
		text("str", "The string."),
		text("prefix", "The string to remove.")),
	fixed("trimspace", "Removes white space and line breaks from both ends of a string.", cty.String, onText(strings.TrimSpace),
		text("str", "The string.")),
	fixed("trimsuffix", "Removes a suffix from a string, if present.", cty.String, onTexts(strings.TrimSuffix),
		text("str", "The string."),
		text("suffix", "The string to remove.")),
	fixed("upper", "Converts all letters of a string to upper case.", cty.String, onText(strings.ToUpper),
		text("str", "The string.")),
}

// comparing returns the run of a function with two string parameters whose result is the bool f(a, b).
func comparing(f func(a, b string) bool) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) {
		return cty.BoolVal(f(c.args[0].AsString(), c.args[1].AsString())), nil
	}
}

// onTexts returns the run of a function with two string parameters whose result is the string f(a, b).
func onTexts(f func(a, b string) string) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) {
		return cty.StringVal(f(c.args[0].AsString(), c.args[1].AsString())), nil
	}
}

func chomp(c *call) (cty.Value, error) {
	return cty.StringVal(strings.TrimRight(c.args[0].AsString(), "\r\n")), nil
}

// startsWith reports whether a string begins with a prefix. For an unknown string whose beginning is known, the result
// may be known.
func startsWith(c *call) (cty.Value, error) {
	str, prefix := c.args[0], c.args[1].AsString()
	if str.IsKnown() {
		return cty.BoolVal(strings.HasPrefix(str.AsString(), prefix)), nil
	}
	known := str.Range().StringPrefix()
	switch {
	case strings.HasPrefix(known, prefix):
		return cty.True, nil
	case !strings.HasPrefix(prefix, known):
		return cty.False, nil
	}
	return cty.UnknownVal(cty.Bool), nil
}

func indent(c *call) (cty.Value, error) {
	n, err := wholeNumber(c.args[0])
	if err != nil {
		return cty.NilVal, c.because(err)
	}
	if n < 0 {
		return cty.NilVal, errors.New("the number of spaces must not be negative")
	}
	text := c.args[1].AsString()
	if err := c.fits(len(text), strings.Count(text, "\n"), n); err != nil {
		return cty.NilVal, err
	}
	return cty.StringVal(strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n))), nil
}

func join(c *call) (cty.Value, error) {
	if len(c.args) == 1 {
		return cty.NilVal, errors.New("at least one list is required")
	}
	if c.unknown {
		return cty.UnknownVal(cty.String), nil
	}
	var parts []string
	size := 0
	for i, list := range c.args[1:] {
		for j, v := range ctyvalue.Elements(list) {
			if v.IsNull() {
				return cty.NilVal, nullElement(len(c.args)-1, i+1, j)
			}
			parts = append(parts, v.AsString())
			size += len(v.AsString())
		}
		if len(parts) > c.limits.Elements {
			return cty.NilVal, c.tooMany()
		}
	}
	sep := c.args[0].AsString()
	if err := c.fits(size, len(parts), len(sep)); err != nil {
		return cty.NilVal, err
	}
	return cty.StringVal(strings.Join(parts, sep)), nil
}

// nullElement returns the error for a null element in list i. If there are several lists, the message contains the
// number of list i.
func nullElement(lists, i, element int) error {
	if lists == 1 {
		return bad(i, "element %d is null; cannot concatenate null values", element)
	}
	return bad(i, "element %d of list %d is null; cannot concatenate null values", element, i)
}

func split(c *call) (cty.Value, error) {
	sep, str := c.args[0].AsString(), c.args[1].AsString()
	if strings.Count(str, sep) >= c.limits.Elements {
		return cty.NilVal, c.tooMany()
	}
	return stringList(strings.Split(str, sep)), nil
}
