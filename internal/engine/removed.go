package engine

import (
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
)

// removal is a removed block where it stands.
type removal struct {
	*config.Removed
	in addr.Module
}

// removals are the removed blocks by what they cover.
type removals struct {
	resources map[addr.Resource][]removal
	modules   map[addr.Module][]removal
}

func newRemovals(root *config.Node) *removals {
	out := &removals{resources: map[addr.Resource][]removal{}, modules: map[addr.Module][]removal{}}
	root.Walk(func(n *config.Node) {
		for _, b := range n.Module.Removed {
			m := n.Path.Join(b.From.Target.Module())
			if res := b.From.Target.Resource(); b.From.Target.Mode != 0 {
				res.Module = m
				out.resources[res] = append(out.resources[res], removal{b, n.Path})
			} else {
				out.modules[m] = append(out.modules[m], removal{b, n.Path})
			}
		}
	})
	return out
}

// of finds the block that covers an instance: its resource's, or that of the nearest module.
func (r *removals) of(i addr.Instance) (removal, bool) {
	all := r.covering(i)
	if len(all) == 0 {
		return removal{}, false
	}
	return all[0], true
}

// covering lists the blocks that cover an instance, from its resource's outwards.
func (r *removals) covering(i addr.Instance) []removal {
	out := slices.Clone(r.resources[i.Resource()])
	for m := i.Module.Module(); !m.IsRoot(); m = m.Parent() {
		out = append(out, r.modules[m]...)
	}
	return out
}

// fate is what removed blocks say of an object.
type fate uint8

const (
	notRemoved fate = iota
	removedUnsaid
	removedForget
	removedDestroy
)

// fate is what the blocks that cover an instance say: not to destroy it, if any of them does.
func (r *removals) fate(i addr.Instance) fate {
	out := notRemoved
	for _, b := range r.covering(i) {
		switch {
		case b.Destroy != nil && !*b.Destroy:
			return removedForget
		case b.Destroy != nil:
			out = removedDestroy
		default:
			out = max(out, removedUnsaid)
		}
	}
	return out
}

// warnForgotten says what a plan leaves in place that nothing manages then.
func (p *planner) warnForgotten(changes []*plan.Change) {
	list, unsaid := "", map[*config.Removed]bool{}
	for _, c := range changes {
		if c.Action != plan.Forget {
			continue
		}
		list += fmt.Sprintf("\n  - %s", c.Object)
		if b, ok := p.removals.of(c.Object.Instance); ok && !c.SkipDestroy && !unsaid[b.Removed] {
			unsaid[b.Removed] = true
			p.bag.Add(diag.Warningf("Removed block does not say whether to destroy",
				"What this block is about is forgotten, and stays where it is. Terraform would destroy it. Say which is meant, by `lifecycle { destroy = false }` or `lifecycle { destroy = true }` in the block.").At(b.Range))
		}
	}
	if list == "" {
		return
	}
	why := ""
	if p.req.Mode == plan.Destroy {
		why = "\n\nTheir configuration says destroy = false, and that holds for a destruction of everything, too. Terraform and OpenTofu destroy what a removed block is about then."
	}
	p.bag.Add(diag.Warningf("Some objects will no longer be managed by Lethe",
		"If this plan is applied, Lethe discards what it knows of the following objects, and does not delete them:%s\n\nTo manage them again they have to be imported.%s", list, why))
}
