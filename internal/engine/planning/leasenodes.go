package planning

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// addLeaseNodes adds the nodes that close leases in the plan walk. A lease is closed when all that
// receive its value are over, however they ended; a provider that was configured with it is
// stopped first, and so is a lease that was obtained with it. A lease that opens itself and
// that no other receiver wanted is opened after them all.
func (p *planner) addLeaseNodes() {
	if p.run.Receivers.Any {
		n := leaseNodes{p: p, closers: map[program.Decl]walk.Node{}, own: map[program.Decl]walk.Node{}, stops: map[program.Decl]walk.Node{}}
		n.add()
	}
}

// leaseNodes are the nodes that end what is held in the plan walk, by declaration.
type leaseNodes struct {
	p       *planner
	closers map[program.Decl]walk.Node // of ephemeral resources
	own     map[program.Decl]walk.Node // of those that open themselves: what opens them
	stops   map[program.Decl]walk.Node // of provider configurations
}

func (l *leaseNodes) add() {
	p := l.p
	for _, e := range p.run.Program.Decls() {
		if e.Kind != program.Resource || e.Resource.Mode != addr.Ephemeral {
			continue
		}
		l.closers[e.ID] = l.closer(e)
		if p.opensItself(e) {
			l.own[e.ID] = l.opens(e)
			p.graph.Waits(l.closers[e.ID], l.own[e.ID])
		}
	}
	for _, d := range p.run.Program.Decls() {
		held := p.run.Receivers.Ephemerals(d.ID)
		if len(held) == 0 || !receivers.Receives(d) {
			continue
		}
		last := p.decide[d.ID]
		switch {
		case d.Kind == program.Provider:
			last = l.stop(d)
			l.stops[d.ID] = last
		case d.Resource.Mode == addr.Ephemeral:
			last = l.closers[d.ID]
		}
		for _, e := range held {
			p.graph.Waits(l.closers[e], last)
			if n, ok := l.own[e]; ok {
				p.graph.Waits(n, last)
			}
		}
		l.countUser(d, last)
	}
	l.keepProviders()
}

// opensItself reports whether this walk opens an ephemeral resource that nothing acts on.
func (p *planner) opensItself(e *program.Declaration) bool {
	return p.req.Mode == plan.Normal && !p.sel.Skips(e.ID) && p.run.Receivers.OpensItself(e, !p.sel.Active)
}

// opens is the node that opens leases that open themselves, if no receiver has.
func (l *leaseNodes) opens(e *program.Declaration) walk.Node {
	n := l.p.node(e.String(), func(ctx context.Context, _ *walk.Fan) bool {
		return l.p.testAll(ctx, e)
	})
	l.p.graph.Waits(n, l.p.decide[e.ID])
	return n
}

// node adds a node that ends something, however what it comes after has ended.
func (l *leaseNodes) node(end func()) walk.Node {
	l.p.visits, l.p.names = append(l.p.visits, func(context.Context, *walk.Fan) bool {
		end()
		return true
	}), append(l.p.names, "")
	return l.p.graph.Add(walk.Options{Closer: true})
}

func (l *leaseNodes) closer(e *program.Declaration) walk.Node {
	n := l.node(func() {
		l.p.run.Leases.Close(e, nil, frame.After)
		l.p.run.Leases.Close(e, nil, frame.Before)
	})
	l.p.graph.Waits(n, l.p.decide[e.ID])
	return n
}

// stop makes the node that ends a provider's sessions, after all that work through it.
func (l *leaseNodes) stop(d *program.Declaration) walk.Node {
	n := l.node(func() { l.p.run.Sessions.ReleaseAll(d.Provider) })
	l.p.graph.Waits(n, l.p.decide[d.ID])
	for _, user := range l.p.users[d.ID] {
		l.p.graph.Waits(n, user)
	}
	for _, x := range l.p.run.Program.Decls() {
		if x.Kind == program.Resource && l.p.run.Program.ProviderOf(x.ID) == d.ID {
			l.p.graph.Waits(n, l.p.decide[x.ID])
		}
	}
	return n
}

// keepProviders makes providers that are stopped in the walk outlive the leases that they opened.
func (l *leaseNodes) keepProviders() {
	for e, closer := range l.closers {
		if stop, ok := l.stops[l.p.run.Program.ProviderOf(e)]; ok {
			l.p.graph.Waits(stop, closer)
		}
	}
}

// countUser counts a receiver as a user of the leases of which it names instances, until the node that ends its
// work is over.
func (l *leaseNodes) countUser(d *program.Declaration, last walk.Node) {
	if !l.p.leaseUsers.Add(d.ID) {
		return
	}
	l.p.graph.Waits(l.node(func() { l.p.leaseUsers.Over(d.ID) }), last)
}
