package lang

import (
	"sync"

	"github.com/zclconf/go-cty/cty"
)

// selections finds what a declaration selects of another of its unit.
type selections struct {
	once sync.Once
	by   map[[2]int32][]cty.Path // from, target
}

func (u *unit) selects(from, target int32) []cty.Path {
	u.selected.once.Do(func() {
		u.selected.by = map[[2]int32][]cty.Path{}
		for _, s := range u.paths {
			k := [2]int32{s.from, s.target.local}
			u.selected.by[k] = append(u.selected.by[k], Path(s.rest))
		}
	})
	return u.selected.by[[2]int32{from, target}]
}

// Selected is what the text of d selects of a resource that it refers to: a path for each place, as
// far as its steps are constant, and only the empty one where it means the whole of it. What a
// module's variable refers to stands in the call.
func (p *Program) Selected(d, resource Decl) []cty.Path {
	n := p.at[resource]
	from, ok := p.textIn(n, d)
	if n == nil || !ok {
		return []cty.Path{{}}
	}
	if out := n.unit.selects(from, int32(resource-n.base)); out != nil {
		return out
	}
	return []cty.Path{{}}
}

// textIn is the index, in the unit of n, of the declaration whose text makes the references of d.
func (p *Program) textIn(n *node, d Decl) (int32, bool) {
	at := p.at[d]
	switch {
	case n == nil || at == nil:
		return 0, false
	case at == n:
		return int32(d - n.base), true
	case at.parent == n:
		return n.unit.index(Call, at.cfg.Call.Name)
	}
	return 0, false
}
