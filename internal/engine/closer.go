package engine

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// addClosers adds the nodes that close leases in the plan walk. A lease is closed when all that
// receive its value are over, however they ended; a provider that was configured with it is
// stopped first, and so is a lease that was obtained with it. A lease that opens itself and
// that no other receiver wanted is opened after them all.
func (p *planner) addClosers() {
	if !p.run.receivers.Any {
		return
	}
	closers, own := map[lang.Decl]walk.Node{}, map[lang.Decl]walk.Node{}
	for _, e := range p.run.prog.Decls() {
		if e.Kind != lang.Resource || e.Resource.Mode != addr.Ephemeral {
			continue
		}
		closers[e.ID] = p.closer(e)
		if p.opensItself(e) {
			own[e.ID] = p.own(e)
			p.graph.Waits(closers[e.ID], own[e.ID])
		}
	}
	stops := map[lang.Decl]walk.Node{}
	for _, d := range p.run.prog.Decls() {
		held := p.run.receivers.Ephemerals(d.ID)
		if len(held) == 0 || !receivers.Receives(d) {
			continue
		}
		last := p.decide[d.ID]
		switch {
		case d.Kind == lang.Provider:
			last = p.stop(d)
			stops[d.ID] = last
		case d.Resource.Mode == addr.Ephemeral:
			last = closers[d.ID]
		}
		for _, e := range held {
			p.graph.Waits(closers[e], last)
			if n, ok := own[e]; ok {
				p.graph.Waits(n, last)
			}
		}
		p.countUser(d, last)
	}
	p.keepProviders(closers, stops)
}

// opensItself reports whether this walk opens an ephemeral resource that nothing acts on.
func (p *planner) opensItself(e *lang.Declaration) bool {
	return p.req.Mode == plan.Normal && !p.sel.Skips(e.ID) && p.run.receivers.OpensItself(e, !p.sel.Active)
}

// own is the node that opens leases that open themselves, if no receiver has.
func (p *planner) own(e *lang.Declaration) walk.Node {
	n := p.node(func() string { return e.Resource.String() + " (opens itself)" }, func(ctx context.Context, _ *walk.Fan) bool {
		return p.testAll(ctx, e)
	})
	p.graph.Waits(n, p.decide[e.ID])
	return n
}

func (p *planner) closer(e *lang.Declaration) walk.Node {
	n := p.graph.Add(func() string { return e.Resource.String() + " (close)" }, walk.Options{Closer: true})
	p.visits = append(p.visits, func(context.Context, *walk.Fan) bool {
		p.run.leases.Close(e, nil, lang.After)
		p.run.leases.Close(e, nil, lang.Before)
		return true
	})
	p.graph.Waits(n, p.decide[e.ID])
	return n
}

// stop makes the node that ends a provider's sessions, after all that work through it.
func (p *planner) stop(d *lang.Declaration) walk.Node {
	n := p.graph.Add(func() string { return d.Provider.String() + " (stop)" }, walk.Options{Closer: true})
	p.visits = append(p.visits, func(context.Context, *walk.Fan) bool {
		p.run.sessions.releaseAll(d.Provider)
		return true
	})
	p.graph.Waits(n, p.decide[d.ID])
	for _, user := range p.users[d.ID] {
		p.graph.Waits(n, user)
	}
	for _, x := range p.run.prog.Decls() {
		if x.Kind == lang.Resource && p.run.prog.ProviderOf(x.ID) == d.ID {
			p.graph.Waits(n, p.decide[x.ID])
		}
	}
	return n
}

// keepProviders makes providers that are stopped in the walk outlive the leases that they opened.
func (p *planner) keepProviders(closers, stops map[lang.Decl]walk.Node) {
	for e, closer := range closers {
		if stop, ok := stops[p.run.prog.ProviderOf(e)]; ok {
			p.graph.Waits(stop, closer)
		}
	}
}

// countUser counts a receiver as a user of the leases of which it names instances, until the node that ends its
// work is over.
func (p *planner) countUser(d *lang.Declaration, last walk.Node) {
	if !p.leaseUsers.Add(d.ID) {
		return
	}
	n := p.graph.Add(func() string { return p.label(d) + " (receives no more)" }, walk.Options{Closer: true})
	p.visits = append(p.visits, func(context.Context, *walk.Fan) bool {
		p.leaseUsers.Over(d.ID)
		return true
	})
	p.graph.Waits(n, last)
}
