package schema

import "github.com/lethe-iac/lethe/internal/jsontext"

// Describes reports whether all names in the JSON form of an object are those of the block. Another release of a
// provider may have stored others, under the same version of the schema.
func (b *Block) Describes(json []byte) bool {
	s := jsontext.Scanner{In: json}
	return b.codec().describes(&s) && s.Err == nil
}

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

// nests reports whether there may be names of a schema in a value.
func (c *codec) nests() bool {
	switch c.kind {
	case kindObject:
		return true
	case kindList, kindSet, kindMap:
		return c.elem.nests()
	}
	return false
}
