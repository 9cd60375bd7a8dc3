package planning

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/engine/receivers"
	"github.com/lethe-iac/lethe/internal/engine/targeting"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/walk"
)

// addLeaseNodes adds the nodes that close leases in the plan walk. A lease is closed when all receivers of its value
// have ended, with or without success. Providers that were configured with the lease, and leases whose configuration
// uses it, end first. An ephemeral resource that is opened for its own conditions or exports, and that no receiver has
// opened, is opened after all receivers.
func (p *planner) addLeaseNodes() {
	if p.run.Receivers.Any {
		n := leaseNodes{p: p, closers: map[program.Decl]walk.Node{}, own: map[program.Decl]walk.Node{}, stops: map[program.Decl]walk.Node{}}
		n.add()
	}
}

// leaseNodes are the nodes that end leases and provider sessions in the plan walk. The keys are ephemeral resources or
// provider configurations.
type leaseNodes struct {
	p       *planner
	closers map[program.Decl]walk.Node // the nodes that close ephemeral resources
	own     map[program.Decl]walk.Node // the nodes that open ephemeral resources without a receiver
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
			p.nodes.graph.Waits(l.closers[e.ID], l.own[e.ID])
		}
	}
	for _, d := range p.run.Program.Decls() {
		held := receivedBy(p, d)
		invoked := d.Kind == program.Action && p.req.Origin == targeting.Action
		if len(held) == 0 || !receivers.Receives(d) && !invoked {
			continue
		}
		last := p.nodes.decide[d.ID]
		switch {
		case d.Kind == program.Provider:
			last = l.stop(d)
			l.stops[d.ID] = last
		case d.Resource.Mode == addr.Ephemeral:
			last = l.closers[d.ID]
		}
		for _, e := range held {
			p.nodes.graph.Waits(l.closers[e], last)
			if n, ok := l.own[e]; ok {
				p.nodes.graph.Waits(n, last)
			}
		}
		l.countUser(d, last)
	}
	l.keepProviders()
}

// receivedBy returns the ephemeral resources that a declaration receives in the plan walk. These include the ephemeral
// resources that its actions use, because the walk plans actions, but not those of its provisioners.
func receivedBy(p *planner, d *program.Declaration) []program.Decl {
	held := p.run.Receivers.Ephemerals(d.ID)
	for _, a := range p.run.Program.Triggered(d.ID) {
		for _, w := range p.run.Receivers.ReceivedByParts(d.ID, []any{p.run.Program.Decls()[a].Res}) {
			if !slices.Contains(held, w.Of) {
				held = append(held, w.Of)
			}
		}
	}
	return held
}

// opensItself reports whether the walk opens an ephemeral resource although no receiver uses its value, for example for
// its conditions.
func (p *planner) opensItself(e *program.Declaration) bool {
	return p.req.Mode == plan.Normal && !p.sel.Skips(e.ID) && p.run.Receivers.OpensItself(e, !p.sel.Active)
}

// opens adds the node that opens an ephemeral resource without a receiver. If a receiver has opened it, the node only
// tests its conditions.
func (l *leaseNodes) opens(e *program.Declaration) walk.Node {
	n := l.p.nodes.add(e.String(), func(ctx context.Context, _ *walk.Fan) bool {
		return l.p.testAll(ctx, e)
	})
	l.p.nodes.graph.Waits(n, l.p.nodes.decide[e.ID])
	return n
}

func (l *leaseNodes) closer(e *program.Declaration) walk.Node {
	n := l.p.nodes.closer(func() {
		l.p.run.Leases.Close(e, nil, frame.After)
		l.p.run.Leases.Close(e, nil, frame.Before)
	})
	l.p.nodes.graph.Waits(n, l.p.nodes.decide[e.ID])
	return n
}

// stop adds the node that ends the sessions of a provider, after all their users.
func (l *leaseNodes) stop(d *program.Declaration) walk.Node {
	n := l.p.nodes.closer(func() { l.p.run.Sessions.ReleaseAll(d.Provider) })
	l.p.nodes.graph.Waits(n, l.p.nodes.decide[d.ID])
	for _, user := range l.p.nodes.users[d.ID] {
		l.p.nodes.graph.Waits(n, user)
	}
	for _, x := range l.p.run.Program.Decls() {
		if x.Kind == program.Resource && l.p.run.Program.ProviderOf(x.ID) == d.ID {
			l.p.nodes.graph.Waits(n, l.p.nodes.decide[x.ID])
		}
	}
	return n
}

// keepProviders makes each provider that the walk stops run until the leases that it opened are closed.
func (l *leaseNodes) keepProviders() {
	for e, closer := range l.closers {
		if stop, ok := l.stops[l.p.run.Program.ProviderOf(e)]; ok {
			l.p.nodes.graph.Waits(stop, closer)
		}
	}
}

// countUser counts a declaration as a user of the leases whose instances it names, until the node last has run.
func (l *leaseNodes) countUser(d *program.Declaration, last walk.Node) {
	if !l.p.leaseUsers.Add(d.ID) {
		return
	}
	l.p.nodes.graph.Waits(l.p.nodes.closer(func() { l.p.leaseUsers.Done(d.ID) }), last)
}
