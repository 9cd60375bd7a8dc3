package funcs

import (
	"errors"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

var texts = []*builtin{
	{
		name: "chomp", doc: "Takes the line breaks off the end of a string.",
		params:  []param{{name: "str", typ: cty.String, doc: "The string."}},
		returns: cty.String, run: chomp,
	},
	{
		name: "endswith", doc: "Tells whether a string ends with another.",
		params: []param{
			{name: "str", typ: cty.String, doc: "The string to look at."},
			{name: "suffix", typ: cty.String, doc: "What it may end with."},
		},
		returns: cty.Bool, run: comparing(strings.HasSuffix),
	},
	{
		name: "indent", doc: "Puts spaces before each line of a string but the first.",
		params: []param{
			{name: "spaces", typ: cty.Number, doc: "How many spaces."},
			{name: "str", typ: cty.String, doc: "The lines."},
		},
		returns: cty.String, run: indent,
	},
	{
		name: "join", doc: "Puts the strings of one or more lists together into one string.",
		params:  []param{{name: "separator", typ: cty.String, doc: "What to put between any two strings."}},
		rest:    &param{name: "lists", typ: cty.List(cty.String), doc: "The lists of strings."},
		returns: cty.String, run: join,
	},
	{
		name: "lower", doc: "Makes all letters of a string small ones.",
		params:  []param{{name: "str", typ: cty.String, doc: "The string."}},
		returns: cty.String, run: onText(strings.ToLower),
	},
	{
		name: "split", doc: "Cuts a string into a list of strings.",
		params: []param{
			{name: "separator", typ: cty.String, doc: "Where to cut. An empty string cuts between any two characters."},
			{name: "str", typ: cty.String, doc: "The string to cut."},
		},
		returns: cty.List(cty.String), run: split,
	},
	{
		name: "startswith", doc: "Tells whether a string begins with another.",
		params: []param{
			{name: "str", typ: cty.String, doc: "The string to look at.", mode: unknown},
			{name: "prefix", typ: cty.String, doc: "What it may begin with."},
		},
		returns: cty.Bool, run: startsWith,
	},
	{
		name: "strcontains", doc: "Tells whether a string contains another.",
		params: []param{
			{name: "str", typ: cty.String, doc: "The string to look at."},
			{name: "substr", typ: cty.String, doc: "What it may contain."},
		},
		returns: cty.Bool, run: comparing(strings.Contains),
	},
	{
		name: "strrev", doc: "Reverses the order of the characters of a string. What is seen as one character stays one.",
		params:  []param{{name: "str", typ: cty.String, doc: "The string."}},
		returns: cty.String, run: library(stdlib.ReverseFunc),
	},
	{
		name: "substr", doc: "Takes a part out of a string.",
		params: []param{
			{name: "str", typ: cty.String, doc: "The string."},
			{name: "offset", typ: cty.Number, doc: "The first character to take, counted from zero; if negative, from the end of the string."},
			{name: "length", typ: cty.Number, doc: "How many characters to take at most; if negative, all that follow."},
		},
		returns: cty.String, run: library(stdlib.SubstrFunc),
	},
	{
		name: "title", doc: "Makes the first letter of each word a capital.",
		params:  []param{{name: "str", typ: cty.String, doc: "The words."}},
		returns: cty.String, run: library(stdlib.TitleFunc),
	},
	{
		name: "trim", doc: "Takes given characters off both ends of a string.",
		params: []param{
			{name: "str", typ: cty.String, doc: "The string."},
			{name: "cutset", typ: cty.String, doc: "The characters to take off, in any order."},
		},
		returns: cty.String, run: onTexts(strings.Trim),
	},
	{
		name: "trimprefix", doc: "Takes a string off the beginning of another, if it is there.",
		params: []param{
			{name: "str", typ: cty.String, doc: "The string."},
			{name: "prefix", typ: cty.String, doc: "What to take off."},
		},
		returns: cty.String, run: onTexts(strings.TrimPrefix),
	},
	{
		name: "trimspace", doc: "Takes white space, line breaks included, off both ends of a string.",
		params:  []param{{name: "str", typ: cty.String, doc: "The string."}},
		returns: cty.String, run: onText(strings.TrimSpace),
	},
	{
		name: "trimsuffix", doc: "Takes a string off the end of another, if it is there.",
		params: []param{
			{name: "str", typ: cty.String, doc: "The string."},
			{name: "suffix", typ: cty.String, doc: "What to take off."},
		},
		returns: cty.String, run: onTexts(strings.TrimSuffix),
	},
	{
		name: "upper", doc: "Makes all letters of a string capitals.",
		params:  []param{{name: "str", typ: cty.String, doc: "The string."}},
		returns: cty.String, run: onText(strings.ToUpper),
	},
}

// comparing answers a question about two strings.
func comparing(f func(a, b string) bool) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) {
		return cty.BoolVal(f(c.args[0].AsString(), c.args[1].AsString())), nil
	}
}

// onTexts runs a function from two strings to one.
func onTexts(f func(a, b string) string) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) {
		return cty.StringVal(f(c.args[0].AsString(), c.args[1].AsString())), nil
	}
}

func chomp(c *call) (cty.Value, error) {
	return cty.StringVal(strings.TrimRight(c.args[0].AsString(), "\r\n")), nil
}

// startsWith can have an answer before the string is known, if its beginning is.
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

// fits refuses a string of so many bytes and so many pieces of a size besides, if it is too long.
func (c *call) fits(bytes, pieces, size int) error {
	room := c.limits.Bytes - int64(bytes)
	if room < 0 || size > 0 && int64(pieces) > room/int64(size) {
		return c.tooLong()
	}
	return nil
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

// nullElement is the mistake of a null in a list, which is the i-th of several.
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
