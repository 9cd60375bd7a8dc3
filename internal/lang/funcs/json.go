package funcs

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Package cty reads a JSON text three times, and each array and object once more for each level around it. It allocates
// an object for each token. Its writer is similar. The reader and the writer in this file visit the text once, and
// produce the same values and texts as cty (TestJSONIsThatOfCty). They handle only JSON without special cases. For all
// other input, jsonDecode and jsonEncode call cty, which also produces all errors.

// jsonDecode decodes a JSON text. If the text is unknown and its beginning is known, cty may return a partly known
// result.
func jsonDecode(c *call) (cty.Value, error) {
	if c.args[0].IsKnown() {
		text := c.args[0].AsString()
		if err := c.jsonFits(text); err != nil {
			return cty.NilVal, err
		}
		r := jsonReader{text: text}
		if v, ok := r.document(); ok && utf8.ValidString(text) {
			return v, nil
		}
	}
	v, err := stdlib.JSONDecodeFunc.Call(c.args)
	return v, c.because(err)
}

// jsonFits returns an error if a JSON text exceeds the limits. It only inspects brackets, commas, digits and exponents.
// The reader finds all other mistakes.
func (c *call) jsonFits(text string) error {
	depth, count, digits, quoted := 0, 0, 0, false
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '[', b == '{':
			depth++
			count++
		case b == ']', b == '}':
			depth--
		case b == ',':
			count++
		}
		if digits++; quoted || b < '0' || b > '9' {
			digits = 0
		}
		switch {
		case digits > convert.MaxDigits, !quoted && (b == 'e' || b == 'E') && exponentAt(text[i+1:]) > convert.MaxDigits:
			return convert.ErrManyDigits
		case depth > c.limits.Nesting:
			return tooMuch("nested too deeply", c.limits.Nesting)
		case count > c.limits.Elements:
			return c.tooMany()
		}
	}
	return nil
}

// jsonReader reads JSON in one pass. It fails for input whose result could differ from the result of cty, and
// jsonDecode then calls cty.
type jsonReader struct {
	jsontext.Scanner
	text    string      // the JSON text, whose memory the strings in the result share
	names   []string    // the attribute names of the objects that are being read, those of the innermost object last
	vals    []cty.Value // the values of these attributes
	objects ctyvalue.ObjectBuilders
}

func (r *jsonReader) document() (cty.Value, bool) {
	r.In = []byte(r.text)
	v, ok := r.value()
	r.Peek()
	return v, ok && r.Err == nil && r.Pos == len(r.In)
}

func (r *jsonReader) value() (cty.Value, bool) {
	switch r.Peek() {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		s := r.string()
		return cty.StringVal(s), r.Err == nil
	case 't', 'f':
		b := r.Boolean()
		return cty.BoolVal(b), r.Err == nil
	case 'n':
		return cty.NullVal(cty.DynamicPseudoType), r.Null()
	default:
		return r.number()
	}
}

func (r *jsonReader) array() (cty.Value, bool) {
	r.Pos++
	var vals []cty.Value
	for first := true; r.More(']', first); first = false {
		v, ok := r.value()
		if !ok {
			return cty.NilVal, false
		}
		vals = append(vals, v)
	}
	return cty.TupleVal(vals), r.Err == nil
}

// object reads an object. It returns false after a mistake, and also if a name occurs twice, so that jsonDecode calls
// cty.
func (r *jsonReader) object() (cty.Value, bool) {
	r.Pos++
	from := len(r.names)
	for first := true; r.More('}', first); first = false {
		r.Peek()
		name := r.string()
		if !r.Want(':') {
			return cty.NilVal, false
		}
		v, ok := r.value()
		if !ok {
			return cty.NilVal, false
		}
		r.names, r.vals = append(r.names, name), append(r.vals, v)
	}
	names, vals := r.names[from:], r.vals[from:]
	if r.Err != nil || len(vals) == 0 {
		return cty.EmptyObjectVal, r.Err == nil
	}
	obj := r.objects.Object(names, vals)
	r.names, r.vals = r.names[:from], r.vals[:from]
	return obj, obj.LengthInt() == len(names)
}

