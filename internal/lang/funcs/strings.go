package funcs

import (
	"errors"
	"strings"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

var texts = []*builtin{
	fixed("chomp", "Takes the line breaks off the end of a string.", cty.String, chomp,
		text("str", "The string.")),
	fixed("endswith", "Tells whether a string ends with another.", cty.Bool, comparing(strings.HasSuffix),
		text("str", "The string to look at."),
		text("suffix", "What it may end with.")),
	fixed("indent", "Puts spaces before each line of a string but the first.", cty.String, indent,
		number("spaces", "How many spaces."),
		text("str", "The lines.")),
	{
		name: "join", doc: "Puts the strings of one or more lists together into one string.",
		params:  []param{{name: "separator", typ: cty.String, doc: "What to put between any two strings."}},
		rest:    &param{name: "lists", typ: cty.List(cty.String), doc: "The lists of strings."},
		returns: cty.String, run: join,
	},
	fixed("lower", "Converts all letters of a string to lower case.", cty.String, onText(strings.ToLower),
		text("str", "The string.")),
	fixed("split", "Cuts a string into a list of strings.", cty.List(cty.String), split,
		text("separator", "Where to cut. An empty string cuts between any two characters."),
		text("str", "The string to cut.")),
	fixed("startswith", "Tells whether a string begins with another.", cty.Bool, startsWith,
		param{name: "str", typ: cty.String, doc: "The string to look at.", mode: unknown},
		text("prefix", "What it may begin with.")),
	fixed("strcontains", "Tells whether a string contains another.", cty.Bool, comparing(strings.Contains),
		text("str", "The string to look at."),
		text("substr", "What it may contain.")),
	fixed("strrev", "Reverses the order of the characters of a string. What is seen as one character stays one.", cty.String, library(stdlib.ReverseFunc),
		text("str", "The string.")),
	fixed("substr", "Takes a part out of a string.", cty.String, library(stdlib.SubstrFunc),
		text("str", "The string."),
		number("offset", "The first character to take, counted from zero; if negative, from the end of the string."),
		number("length", "How many characters to take at most; if negative, all that follow.")),
	fixed("title", "Converts the first letter of each word to upper case.", cty.String, library(stdlib.TitleFunc),
		text("str", "The words.")),
	fixed("trim", "Takes given characters off both ends of a string.", cty.String, onTexts(strings.Trim),
		text("str", "The string."),
		text("cutset", "The characters to take off, in any order.")),
	fixed("trimprefix", "Takes a string off the beginning of another, if it is there.", cty.String, onTexts(strings.TrimPrefix),
		text("str", "The string."),
		text("prefix", "What to take off.")),
	fixed("trimspace", "Takes white space, line breaks included, off both ends of a string.", cty.String, onText(strings.TrimSpace),
		text("str", "The string.")),
	fixed("trimsuffix", "Takes a string off the end of another, if it is there.", cty.String, onTexts(strings.TrimSuffix),
		text("str", "The string."),
		text("suffix", "What to take off.")),
	fixed("upper", "Converts all letters of a string to upper case.", cty.String, onText(strings.ToUpper),
		text("str", "The string.")),
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
