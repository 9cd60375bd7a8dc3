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

// addLeaseNodes adds the nodes that close leases (open ephemeral resources) in the graph of a plan. A lease is closed
// when all receivers of its value (the declarations that use it) have ended, with or without success. Providers whose
// settings use the lease, and leases whose configuration uses it, end first. If an ephemeral resource has conditions,
// or a module output returns its value, and no receiver has opened it, it is opened after all receivers.
func (p *planner) addLeaseNodes() {
	if p.run.Receivers.Any {
		n := leaseNodes{p: p, closers: map[program.Decl]walk.Node{}, own: map[program.Decl]walk.Node{}, stops: map[program.Decl]walk.Node{}}
		n.add()
	}
}

// leaseNodes are the nodes that end leases and provider sessions (configured processes) in the graph of a plan. The
// keys are ephemeral resources or provider configurations.
type leaseNodes struct {
	p       *planner
	closers map[program.Decl]walk.Node // the nodes that close ephemeral resources
	own     map[program.Decl]walk.Node // the nodes that open ephemeral resources without a receiver
	stops   map[program.Decl]walk.Node // the nodes that end the processes of provider configurations
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

// receivedBy returns the ephemeral resources whose values a declaration uses during plan. These include the ephemeral
// resources that its actions use, because the walk plans actions. They do not include ephemeral resources that only its
// provisioners use.
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

// opens adds the node that opens an ephemeral resource that no receiver has opened, and tests its conditions.
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

// stop adds the node that ends the processes of the provider configuration d, after all nodes that use them.
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

// countUser registers the declaration d as a user of the leases whose instances it names. The declaration uses them
// until its last node has ended. Such a lease is closed after its last user.
func (l *leaseNodes) countUser(d *program.Declaration, last walk.Node) {
	if !l.p.leaseUsers.Add(d.ID) {
		return
	}
	l.p.nodes.graph.Waits(l.p.nodes.closer(func() { l.p.leaseUsers.Done(d.ID) }), last)
}