// string reads the string at the current position.
func (r *jsonReader) string() string {
	from := r.Pos
	b := r.Str()
	if r.Pos-from == len(b)+2 { // if the lengths are equal, the string has no escapes
		return r.text[from+1 : r.Pos-1]
	}
	return string(b)
}

func (r *jsonReader) number() (cty.Value, bool) {
	from := r.Pos
	if r.Number(); r.Err != nil {
		return cty.NilVal, false
	}
	text := r.text[from:r.Pos]
	v, err := ctyvalue.ParseNumber(text)
	return v, err == nil
}

// exponentAt returns the number at the beginning of a text, without its sign. It returns 0 if the text does not begin
// with a number. For a number above convert.MaxDigits, it returns another number above that limit.
func exponentAt(text string) int {
	text = strings.TrimLeft(text, "+-")
	n := 0
	for i := 0; i < len(text) && text[i] >= '0' && text[i] <= '9' && n <= convert.MaxDigits; i++ {
		n = 10*n + int(text[i]-'0')
	}
	return n
}

func jsonEncode(c *call) (cty.Value, error) {
	v := c.args[0]
	if c.unknown || !v.IsKnown() {
		r, err := stdlib.JSONEncodeFunc.Call(c.args) // if the beginning of an unknown string is known, cty returns a result whose beginning is known
		return r, c.because(err)
	}
	w := jsonWriter{most: c.limits.Bytes}
	if err := w.value(v); err != nil {
		if errors.Is(err, errFull) {
			return cty.NilVal, c.tooLong()
		}
		return cty.NilVal, c.because(err)
	}
	return cty.StringVal(string(w.out)), nil
}

var errFull = errors.New("too many bytes")

type jsonWriter struct {
	out  []byte
	most int64
}

// value writes a value that is wholly known and has no marks. It returns an error if the text exceeds the limit, or if
// JSON has no form for the value.
func (w *jsonWriter) value(v cty.Value) (err error) {
	if int64(len(w.out)) > w.most {
		return errFull
	}
	if v.IsNull() {
		w.out = append(w.out, "null"...)
		return nil
	}
	switch ty := v.Type(); {
	case ty == cty.String:
		w.out = jsontext.AppendString(w.out, v.AsString())
	case ty == cty.Number:
		w.out, err = appendNumber(w.out, v)
	case ty == cty.Bool:
		w.out = strconv.AppendBool(w.out, v.True())
	case ty.IsObjectType(), ty.IsMapType():
		err = w.members(v)
	case isSequence(ty):
		err = w.sequence(v)
	default:
		err = errors.New("cannot be written as JSON: " + ty.FriendlyName())
	}
	return err
}

func (w *jsonWriter) sequence(v cty.Value) error {
	w.out = append(w.out, '[')
	for i, e := range ctyvalue.Elements(v) {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.value(e); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

// members writes a map or an object, in the order of the keys.
func (w *jsonWriter) members(v cty.Value) error {
	w.out = append(w.out, '{')
	for key, e := range ctyvalue.Members(v) {
		if w.out[len(w.out)-1] != '{' {
			w.out = append(w.out, ',')
		}
		w.out = append(jsontext.AppendString(w.out, key), ':')
		if err := w.value(e); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}

// appendNumber appends a number to b, with all its digits and without an exponent. It returns an error for infinity,
// and for a number with too many digits.
func appendNumber(b []byte, v cty.Value) ([]byte, error) {
	f := ctyvalue.Number(v)
	if f.IsInf() {
		return b, errors.New("cannot serialize infinity as JSON")
	}
	if err := convert.Writable(v); err != nil {
		return b, err
	}
	return ctyvalue.AppendNumber(b, f), nil
}
