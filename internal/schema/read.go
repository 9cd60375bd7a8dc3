package schema

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/zclconf/go-cty/cty"
)

// input reads values in one of the two encodings, MessagePack or JSON. The type of a value is known before it is read.
type input interface {
	// leaf reads a null, unknown, primitive or dynamic value. If the type is a collection or an object and the value is
	// neither null nor unknown, leaf reads nothing and returns is = false.
	leaf(c *codec) (v cty.Value, is bool, f *failure)
	// begin reads the beginning of a list, map or object of n elements. For JSON, n has no meaning, because JSON does not
	// store the number.
	begin(c *codec) (n int, f *failure)
	// more reports whether the element with the index i follows.
	more(c *codec, i, n int) bool
	// name reads the name of a member of a map or object.
	name(c *codec) (string, *failure)
	// failure returns the error of the previous calls of begin and more, or nil.
	failure() *failure
	// complete reports whether the encoding requires each attribute of an object exactly once.
	complete() bool
	// end ends the reading. JSON that follows the value is a failure; MessagePack that follows the value is ignored.
	end() *failure
}

const errShort = "the data ends in the middle of a value"

func (c *codec) decode(in input) (cty.Value, error) {
	v, f := c.read(in)
	if f == nil {
		f = in.end()
	}
	if f != nil {
		return cty.DynamicVal, f.err()
	}
	return v, nil
}

// read reads one value of the codec's type.
func (c *codec) read(in input) (cty.Value, *failure) {
	if v, is, f := in.leaf(c); is {
		return v, f
	}
	switch c.kind {
	case kindList, kindSet, kindTuple:
		return c.readList(in)
	case kindMap:
		return c.readMap(in)
	case kindObject:
		return c.readObject(in)
	}
	return cty.NilVal, fail("a value of this type cannot be decoded")
}

func (c *codec) readList(in input) (cty.Value, *failure) {
	n, f := in.begin(c)
	if f != nil {
		return cty.NilVal, f
	}
	var vals []cty.Value
	for i := 0; in.more(c, i, n); i++ {
		if c.kind == kindTuple && i == len(c.items) {
			return cty.NilVal, c.otherLength()
		}
		v, f := c.item(i).read(in)
		if f != nil {
			return cty.NilVal, f.at(i)
		}
		vals = append(slices.Grow(vals, max(n-i, 1)), v)
	}
	switch f := in.failure(); {
	case f != nil:
		return cty.NilVal, f
	case c.kind == kindTuple && len(vals) < len(c.items):
		return cty.NilVal, c.otherLength()
	}
	return c.collection(vals)
}

func (c *codec) otherLength() *failure {
	return fail(fmt.Sprintf("a tuple of length %d is required", len(c.items)))
}

func (c *codec) readMap(in input) (cty.Value, *failure) {
	n, f := in.begin(c)
	if f != nil {
		return cty.NilVal, f
	}
	vals := map[string]cty.Value{}
	for i := 0; in.more(c, i, n); i++ {
		key, f := in.name(c)
		if f != nil {
			return cty.NilVal, f
		}
		v, f := c.elem.read(in)
		if f != nil {
			return cty.NilVal, f.in(cty.IndexStep{Key: cty.StringVal(key)})
		}
		vals[normal(key)] = v
	}
	if f := in.failure(); f != nil {
		return cty.NilVal, f
	}
	return c.mapping(vals)
}

func (c *codec) readObject(in input) (cty.Value, *failure) {
	n, f := in.begin(c)
	if f != nil {
		return cty.NilVal, f
	}
	var few few
	vals := few.room(len(c.attrs))
	for i := 0; in.more(c, i, n); i++ {
		name, f := in.name(c)
		if f != nil {
			return cty.NilVal, f
		}
		at := c.attr(name, i)
		if at < 0 {
			return cty.NilVal, unsupported(name)
		}
		v, f := c.attrs[at].read(in)
		switch {
		case f != nil:
			return cty.NilVal, f.in(cty.GetAttrStep{Name: name})
		case vals[at] != cty.NilVal && in.complete():
			return cty.NilVal, fail("an attribute is given twice")
		}
		vals[at] = v
	}
	if f := in.failure(); f != nil {
		return cty.NilVal, f
	}
	var missing []string
	for i := range vals {
		if vals[i] == cty.NilVal {
			vals[i] = c.attrs[i].null
			missing = append(missing, fmt.Sprintf("%q", c.names[i]))
		}
	}
	switch {
	case !in.complete() || len(missing) == 0:
		return c.object(vals), nil
	case len(missing) == 1:
		return cty.NilVal, fail("missing attribute " + missing[0])
	}
	return cty.NilVal, fail("missing attributes " + strings.Join(missing, ", "))
}

func unsupported(name string) *failure {
	if len(name) > 100 {
		name = name[:100] + "..."
	}
	return fail(fmt.Sprintf("unsupported attribute %q", name))
}

// required returns the failure for a value that does not have the type of the codec, such as "a string is required".
func (c *codec) required() *failure {
	return fail([...]string{"a value", "a string", "a number", "a bool", "a list", "a set", "a map", "a tuple", "an object", "a value"}[c.kind] + " is required")
}

// exponentLimit and digitLimit limit numbers that arrive as text. Without these limits, printing 1e1000000000 would
// take a gigabyte, and parsing n digits would take a time that grows with the square of n.
const (
	exponentLimit = 10_000
	digitLimit    = 100_000
)

// parseNumber reads a decimal number with the precision of cty, 512 bits. It returns a failure if the text is not a
// number, is longer than digitLimit, or has an exponent whose absolute value is above exponentLimit.
func parseNumber(s string) (cty.Value, *failure) {
	if len(s) > digitLimit || Exponent(s) > exponentLimit {
		return cty.NilVal, fail("the number is too large")
	}
	v, err := ctyvalue.ParseNumber(s)
	if err != nil {
		return cty.NilVal, notNumber()
	}
	return v, nil
}

// Exponent returns the absolute value of the exponent of a number, which follows e or p. It returns 0 if the number has
// no exponent. For an exponent above 10,000 it returns some number above 10,000, because callers reject all such
// numbers.
func Exponent(s string) int {
	i := strings.IndexAny(s, "eEpP")
	if i < 0 {
		return 0
	}
	n := 0
	for _, c := range []byte(s[i+1:]) {
		if c >= '0' && c <= '9' {
			if n = n*10 + int(c-'0'); n > exponentLimit {
				return n
			}
		}
	}
	return n
}

func notNumber() *failure { return fail("a number is required") }
