package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// text is JSON being read. Values are read by the type they must have, in one pass.
type text struct {
	b     []byte
	s     string // b as a string, whose parts serve as values; "" if they must be copied
	pos   int
	depth int // of dynamic values in dynamic values
}

func (c *codec) decodeJSON(b []byte) (cty.Value, error) {
	t := &text{b: b}
	if len(b) <= shareLimit {
		t.s = string(b)
	}
	v, f := c.readJSON(t)
	if f == nil && t.next() != 0 {
		f = fail("more follows the end of the value")
	}
	if f != nil {
		return cty.DynamicVal, f.err()
	}
	return v, nil
}

// next skips white space and shows the next byte, 0 at the end.
func (t *text) next() byte {
	for t.pos < len(t.b) {
		switch c := t.b[t.pos]; c {
		case ' ', '\t', '\r', '\n':
			t.pos++
		default:
			return c
		}
	}
	return 0
}

// literal passes over a word.
func (t *text) literal(word string) bool {
	if !bytes.HasPrefix(t.b[t.pos:], []byte(word)) {
		return false
	}
	t.pos += len(word)
	return true
}

// readJSON reads one value of the codec's type.
func (c *codec) readJSON(t *text) (cty.Value, *failure) {
	first := t.next()
	switch {
	case first == 0:
		return cty.NilVal, fail(errShort)
	case first == 'n' && t.literal("null"):
		return c.null, nil
	}
	switch c.kind {
	case kindString, kindNumber, kindBool:
		return c.readPrimitive(t, first)
	case kindList, kindSet, kindTuple:
		return c.readJSONList(t)
	case kindMap:
		return c.readJSONMap(t)
	case kindObject:
		return c.readJSONObject(t)
	case kindDynamic:
		return readDynamicJSON(t)
	}
	return cty.NilVal, fail("a value of this type cannot be decoded")
}

