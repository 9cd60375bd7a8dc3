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
	fixed("csvdecode", "Decodes a table in CSV with a header line to a list of objects.", cty.DynamicPseudoType, csvDecode,
		text("str", "The table.")),
	{
		name: "jsondecode", doc: "Decodes a JSON text.",
		params:  []param{{name: "str", typ: cty.String, doc: "The JSON text.", mode: unknown}},
		returns: cty.DynamicPseudoType, nullable: true, run: jsonDecode,
	},
	fixed("jsonencode", "Encodes a value as JSON on one line. The characters < > & are escaped.", cty.String, jsonEncode,
		param{name: "val", typ: cty.DynamicPseudoType, doc: "The value.", mode: null | unknown | dynamic}),
	{
		name: "yamldecode", doc: "Decodes a YAML document. Only values that exist in the language are supported.",
		params:  []param{{name: "src", typ: cty.String, doc: "The YAML document."}},
		returns: cty.DynamicPseudoType, nullable: true, run: yamlDecode,
	},
	fixed("yamlencode", "Encodes a value as YAML in block style. All strings are quoted.", cty.String, yamlEncode,
		param{name: "value", typ: cty.DynamicPseudoType, doc: "The value.", mode: null | unknown | dynamic}),
}

// csvDecode decodes a table in CSV with the csvdecode of cty. It returns an error for a table that is too large.
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

// narrow reduces the precision of whole numbers to the digits that they have. Without this, the YAML library would
// write every digit of the full precision to find the shortest text. In the result, tuples replace lists and sets, and
// objects replace maps, because their YAML is the same.
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

// yamlDecode determines the type of the result before the value. If anchors share parts of the document, the value can
// have far more elements than the document. The number of parts of the type shows this before the value is made.
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

// spend subtracts the number of parts of a type from *left. It stops when *left is negative.
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

// numbersFit returns an error if v contains a number with too many digits.
func numbersFit(v cty.Value) error {
	return cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() != cty.Number || v.IsNull() || !v.IsKnown() {
			return true, nil
		}
		return false, convert.Writable(v)
	})
}

// yamlFits returns an error if a text would be too much work for the YAML parser, which has no limits itself. It counts
// the characters that can begin an element. A merge (<<) copies all keys of a mapping, so yamlFits also limits the
// product of merges and keys.
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

// yamlDepth returns an upper bound of the depth of the elements in a text. It counts indentation, dashes at the
// beginning of a line, and brackets. The result may be too large, because a block of text can contain the same
// characters.
func yamlDepth(text string) int {
	maxDepth, open := 0, 0
	var margins []int
	for line := range strings.Lines(text) {
		margin := len(line) - len(strings.TrimLeft(line, " "))
		for len(margins) > 0 && margins[len(margins)-1] >= margin {
			margins = margins[:len(margins)-1]
		}
		margins = appendMargins(margins, line[margin:], margin)
		maxDepth = max(maxDepth, yamlBrackets(line, &open)+len(margins))
	}
	return maxDepth
}

// appendMargins appends the columns at which elements begin on a line to margins. On the line `- - a`, three elements
// begin.
func appendMargins(margins []int, rest string, at int) []int {
	for len(rest) > 1 && strings.IndexByte("-?:", rest[0]) >= 0 && rest[1] == ' ' {
		margins = append(margins, at)
		next := strings.TrimLeft(rest[1:], " ")
		at += len(rest) - len(next)
		rest = next
	}
	return append(margins, at)
}

// yamlBrackets returns the largest number of open brackets on a line. *open is the number of open brackets: before the
// call at the start of the line, and after the call at its end. A bracket counts only where a value can begin, not
// inside a word.
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
