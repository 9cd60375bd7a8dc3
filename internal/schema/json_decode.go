package schema

import (
	"bytes"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/zclconf/go-cty/cty"
)

// text is JSON being read. Values are read by the type they must have, in one pass.
type text struct {
	jsontext.Scanner
	s     string // the input as a string, whose parts serve as values; "" if they must be copied
	depth int    // of dynamic values in dynamic values
}

func newText(b []byte) *text {
	t := &text{Scanner: jsontext.Scanner{In: b}}
	if len(b) <= shareLimit {
		t.s = string(b)
	}
	return t
}

func (t *text) complete() bool { return false }

// failure is what is wrong with the text, nil if nothing is.
func (t *text) failure() *failure {
	if t.Err != nil {
		return fail(t.Err.What)
	}
	return nil
}

// end fails unless the text is over.
func (t *text) end() *failure {
	if t.Err == nil && (t.Peek() != 0 || t.Pos < len(t.In)) {
		t.Fail("more follows the end of the value")
	}
	return t.failure()
}

// literal passes over a word, if it stands here.
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

// readPrimitive reads a string, number or bool, and lets each stand for another where its text
// says so: old states have them as strings.
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

func (t *text) items(c *codec, read func(int) *failure) *failure {
	if t.In[t.Pos] != '[' {
		return c.required()
	}
	t.Pos++
	for i := 0; t.More(']', i == 0); i++ {
		if f := read(i); f != nil {
			return f
		}
	}
	return t.failure()
}

func (t *text) members(c *codec, read func(int, string) *failure) *failure {
	if t.In[t.Pos] != '{' {
		return c.required()
	}
	t.Pos++
	for i := 0; t.More('}', i == 0); i++ {
		if t.Peek() != '"' {
			t.Expected("a quoted name")
			break
		}
		name := t.str()
		if !t.Want(':') {
			break
		}
		if f := read(i, name); f != nil {
			return f
		}
	}
	return t.failure()
}

// readDynamicJSON reads an object of a type and a value of that type, in any order.
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
	f := t.members(dynamicCodec, func(_ int, name string) *failure {
		raw := t.Raw()
		switch {
		case t.Err != nil:
			return t.failure()
		case name == "type":
			typ = raw
		case name == "value":
			value = raw
		default:
			return unsupported(name)
		}
		return nil
	})
	if f == nil && (typ == nil || value == nil) {
		f = fail(required)
	}
	if f != nil {
		return cty.NilVal, f
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

// str reads the string that begins here.
func (t *text) str() string {
	from := t.Pos
	b := t.Str()
	switch {
	case t.Err != nil:
		return ""
	case !utf8.Valid(b):
		s, _ := jsontext.Unquote(t.In[from:t.Pos]) // it is a string
		return s
	case t.Pos-from == len(b)+2: // without escapes
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
