package schema

import (
	"bytes"
	"fmt"
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

func (c *codec) decodeJSON(b []byte) (cty.Value, error) {
	t := &text{Scanner: jsontext.Scanner{In: b}}
	if len(b) <= shareLimit {
		t.s = string(b)
	}
	v, f := c.readJSON(t)
	if f == nil {
		f = t.end()
	}
	if f != nil {
		return cty.DynamicVal, f.err()
	}
	return v, nil
}

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

// readJSON reads one value of the codec's type.
func (c *codec) readJSON(t *text) (cty.Value, *failure) {
	first := t.Peek()
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
	return cty.NilVal, fail("a " + c.noun() + " is required")
}

func (c *codec) readJSONList(t *text) (cty.Value, *failure) {
	if t.In[t.Pos] != '[' {
		return cty.NilVal, fail("a " + c.noun() + " is required")
	}
	t.Pos++
	vals := newLister(c, 0)
	for first := true; t.More(']', first); first = false {
		if c.kind == kindTuple && vals.len() == len(c.items) {
			return cty.NilVal, c.otherLength()
		}
		v, f := c.item(vals.len()).readJSON(t)
		if f != nil {
			return cty.NilVal, f.at(vals.len())
		}
		vals.add(v)
	}
	switch {
	case t.Err != nil:
		return cty.NilVal, t.failure()
	case c.kind == kindTuple && vals.len() != len(c.items):
		return cty.NilVal, c.otherLength()
	}
	return vals.value()
}

func (c *codec) otherLength() *failure {
	return fail(fmt.Sprintf("a tuple of length %d is required", len(c.items)))
}

func (c *codec) readJSONMap(t *text) (cty.Value, *failure) {
	if t.In[t.Pos] != '{' {
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
	if t.In[t.Pos] != '{' {
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
	if t.In[t.Pos] != '{' {
		return cty.NilVal, fail(required)
	}
	if t.depth++; t.depth > depthLimit {
		return cty.NilVal, fail("values of any type are nested too deep")
	}
	defer func() { t.depth-- }()
	var typ, value []byte
	f := t.members(func(name string) *failure {
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
	v, f := compile(ty).readJSON(inner)
	if f == nil {
		f = inner.end()
	}
	return v, f
}

// members calls read at the value of each member of an object.
func (t *text) members(read func(name string) *failure) *failure {
	t.Pos++
	for first := true; t.More('}', first); first = false {
		if t.Peek() != '"' {
			t.Expected("a quoted name")
			break
		}
		name := t.str()
		if !t.Want(':') {
			break
		}
		if f := read(name); f != nil {
			return f
		}
	}
	return t.failure()
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
