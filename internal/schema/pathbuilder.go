package schema

import (
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// pathBuilder is the way from the root to where a rule looks at the moment. A path is made of it only
// where there is something to say about the place.
type pathBuilder []segment

type segment struct {
	kind  segmentKind
	name  string // of an attribute, or the key of a map
	index int
	elem  cty.Value // of a set
}

type segmentKind uint8

const (
	segmentAttr segmentKind = iota
	segmentIndex
	segmentKey
	segmentElem
)

func (t *pathBuilder) attr(name string) { *t = append(*t, segment{name: name}) }
func (t *pathBuilder) index(i int)      { *t = append(*t, segment{kind: segmentIndex, index: i}) }
func (t *pathBuilder) key(k string)     { *t = append(*t, segment{kind: segmentKey, name: k}) }
func (t *pathBuilder) elem(v cty.Value) { *t = append(*t, segment{kind: segmentElem, elem: v}) }
func (t *pathBuilder) up()              { *t = (*t)[:len(*t)-1] }

// path is the way as a path of its own.
func (t pathBuilder) path() cty.Path {
	path := make(cty.Path, len(t))
	for i, s := range t {
		switch s.kind {
		case segmentIndex:
			path[i] = cty.IndexStep{Key: cty.NumberIntVal(int64(s.index))}
		case segmentKey:
			path[i] = cty.IndexStep{Key: cty.StringVal(s.name)}
		case segmentElem:
			path[i] = cty.IndexStep{Key: s.elem}
		default:
			path[i] = cty.GetAttrStep{Name: s.name}
		}
	}
	return path
}

// pathText writes a path as the peers do behind an object's address: ".rule[0].port".
func pathText(p cty.Path) string {
	var b strings.Builder
	for _, s := range p {
		switch s := s.(type) {
		case cty.GetAttrStep:
			b.WriteString("." + s.Name)
		case cty.IndexStep:
			b.WriteString(keyText(s.Key))
		}
	}
	return b.String()
}

func keyText(k cty.Value) string {
	switch {
	case !k.IsKnown():
		return "[(not yet known)]"
	case k.IsNull():
	case k.Type() == cty.String:
		return "[" + strconv.Quote(k.AsString()) + "]"
	case k.Type() == cty.Number:
		return "[" + k.AsBigFloat().Text('f', -1) + "]"
	}
	return "[...]"
}
