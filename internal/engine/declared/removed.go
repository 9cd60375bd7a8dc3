package declared

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
)

// Removal is a removed block, with the module that contains it.
type Removal struct {
	Block *config.Removed
	In    addr.Module
}

// Removals are the removed blocks of a configuration, by the resource or module that they remove.
type Removals struct {
	resources map[addr.Resource][]Removal
	modules   map[addr.Module][]Removal
}

// NewRemovals returns the removed blocks of the module tree below root.
func NewRemovals(root *config.Node) *Removals {
	out := &Removals{resources: map[addr.Resource][]Removal{}, modules: map[addr.Module][]Removal{}}
	root.Walk(func(n *config.Node) {
		for _, b := range n.Module.Removed {
			m := n.Path.Join(b.From.Target.Module())
			if res := b.From.Target.Resource(); b.From.Target.Mode != 0 {
				res.Module = m
				out.resources[res] = append(out.resources[res], Removal{b, n.Path})
			} else {
				out.modules[m] = append(out.modules[m], Removal{b, n.Path})
			}
		}
	})
	return out
}

// Of returns the removed block that covers the instance i: a block for its resource, or else a block for the nearest
// module around it. It returns false if no block covers the instance.
func (r *Removals) Of(i addr.Instance) (Removal, bool) {
	all := r.covering(i)
	if len(all) == 0 {
		return Removal{}, false
	}
	return all[0], true
}

// covering returns the blocks that cover an instance: first the blocks for its resource, then the blocks for the
// modules around it, the innermost module first.
func (r *Removals) covering(i addr.Instance) []Removal {
	out := slices.Clone(r.resources[i.Resource()])
	for m := i.Module.Module(); !m.IsRoot(); m = m.Parent() {
		out = append(out, r.modules[m]...)
	}
	return out
}

// Fate is the decision of the removed blocks about an object: whether it is destroyed or only forgotten.
type Fate uint8

// The fates. If several blocks cover an object, RemovedForget has priority.
const (
	NotRemoved     Fate = iota
	RemovedUnsaid       // a block covers the object, but no block sets destroy
	RemovedForget       // the object will be forgotten
	RemovedDestroy      // the object will be destroyed
)

// Fate returns the decision of the removed blocks that cover an instance, or NotRemoved if no block covers it. If one of
// the blocks sets destroy = false, Fate returns RemovedForget.
func (r *Removals) Fate(i addr.Instance) Fate {
	out := NotRemoved
	for _, b := range r.covering(i) {
		switch {
		case b.Block.Destroy != nil && !*b.Block.Destroy:
			return RemovedForget
		case b.Block.Destroy != nil:
			out = RemovedDestroy
		default:
			out = max(out, RemovedUnsaid)
		}
	}
	return out
}
