package lease

import (
	"context"
	"slices"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Session says that a provider process was configured, with settings made from the parents (none
// perhaps). CloseAll calls stop after the leases that were opened through the process are closed,
// and before the parents are. Where the walk stops the process itself, the function that Session
// gives takes its part: it calls stop unless that was done before.
func (l *Ledger) Session(p provider.Provider, parents []*Lease, stop func()) (end func()) {
	s := &session{provider: p, parents: parents, stop: stop}
	l.mu.Lock()
	l.sessions = append(l.sessions, s)
	l.mu.Unlock()
	return s.end
}

func (s *session) end() { s.once.Do(s.stop) }

// CloseAll closes every lease that is still open and stops every session that still runs, and
// lists the leases that could not be closed, now or before, in the order in which they were
// opened. It is called when the walk is over, however it ended.
func (l *Ledger) CloseAll() []Left {
	for seen := -1; ; {
		l.mu.Lock()
		leases, sessions := slices.Clip(l.list), slices.Clip(l.sessions)
		l.mu.Unlock()
		n := len(leases) + len(sessions)
		if n == seen { // nothing was opened meanwhile
			return l.Open()
		}
		seen = n
		l.end(leases, sessions)
	}
}

// end closes leases and stops sessions, as many at a time as allowed: a lease after those that were
// obtained with it and after the sessions that were configured with it, a session after the leases
// opened through it. What waits for each other in a circle, which time itself forbids, is ended last.
func (l *Ledger) end(leases []*Lease, sessions []*session) {
	var graph walk.Graph
	var work []func()
	add := func(do func()) walk.Node {
		work = append(work, do)
		return graph.Add(walk.Options{})
	}
	of := make(map[*Lease]walk.Node, len(leases))
	for _, x := range leases {
		if !x.over() {
			of[x] = add(func() { l.Close(x) })
		}
	}
	before := func(n walk.Node, parents []*Lease) {
		for _, p := range parents {
			if parent, open := of[p]; open {
				graph.Waits(parent, n)
			}
		}
	}
	through := make(map[provider.Provider]walk.Node, len(sessions))
	for _, s := range sessions {
		n := add(s.end)
		through[s.provider] = n
		before(n, s.parents)
	}
	for x, n := range of {
		if s, ok := through[x.opened.Provider]; ok {
			graph.Waits(s, n)
		}
		before(n, x.opened.Parents)
	}
	result := graph.Run(context.Background(), walk.RunOptions{
		Workers: l.o.Parallelism,
		Visit: func(_ context.Context, n walk.Node, _ *walk.Fan) bool {
			l.safely(work[n])
			return true
		},
	})
	for _, n := range result.Stuck {
		l.safely(work[n])
	}
}