// readPrimitive reads a string, number or bool, and lets each stand for another where its text
// says so: old states have them as strings.
func (c *codec) readPrimitive(t *text, first byte) (cty.Value, *failure) {
	switch {
	case first == '"':
		s, ok := t.str()
		switch {
		case !ok:
			return cty.NilVal, fail("invalid string")
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
		s, ok := t.number()
		switch {
		case !ok:
			return cty.NilVal, fail("invalid number")
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
	return cty.NilVal, fail("a " + c.noun() + " is required")
}

func (c *codec) readJSONList(t *text) (cty.Value, *failure) {
	if t.b[t.pos] != '[' {
		return cty.NilVal, fail("a " + c.noun() + " is required")
	}
	vals := newLister(c, 0)
	for more, ok := t.open(']'); more || !ok; more, ok = t.comma(']') {
		if !ok {
			return cty.NilVal, fail("a comma or a closing bracket is missing")
		}
		if c.kind == kindTuple && vals.len() == len(c.items) {
			break
		}
		v, f := c.item(vals.len()).readJSON(t)
		if f != nil {
			return cty.NilVal, f.at(vals.len())
		}
		vals.add(v)
	}
	if c.kind == kindTuple && (vals.len() != len(c.items) || t.b[t.pos-1] != ']') {
		return cty.NilVal, fail(fmt.Sprintf("a tuple of length %d is required", len(c.items)))
	}
	return vals.value()
}

func (c *codec) readJSONMap(t *text) (cty.Value, *failure) {
	if t.b[t.pos] != '{' {
		return cty.NilVal, fail("a map is required")
	}
	vals := newBuilder(c, 0)
	f := t.members(func(key string) *failure {
		v, f := c.elem.readJSON(t)
		if f != nil {
			return f.in(cty.IndexStep{Key: cty.StringVal(key)})
		}
		vals.set(normal(key), v)
		return nil
	})
	if f != nil {
		return cty.NilVal, f
	}
	return vals.value()
}

func (c *codec) readJSONObject(t *text) (cty.Value, *failure) {
	if t.b[t.pos] != '{' {
		return cty.NilVal, fail("an object is required")
	}
	vals := newBuilder(c, len(c.attrs))
	i := -1
	f := t.members(func(name string) *failure {
		i++
		a := c.attr(name, i)
		if a == nil {
			return unsupported(name)
		}
		v, f := a.readJSON(t)
		if f != nil {
			return f.in(cty.GetAttrStep{Name: a.name})
		}
		vals.set(a.name, v)
		return nil
	})
	if f != nil {
		return cty.NilVal, f
	}
	if vals.len() < len(c.attrs) {
		for i := range c.attrs {
			if a := &c.attrs[i]; !vals.has(a.name) {
				vals.set(a.name, a.null)
			}
		}
	}
	return vals.value()
}

// readDynamicJSON reads an object of a type and a value of that type, in any order.
func readDynamicJSON(t *text) (cty.Value, *failure) {
	const required = "a value of any type must come with its type"
	if t.b[t.pos] != '{' {
		return cty.NilVal, fail(required)
	}
	if t.depth++; t.depth > depthLimit {
		return cty.NilVal, fail("values of any type are nested too deep")
	}
	defer func() { t.depth-- }()
	var typ, value []byte
	f := t.members(func(name string) *failure {
		raw, ok := t.skip()
		switch {
		case !ok:
			return fail(errShort)
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
	inner := &text{b: value, depth: t.depth}
	v, f := compile(ty).readJSON(inner)
	if f == nil && inner.next() != 0 {
		f = fail("more follows the end of the value")
	}
	return v, f
}

// open enters an array or object and reports whether anything is in it.
func (t *text) open(end byte) (more, ok bool) {
	t.pos++
	if t.next() == end {
		t.pos++
		return false, true
	}
	return true, true
}

// comma passes over what stands between elements and reports whether another follows.
func (t *text) comma(end byte) (more, ok bool) {
	switch t.next() {
	case ',':
		t.pos++
		return true, true
	case end:
		t.pos++
		return false, true
	}
	return true, false
}

// members calls read at the value of each member of an object.
func (t *text) members(read func(name string) *failure) *failure {
	for more, ok := t.open('}'); more || !ok; more, ok = t.comma('}') {
		if !ok {
			return fail("a comma or a closing brace is missing")
		}
		if t.next() != '"' {
			return fail("a name in quotes is required")
		}
		name, ok := t.str()
		if !ok || t.next() != ':' {
			return fail("a name in quotes and a colon are required")
		}
		t.pos++
		if f := read(name); f != nil {
			return f
		}
	}
	return nil
}

// str reads a string. What has escapes or is not valid UTF-8 is left to package encoding/json.
func (t *text) str() (string, bool) {
	from := t.pos
	plain, ascii := true, true
	for i := from + 1; i < len(t.b); i++ {
		switch c := t.b[i]; {
		case c == '"':
			t.pos = i + 1
			if plain && (ascii || utf8.Valid(t.b[from+1:i])) {
				return t.part(from+1, i), true
			}
			var s string
			err := json.Unmarshal(t.b[from:i+1], &s)
			return s, err == nil
		case c == '\\':
			plain = false
			i++
		case c < 0x20:
			return "", false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false
}

func (t *text) part(from, to int) string {
	if t.s != "" {
		return t.s[from:to]
	}
	return string(t.b[from:to])
}

// number reads the text of a number.
func (t *text) number() (string, bool) {
	from := t.pos
	for t.pos < len(t.b) && strings.IndexByte("+-.0123456789eE", t.b[t.pos]) >= 0 {
		t.pos++
	}
	s := t.part(from, t.pos)
	if i, ok := shortInt(s); ok && (s[0] != '0' || i == 0 && len(s) == 1) && !strings.HasPrefix(s, "-0") {
		return s, true
	}
	return s, json.Valid([]byte(s))
}

// skip passes over a value and gives its text; whether it is well formed shows when it is read.
func (t *text) skip() ([]byte, bool) {
	t.next()
	from, depth := t.pos, 0
	for t.pos < len(t.b) {
		switch c := t.b[t.pos]; c {
		case '"':
			if _, ok := t.str(); !ok {
				return nil, false
			}
			t.pos--
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth < 0 {
				return t.b[from:t.pos], t.pos > from
			}
		case ',':
			if depth == 0 {
				return t.b[from:t.pos], t.pos > from
			}
		}
		t.pos++
	}
	return nil, false
}
