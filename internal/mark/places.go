package mark

import "github.com/zclconf/go-cty/cty"

// Places finds out whether parts of a value have marks. The time of a query depends on the length of the path, not on
// the number of marks.
type Places struct {
	at    map[string]tags // the tags of marked values, by the text of the path
	above map[string]tags // the tags of marks on parts of a value, by the text of the value's path
}

// tags is a set of tags: bit t is set if the set contains the Tag t.
type tags uint8

func (s tags) has(t Tag) bool { return s&(1<<t) != 0 }

// NewPlaces indexes marks.
func NewPlaces(marks []At) *Places {
	p := &Places{at: make(map[string]tags, len(marks)), above: map[string]tags{}}
	var buf []byte
	for _, m := range marks {
		buf = buf[:0]
		for _, step := range m.Path {
			p.above[string(buf)] |= 1 << m.Tag
			buf = appendStep(buf, step)
		}
		p.at[string(buf)] |= 1 << m.Tag
	}
	return p
}

// Touch reports whether a mark with the tag is at path, above it or below it.
func (p *Places) Touch(path cty.Path, t Tag) bool {
	if len(p.at) == 0 {
		return false
	}
	var buf []byte
	for _, step := range path {
		if p.at[string(buf)].has(t) {
			return true
		}
		buf = appendStep(buf, step)
	}
	return (p.at[string(buf)] | p.above[string(buf)]).has(t)
}

// SamePaths reports whether two lists have the same paths, in any order. No path may be in a list twice.
func SamePaths(a, b []cty.Path) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || len(Union(SensitiveAt(a), SensitiveAt(b))) == len(a)
}
