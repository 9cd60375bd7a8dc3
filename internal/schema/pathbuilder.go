package schema

import (
	"slices"

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
