package schema

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/zclconf/go-cty/cty"
)

// text reads values from JSON. The type of each value is known before it is read, so one pass suffices.
type text struct {
	jsontext.Scanner
	s     string // the input as a string, whose parts are the decoded strings; "" if strings must be copied
	depth int    // the number of dynamic values around the present value
}

// someTexts has texts for reuse, which were read to the end.
var someTexts = sync.Pool{New: func() any { return new(text) }}

func newText(b []byte) *text {
	t := someTexts.Get().(*text)
	if t.In = b; len(b) <= shareLimit {
		t.s = string(b)
	}
	return t
}

func (t *text) complete() bool { return false }

// failure returns the error of the scanner as a failure, or nil without an error.
func (t *text) failure() *failure {
	if t.Err != nil {
		return fail(t.Err.What)
	}
	return nil
}

// end returns a failure if the value is followed by more than white space, or if reading failed before. Otherwise it
// makes t available for reuse, and returns nil.
func (t *text) end() *failure {
	if t.Err == nil && (t.Peek() != 0 || t.Pos < len(t.In)) {
		t.Fail("there is more text after the end of the value")
	}
	if t.Err != nil {
		return t.failure()
	}
	*t = text{}
	someTexts.Put(t)
	return nil
}

// literal reports whether the remaining input begins with word. If so, it moves past word.
func (t *text) literal(word string) bool {
	if !bytes.HasPrefix(t.In[t.Pos:], []byte(word)) {
		return false
	}
	t.Pos += len(word)
	return true
}

func (t *text) leaf(c *codec) (v cty.Value, is bool, f *failure) {
	first := t.Peek()
	switch {
	case first == 0:
		return cty.NilVal, true, fail(errShort)
	case first == 'n' && t.literal("null"):
		return c.null, true, nil
	}
	switch c.kind {
	case kindString, kindNumber, kindBool:
		v, f = c.readPrimitive(t, first)
	case kindDynamic:
		v, f = readDynamicJSON(t)
	default:
		return cty.NilVal, false, nil
	}
	return v, true, f
}

// readPrimitive reads a string, number or bool. If the type of the codec is another of these three and the text permits
// it, readPrimitive converts the value, because old states store numbers and bools as strings. Otherwise it returns a
// failure.
func (c *codec) readPrimitive(t *text, first byte) (cty.Value, *failure) {
	switch {
	case first == '"':
		s := t.str()
		switch {
		case t.Err != nil:
			return cty.NilVal, t.failure()
		case c.kind == kindString:
			return ctyvalue.String(s), nil
		case c.kind == kindNumber:
			return parseNumber(s)
		case s == "true" || s == "1":
			return cty.True, nil
		case s == "false" || s == "0":
			return cty.False, nil
		}
	case first == '-' || first >= '0' && first <= '9':
		from := t.Pos
		t.Number()
		s := t.part(from, t.Pos)
		switch {
		case t.Err != nil:
			return cty.NilVal, t.failure()
		case c.kind == kindNumber:
			return parseNumber(s)
		case c.kind == kindString:
			return ctyvalue.String(s), nil
		}
	case t.literal("true"):
		switch c.kind {
		case kindBool:
			return cty.True, nil
		case kindString:
			return cty.StringVal("true"), nil
		}
	case t.literal("false"):
		switch c.kind {
		case kindBool:
			return cty.False, nil
		case kindString:
			return cty.StringVal("false"), nil
		}
	}
	return cty.NilVal, c.required()
}

func (t *text) begin(c *codec) (int, *failure) {
	if t.In[t.Pos] != c.opens() {
		return 0, c.required()
	}
	t.Pos++
	return 0, nil
}

// opens returns the character that begins a list, map or object. The code of the closing character is larger by 2.
func (c *codec) opens() byte {
	if c.kind == kindList || c.kind == kindSet || c.kind == kindTuple {
		return '['
	}
	return '{'
}

func (t *text) more(c *codec, i, _ int) bool { return t.More(c.opens()+2, i == 0) }

func (t *text) name(*codec) (string, *failure) {
	if t.Peek() != '"' {
		t.Expected("a quoted name")
		return "", t.failure()
	}
	name := t.str()
	t.Want(':')
	return name, t.failure()
}

// readDynamicJSON reads a value of dynamic type: an object with the members type and value, in any order. It decodes
// the value with that type. If a member is missing, another member exists, or the value does not have the type, it
// returns a failure.
func readDynamicJSON(t *text) (cty.Value, *failure) {
	const required = "a value of any type must come with its type"
	if t.In[t.Pos] != '{' {
		return cty.NilVal, fail(required)
	}
	if t.depth++; t.depth > depthLimit {
		return cty.NilVal, fail("values of any type are nested too deep")
	}
	defer func() { t.depth-- }()
	var typ, value []byte
	t.Pos++
	for i := 0; t.more(dynamicCodec, i, 0); i++ {
		name, f := t.name(dynamicCodec)
		if f != nil {
			return cty.NilVal, f
		}
		switch raw := t.Raw(); {
		case t.Err != nil:
			return cty.NilVal, t.failure()
		case name == "type":
			typ = raw
		case name == "value":
			value = raw
		default:
			return cty.NilVal, unsupported(name)
		}
	}
	if f := t.failure(); f != nil {
		return cty.NilVal, f
	}
	if typ == nil || value == nil {
		return cty.NilVal, fail(required)
	}
	ty, f := typeFromJSON(typ)
	if f != nil {
		return cty.NilVal, f
	}
	inner := &text{Scanner: jsontext.Scanner{In: value}, depth: t.depth}
	v, f := compile(ty).read(inner)
	if f == nil {
		f = inner.end()
	}
	return v, f
}

// str reads the string at the current position. If that fails, t.Err has the error, and the result is "".
func (t *text) str() string {
	from := t.Pos
	b := t.Str()
	switch {
	case t.Err != nil:
		return ""
	case !utf8.Valid(b):
		s, _ := jsontext.Unquote(t.In[from:t.Pos]) // cannot fail, because the scanner has accepted the string
		return s
	case t.Pos-from == len(b)+2: // if the lengths are equal, the string has no escapes
		return t.part(from+1, t.Pos-1)
	}
	return string(b)
}

func (t *text) part(from, to int) string {
	if t.s != "" {
		return t.s[from:to]
	}
	return string(t.In[from:to])
}
