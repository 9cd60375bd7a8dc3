package funcs

import (
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"math/big"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	yaml "github.com/zclconf/go-cty-yaml"
)

var documents = []*builtin{
	fixed("csvdecode", "Reads a table in CSV, with a header line, as a list of objects.", cty.DynamicPseudoType, csvDecode,
		text("str", "The table.")),
	{
		name: "jsondecode", doc: "Reads a JSON text.",
		params:  []param{{name: "str", typ: cty.String, doc: "The JSON text.", mode: unknown}},
		returns: cty.DynamicPseudoType, nullable: true, run: jsonDecode,
	},
	fixed("jsonencode", "Writes a value as JSON, on one line. The characters < > & are written as escapes.", cty.String, jsonEncode,
		param{name: "val", typ: cty.DynamicPseudoType, doc: "The value.", mode: null | unknown | dynamic}),
	{
		name: "yamldecode", doc: "Reads a YAML document. Only what has a counterpart in the language is supported.",
		params:  []param{{name: "src", typ: cty.String, doc: "The YAML document."}},
		returns: cty.DynamicPseudoType, nullable: true, run: yamlDecode,
	},
	fixed("yamlencode", "Writes a value as YAML, in block style. All strings are quoted.", cty.String, yamlEncode,
		param{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: null | unknown | dynamic}),
}

// csvDecode is that of cty's library, if the table is not too large.
func csvDecode(c *call) (cty.Value, error) {
	if text := c.args[0].AsString(); strings.Count(text, ",")+2*strings.Count(text, "\n") > c.limits.Elements {
		return cty.NilVal, c.tooMany()
	}
	return library(stdlib.CSVDecodeFunc)(c)
}

func yamlEncode(c *call) (cty.Value, error) {
	if c.unknown || !c.args[0].IsKnown() {
		return cty.UnknownVal(cty.String), nil
	}
	if v := c.args[0]; v.Type() == cty.Number && !v.IsNull() {
		if err := convert.Writable(v); err != nil {
			return cty.NilVal, err
		}
	}
	v, err := yaml.YAMLEncodeFunc.Call([]cty.Value{narrow(c.args[0])})
	return v, c.because(err)
}

// narrow takes from whole numbers the precision that they do not need: to find out how few digits tell a number from
// others the library writes down all that it could have. Sequences become tuples, and maps objects, which are
// written alike.
func narrow(v cty.Value) cty.Value {
	ty := v.Type()
	if ty == cty.Number {
		return narrowNumber(v)
	}
	if v.IsNull() || !v.CanIterateElements() || ty.IsCollectionType() && ty.ElementType() == cty.String {
		return v
	}
	if isSequence(ty) {
		vals := ctyvalue.Elements(v)
		for i := range vals {
			vals[i] = narrow(vals[i])
		}
		return cty.TupleVal(vals)
	}
	attrs := v.AsValueMap()
	for name, a := range attrs {
		attrs[name] = narrow(a)
	}
	return cty.ObjectVal(attrs)
}

func narrowNumber(v cty.Value) cty.Value {
	const most = 1 << 53
	if !v.IsKnown() || v.IsNull() {
		return v
	}
	f := ctyvalue.Number(v)
	n, acc := f.Int64()
	if acc != big.Exact || n < -most || n > most || n == 0 && f.Signbit() {
		return v
	}
	return cty.NumberIntVal(n)
}

// yamlDecode first finds out the type, which is small where parts are shared through anchors, and then
// whether the value would be as small without sharing.
func yamlDecode(c *call) (cty.Value, error) {
	text := c.args[0].AsString()
	if err := c.yamlFits(text); err != nil {
		return cty.NilVal, err
	}
	ty, err := yaml.Standard.ImpliedType([]byte(text))
	if err != nil {
		return cty.NilVal, c.because(err)
	}
	left := c.limits.Elements
	if spend(ty, &left); left < 0 {
		return cty.NilVal, c.tooMany()
	}
	v, err := yaml.Standard.Unmarshal([]byte(text), ty)
	if err == nil {
		err = numbersFit(v)
	}
	return v, c.because(err)
}

// spend takes one off left for each part of a type, and stops at nothing left.
func spend(ty cty.Type, left *int) {
	if *left--; *left < 0 {
		return
	}
	switch {
	case ty.IsTupleType():
		for _, ety := range ty.TupleElementTypes() {
			if spend(ety, left); *left < 0 {
				return
			}
		}
	case ty.IsObjectType():
		for _, aty := range ty.AttributeTypes() {
			if spend(aty, left); *left < 0 {
				return
			}
		}
	}
}

// numbersFit refuses values with numbers of more digits than can be written down.
func numbersFit(v cty.Value) error {
	return cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() != cty.Number || v.IsNull() || !v.IsKnown() {
			return true, nil
		}
		return false, convert.Writable(v)
	})
}

// yamlFits bounds what the parser can make of a text before it parses it, by counting the characters
// that begin something: it knows no limits itself. Merging copies all keys, so keys and merges count
// with each other.
func (c *call) yamlFits(text string) error {
	limits := c.limits
	if strings.Count(text, "\n")+strings.Count(text, ",")+strings.Count(text, "- ") > limits.Elements {
		return c.tooMany()
	}
	if strings.Count(text, "<<")*strings.Count(text, ":") > 4*limits.Elements {
		return c.tooMany()
	}
	if yamlDepth(text) > limits.Nesting {
		return tooMuch("nested too deeply", limits.Nesting)
	}
	return nil
}

// yamlDepth is how deep a text can be nested at most: by its indentation, by the dashes that begin a
// line, and by brackets. Not all that it counts need be what it looks like, as in a block of text.
func yamlDepth(text string) int {
	deepest, open := 0, 0
	var margins []int
	for line := range strings.Lines(text) {
		margin := len(line) - len(strings.TrimLeft(line, " "))
		for len(margins) > 0 && margins[len(margins)-1] >= margin {
			margins = margins[:len(margins)-1]
		}
		margins = appendMargins(margins, line[margin:], margin)
		deepest = max(deepest, yamlBrackets(line, &open)+len(margins))
	}
	return deepest
}

// appendMargins adds the columns at which a line begins something: `- - a` does so three times.
func appendMargins(margins []int, rest string, at int) []int {
	for len(rest) > 1 && strings.IndexByte("-?:", rest[0]) >= 0 && rest[1] == ' ' {
		margins = append(margins, at)
		next := strings.TrimLeft(rest[1:], " ")
		at += len(rest) - len(next)
		rest = next
	}
	return append(margins, at)
}

// yamlBrackets is the greatest number of open brackets on a line; open is that at its ends. A bracket
// opens where a value can begin, not in the middle of a word.
func yamlBrackets(line string, open *int) (most int) {
	begins := true
	for i := 0; i < len(line); i++ {
		switch b := line[i]; b {
		case '[', '{':
			if begins {
				*open++
				most = max(most, *open)
			}
		case ']', '}':
			*open = max(0, *open-1)
			begins = false
		case ',', ':', '-', '?':
			begins = true
		case ' ', '\t', '\n', '\r':
		default:
			begins = false
		}
	}
	return max(most, *open)
}
