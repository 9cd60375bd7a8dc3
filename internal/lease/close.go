package lease

import (
	"context"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/walk"
)

// Close closes a lease, if that was not done before, and reports whether it is closed now. It takes no
// context, because nothing but the time limit ends it.
func (l *Ledger) Close(x *Lease) bool {
	if !x.begin() {
		<-x.closed
		reason, _ := x.reason()
		return reason == ""
	}
	defer close(x.closed)
	x.settle()
	l.slots <- struct{}{}
	defer func() { <-l.slots }()
	began := time.Now()
	l.tell(event.Started{Object: x.opened.Object, Op: event.Close, At: l.o.Now()})
	ds := x.callClose()
	ok := x.end(ds)
	x.report(ds)
	if ok {
		l.safely(x.opened.Closed)
	}
	if took := time.Since(began); ok {
		l.tell(event.Done{Object: x.opened.Object, Op: event.Close, Took: took})
	} else {
		l.tell(event.Failed{Object: x.opened.Object, Op: event.Close, Took: took})
	}
	return ok
}

// begin ends the time in which the lease may be used and renewed. Only the first to call it gets
// true, and has to close.
func (x *Lease) begin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun {
		return false
	}
	x.begun, x.why = true, "it is still being closed"
	close(x.closing)
	return true
}

// settle waits for a renewal that is under way, because it may bring new private data, but not
// for ever.
func (x *Lease) settle() {
	x.mu.Lock()
	running, giveUp := x.running, x.giveUp
	x.mu.Unlock()
	if running == nil {
		return
	}
	limit := time.AfterFunc(x.ledger.o.CloseTimeout, giveUp)
	defer limit.Stop()
	<-running
}

// callClose asks the provider, with the private data of the last renewal that succeeded.
func (x *Lease) callClose() provider.Diags {
	x.mu.Lock()
	private := x.private
	x.mu.Unlock()
	if x.ledger.o.Leave.Err() != nil {
		return provider.Diags{diag.Errorf("Ephemeral resource not closed", "There was no time left to close %s.", x.opened.Object)}
	}
	x.ledger.beginCall(x.opened.Provider)
	defer x.ledger.leave(x.ledger.closings, x.opened.Provider)
	asked := time.Now()
	ds, over := within(x.ledger.o.Leave, x.ledger.o.CloseTimeout, func(ctx context.Context) (ds provider.Diags) {
		defer caught(&ds, "closed")
		return x.askClose(ctx, private)
	})
	if ds == nil || over && ds.HasErrors() {
		return provider.Diags{x.silence("closed", time.Since(asked))}
	}
	return *ds
}

// askClose asks the provider, or another process in its place if it has crashed.
func (x *Lease) askClose(ctx context.Context, private []byte) provider.Diags {
	ds := x.opened.Provider.CloseLease(ctx, x.opened.Type, private)
	c, ok := x.opened.Provider.(provider.Crasher)
	if !ok || !c.Lost() || x.ledger.o.Again == nil {
		return ds
	}
	if p := x.ledger.o.Again(ctx, x.opened.Provider); p != nil {
		return p.CloseLease(ctx, x.opened.Type, private)
	}
	return ds
}

// end records the outcome and forgets the private data.
func (x *Lease) end(ds provider.Diags) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.why, x.private, x.until = "", nil, time.Now()
	if ds.HasErrors() {
		x.why = sentence(ds)
	}
	return x.why == ""
}

// reason says why the lease is open, if it is.
func (x *Lease) reason() (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.begun {
		return "it was not closed yet", true
	}
	return x.why, x.why != ""
}

// held is for how long the lease has been open, and whether it is closed by now.
func (x *Lease) held() (time.Duration, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.until.IsZero() {
		return time.Since(x.since), false
	}
	return x.until.Sub(x.since), x.why == ""
}

// over reports that the closing has ended, well or not.
func (x *Lease) over() bool {
	select {
	case <-x.closed:
		return true
	default:
		return false
	}
}

// Open lists the leases that are open at this moment, without waiting for anything: for a process
// that must end at once and names what it leaves behind.
func (l *Ledger) Open() []Left {
	var left []Left
	for _, x := range l.leases() {
		if reason, open := x.reason(); open {
			left = append(left, Left{x.opened.Object, x.opened.Provider.Addr(), reason})
		}
	}
	return left
}

// Left is a lease that could not be closed, or was not yet, and why: a user has to see to it.
type Left struct {
	Object   addr.Object
	Provider addr.Provider
	Reason   string // a sentence without a full stop at its end
}

// Summary counts what happened to the leases so far. The times are those from opening to the end of
// closing, or to now.
func (l *Ledger) Summary() event.Leases {
	list := l.leases()
	l.mu.Lock()
	s := event.Leases{Opened: len(list), Renewed: l.renewed}
	l.mu.Unlock()
	for _, x := range list {
		held, closed := x.held()
		if closed {
			s.Closed++
		} else {
			s.Left++
		}
		s.Longest = max(s.Longest, held)
	}
	return s
}

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
