package schema

import (
	"bytes"
	"encoding/json"

	"github.com/lethe-iac/lethe/internal/jsontext"
)

// Describes reports whether the JSON form of an object matches the block. It compares the names of the JSON members.
// Each member must have the name of an attribute or a block type, also in nested blocks and in attributes that contain
// objects. Each block type must have a member, whose value may be null only for the nesting Single. Attributes may be
// missing. Types of primitive values are not compared, and tuples and values of dynamic type are not examined.
//
// Describes returns false for invalid JSON. If the form does not match, another release of the provider has stored
// another form with the same schema version.
func (b *Block) Describes(json []byte) bool {
	s := jsontext.Scanner{In: json}
	return b.shape().describes(&s) && s.Err == nil
}

func (s *shape) describes(in *jsontext.Scanner) bool {
	good, i, blocks := true, 0, 0
	in.Object(func(key []byte) {
		at := s.attr(string(key), i)
		i++
		switch {
		case at < 0:
			good = false
			in.Skip()
		case s.nodes[at].block == nil:
			good = s.nodes[at].codec.describes(in) && good
		default:
			blocks++
			good = s.nodes[at].describes(in) && good
		}
	})
	return good && blocks == s.blockTypes
}

// describes reports whether the JSON value of all blocks of one type matches the schema, by the rules of Describes. It
// reads the value with a scanner. If the type of the collection depends on the values of the blocks, it does not
// examine the blocks.
func (n *node) describes(in *jsontext.Scanner) bool {
	null, good := in.Peek() == 'n', true
	switch {
	case null || n.kind == kindDynamic:
		in.Skip()
		return !null || n.nesting == Single
	case n.nesting == List || n.nesting == Set:
		in.Array(func() { good = n.inner.describes(in) && good })
	case n.nesting == Map:
		in.Object(func([]byte) { good = n.inner.describes(in) && good })
	default:
		good = n.inner.describes(in)
	}
	return good
}

// describes reads a value from s, and reports whether the type of the codec has all attribute names in the value. It
// does not examine tuples and values of dynamic type.
func (c *codec) describes(s *jsontext.Scanner) bool {
	known := true
	switch i := 0; {
	case c.kind == kindObject:
		s.Object(func(key []byte) {
			at := c.attr(string(key), i)
			i++
			if at < 0 {
				known = false
				s.Skip()
				return
			}
			known = c.attrs[at].describes(s) && known
		})
	case c.kind == kindMap && c.elem.nests():
		s.Object(func([]byte) { known = c.elem.describes(s) && known })
	case (c.kind == kindList || c.kind == kindSet) && c.elem.nests():
		s.Array(func() { known = c.elem.describes(s) && known })
	default:
		s.Skip()
	}
	return known
}

// nests reports whether values of the type may contain objects, whose names must be compared.
func (c *codec) nests() bool {
	switch c.kind {
	case kindObject:
		return true
	case kindList, kindSet, kindMap:
		return c.elem.nests()
	}
	return false
}

// Strip returns the JSON form of an object without the names that the block does not have, at any depth. It does not
// add missing names. The result has no white space, and its names are sorted. If the text is not valid JSON, Strip
// returns it unchanged.
func (b *Block) Strip(text []byte) []byte {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var v any
	if in.Decode(&v) != nil {
		return text
	}
	b.codec().strip(v)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return text
	}
	return bytes.TrimSpace(out.Bytes())
}

func (c *codec) strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			at := -1
			if c.kind == kindObject {
				at = c.attr(normal(name), 0)
			}
			switch {
			case at >= 0:
				c.attrs[at].strip(e)
			case c.kind == kindObject:
				delete(v, name)
			case c.kind == kindMap:
				c.elem.strip(e)
			}
		}
	case []any:
		for _, e := range v {
			if c.kind == kindList || c.kind == kindSet {
				c.elem.strip(e)
			}
		}
	}
}
