package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// pathBuilder is the way from the root to where a rule looks at the moment.
type pathBuilder cty.Path

func (t *pathBuilder) step(s cty.PathStep) { *t = append(*t, s) }
func (t *pathBuilder) attr(n *node)        { t.step(n.step) }
func (t *pathBuilder) elem(v cty.Value)    { t.step(cty.IndexStep{Key: v}) }
func (t *pathBuilder) index(i int)         { t.elem(cty.NumberIntVal(int64(i))) }
func (t *pathBuilder) key(k string)        { t.elem(cty.StringVal(k)) }
func (t *pathBuilder) up()                 { *t = (*t)[:len(*t)-1] }

// path is the way as a path of its own.
func (t pathBuilder) path() cty.Path { return slices.Clone(cty.Path(t)) }

// pathText writes a path as Terraform and OpenTofu do behind an object's address: ".rule[0].port".
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
