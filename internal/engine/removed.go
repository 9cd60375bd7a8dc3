package engine

import (
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
)

// removal is a removed block where it stands.
type removal struct {
	*config.Removed
	in addr.Module
}

// removals are the removed blocks by what they cover.
type removals struct {
	resources map[addr.Resource]removal
	modules   map[addr.Module]removal
}

func newRemovals(root *config.Node) *removals {
	out := &removals{resources: map[addr.Resource]removal{}, modules: map[addr.Module]removal{}}
	root.Walk(func(n *config.Node) {
		for _, b := range n.Module.Removed {
			m := n.Path.Join(b.From.Target.Module())
			if res := b.From.Target.Resource(); b.From.Target.Mode != 0 {
				res.Module = m
				out.resources[res] = removal{b, n.Path}
			} else {
				out.modules[m] = removal{b, n.Path}
			}
		}
	})
	return out
}

// of finds the block that covers an instance: its resource's, or that of the nearest module.
func (r *removals) of(i addr.Instance) (removal, bool) {
	if b, ok := r.resources[i.Resource()]; ok {
		return b, true
	}
	for m := i.Module.Module(); !m.IsRoot(); m = m.Parent() {
		if b, ok := r.modules[m]; ok {
			return b, true
		}
	}
	return removal{}, false
}
