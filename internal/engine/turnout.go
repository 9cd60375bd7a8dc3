package engine

import (
	"context"
	"iter"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/walk"
)

// A lease of which everybody says which instance he means is closed, while planning, when the last
// who may mean it is over; it does not wait for those who receive others of its block. In the apply
// walk it is a hold of its own.

// turnout says who is still to come for such leases.
type turnout struct {
	mu    sync.Mutex
	of    map[lang.Decl]*expected
	ahead map[[2]lang.Decl][]spot // by receiver and what it receives: instances that are over before all of it is
}

// expected is for the leases of one ephemeral resource.
type expected struct {
	named map[addr.Key]int // by hidden key: receivers that name it
	same  int              // receivers of which each instance means the one with its own key
	ahead map[spot]int     // of the latter: instances that are over before all of them are
}

// spot is an instance, of whatever it is.
type spot struct {
	in  addr.ModuleInstance
	key addr.Key // hidden
}

// expect counts a receiver until the node that ends its work is over.
func (p *planner) expect(d *lang.Declaration, last walk.Node) {
	t, counts := &p.turnout, false
	for e, x := range p.instancesWanted(d) {
		counts = true
		if t.of == nil {
			t.of, t.ahead = map[lang.Decl]*expected{}, map[[2]lang.Decl][]spot{}
		}
		if t.of[e.ID] == nil {
			t.of[e.ID] = &expected{named: map[addr.Key]int{}, ahead: map[spot]int{}}
		}
		t.of[e.ID].add(x, 1)
	}
	if !counts {
		return
	}
	n := p.graph.Add(func() string { return p.label(d) + " (receives no more)" }, walk.Options{Closer: true})
	p.visits = append(p.visits, func(context.Context, *walk.Fan) bool {
		p.over(d)
		return true
	})
	p.graph.Waits(n, last)
}

func (x *expected) add(i receivers.Instance, n int) {
	if i.Same {
		x.same += n
	} else {
		x.named[i.Key.Hide()] += n
	}
}

// instancesWanted are the instances that a receiver means, of ephemeral resources of which everybody
// says which.
func (p *planner) instancesWanted(d *lang.Declaration) iter.Seq2[*lang.Declaration, receivers.Instance] {
	return func(yield func(*lang.Declaration, receivers.Instance) bool) {
		for _, w := range p.receivers.Received(d.ID) {
			if !p.receivers.ByInstance(w.Of) {
				continue
			}
			for _, x := range w.Instances {
				if !yield(p.prog.Decls()[w.Of], x) {
					return
				}
			}
		}
	}
}

// instanceOver says that one instance of a receiver is over, however it ended.
func (p *planner) instanceOver(d *lang.Declaration, in addr.ModuleInstance, key addr.Key) {
	if !p.receivers.Any {
		return
	}
	t, at := &p.turnout, spot{in, key.Hide()}
	for e, x := range p.instancesWanted(d) {
		if !x.Same {
			continue
		}
		t.mu.Lock()
		t.of[e.ID].ahead[at]++
		pair := [2]lang.Decl{d.ID, e.ID}
		t.ahead[pair] = append(t.ahead[pair], at)
		t.mu.Unlock()
		p.closeIfLast(e, at)
	}
}

// over says that all of a receiver is over.
func (p *planner) over(d *lang.Declaration) {
	t := &p.turnout
	for e, x := range p.instancesWanted(d) {
		t.mu.Lock()
		t.of[e.ID].add(x, -1)
		if x.Same {
			for _, at := range t.ahead[[2]lang.Decl{d.ID, e.ID}] {
				t.of[e.ID].ahead[at]--
			}
		}
		t.mu.Unlock()
		for _, at := range p.spotsOf(e, x) {
			p.closeIfLast(e, at)
		}
	}
}

// spotsOf are those leases of an ephemeral resource that a receiver may have meant.
func (p *planner) spotsOf(e *lang.Declaration, x receivers.Instance) []spot {
	var out []spot
	if !x.Same {
		frames, _ := p.frame.Instances(e.Module, lang.After)
		for _, f := range frames {
			out = append(out, spot{f.Addr(), x.Key.Hide()})
		}
		return out
	}
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	for _, k := range p.leased[e.ID] {
		out = append(out, spot{k.instance.Module, k.instance.Key})
	}
	return out
}

// closeIfLast closes a lease if nobody is to come for it.
func (p *planner) closeIfLast(e *lang.Declaration, at spot) {
	t := &p.turnout
	t.mu.Lock()
	x := t.of[e.ID]
	left := x.named[at.key] + x.same - x.ahead[at]
	t.mu.Unlock()
	if left > 0 {
		return
	}
	inst := e.Resource.In(at.in).Instance(at.key)
	p.closeInstance(e, inst, lang.After)
	p.closeInstance(e, inst, lang.Before)
}
