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

// Close asks the provider to close a lease, and reports whether the lease is closed. It makes one attempt: if another
// call of Close has begun for the lease, now or before, Close waits for the end of that call and returns its result.
// Close takes no context. It fails if the provider does not answer within Options.CloseTimeout, or if Options.Leave
// ends.
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
	l.send(event.Started{Object: x.opened.Object, Op: event.Close, At: l.o.Now()})
	ds := x.callClose()
	ok := x.end(ds)
	x.report(ds)
	if ok {
		l.safely(x.opened.Closed)
	}
	if took := time.Since(began); ok {
		l.send(event.Done{Object: x.opened.Object, Op: event.Close, Took: took})
	} else {
		l.send(event.Failed{Object: x.opened.Object, Op: event.Close, Took: took})
	}
	return ok
}

// begin ends the use and the renewal of the lease. It returns true for the first caller, which must close the lease.
func (x *Lease) begin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.started {
		return false
	}
	x.started, x.why = true, "it is still being closed"
	close(x.closing)
	return true
}

// settle waits for a running renewal, because the renewal may return new private data. It cancels the renewal after
// Options.CloseTimeout.
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

// callClose calls the provider with the private data of the last successful renewal, or of the opening if there was
// none. It returns an error without a call if Options.Leave has ended, and an error if the provider does not answer in
// time.
func (x *Lease) callClose() provider.Diags {
	x.mu.Lock()
	private := x.private
	x.mu.Unlock()
	if x.ledger.o.Leave.Err() != nil {
		return provider.Diags{diag.Errorf("Ephemeral resource not closed", "There was no time to close %s. It may still be open.", x.opened.Object)}
	}
	x.ledger.beginCall(x.opened.Provider)
	defer x.ledger.leave(x.ledger.closings, x.opened.Provider)
	asked := time.Now()
	ds, expired := within(x.ledger.o.Leave, x.ledger.o.CloseTimeout, func(ctx context.Context) (ds provider.Diags) {
		defer caught(&ds, "closed")
		return x.askClose(ctx, private)
	})
	if ds == nil || expired && ds.HasErrors() {
		return provider.Diags{x.silence("closed", time.Since(asked))}
	}
	return *ds
}

// askClose calls CloseLease of the provider process that opened the lease. If this process has crashed, askClose calls
// the new process that Options.Again returns. If Again returns no process, askClose returns the errors of the first
// call.
func (x *Lease) askClose(ctx context.Context, private []byte) provider.Diags {
	ds := x.opened.Provider.CloseLease(ctx, x.opened.Type, private)
	c, ok := x.opened.Provider.(provider.Crasher)
	if !ok || !c.Crashed() || x.ledger.o.Again == nil {
		return ds
	}
	if p := x.ledger.o.Again(ctx, x.opened.Provider); p != nil {
		return p.CloseLease(ctx, x.opened.Type, private)
	}
	return ds
}

// end records the result ds of the provider's call, and deletes the private data of the lease. It reports whether the
// lease is closed: ds has no error.
func (x *Lease) end(ds provider.Diags) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.why, x.private, x.until = "", nil, time.Now()
	if ds.HasErrors() {
		x.why = sentence(ds)
	}
	return x.why == ""
}

// reason reports whether the lease is open. The text is the reason: the lease was not closed yet, is being closed, or
// could not be closed. The text is empty for a closed lease.
func (x *Lease) reason() (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.started {
		return "it was not closed yet", true
	}
	return x.why, x.why != ""
}

// held returns for how long the lease was open, until now or the end of its closing, and whether it was closed without
// an error.
func (x *Lease) held() (time.Duration, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.until.IsZero() {
		return time.Since(x.since), false
	}
	return x.until.Sub(x.since), x.why == ""
}

// Open returns the leases that are open now, including leases whose closing is in progress or has failed. It does not
// wait, so a process that must end at once can report these leases.
func (l *Ledger) Open() []Left {
	var left []Left
	for _, x := range l.leases() {
		if reason, open := x.reason(); open {
			left = append(left, Left{x.opened.Object, x.opened.Provider.Addr(), reason, l.o.Kept(x)})
		}
	}
	return left
}

// Left is a lease that is still open, with the reason. Unless it is kept for the next plan of the command, the user has
// to close it by other means.
type Left struct {
	Object   addr.Object
	Provider addr.Provider
	Reason   string // a sentence without a full stop

	kept bool
}

// Summary returns the counts of the leases so far, and the longest time for which a lease was open: from the opening to
// the end of the closing, or to now.
func (l *Ledger) Summary() event.Leases {
	list := l.leases()
	l.mu.Lock()
	s := event.Leases{Opened: len(list) - l.carried, Renewed: l.renewed}
	l.mu.Unlock()
	for _, x := range list {
		held, closed := x.held()
		switch {
		case closed:
			s.Closed++
		case l.o.Kept(x):
			s.Kept++
		default:
			s.Left++
		}
		s.Longest = max(s.Longest, held)
	}
	return s
}

// Session adds the configured provider process p to the ledger. parents are the leases that its settings use, and stop
// ends the process. CloseAll calls stop after it has closed the leases that the process opened, and before it closes
// the parents. If the walk itself ends the process, the walk calls the result end. stop is called only once.
func (l *Ledger) Session(p provider.Provider, parents []*Lease, stop func()) (end func()) {
	s := &session{provider: p, parents: parents, stop: stop}
	l.mu.Lock()
	l.sessions = append(l.sessions, s)
	l.mu.Unlock()
	return s.end
}

func (s *session) end() { s.once.Do(s.stop) }

// CloseAll closes all open leases and stops all sessions (configured provider processes). Kept leases (Options.Kept)
// stay open for the next plan of the command, and the processes that opened them are not stopped. It returns the leases
// that could not be closed, now or before, in the order of their opening. The owner of the ledger calls CloseAll after
// the walk, even if the walk failed.
func (l *Ledger) CloseAll() []Left {
	for seen := -1; ; {
		l.mu.Lock()
		leases, sessions := slices.Clip(l.list), slices.Clip(l.sessions)
		l.mu.Unlock()
		n := len(leases) + len(sessions)
		if n == seen { // no lease was opened since the last pass
			return slices.DeleteFunc(l.Open(), func(x Left) bool { return x.kept })
		}
		seen = n
		through := map[provider.Provider]bool{}
		leases = slices.DeleteFunc(slices.Clone(leases), func(x *Lease) bool {
			stays := l.o.Kept(x)
			through[x.opened.Provider] = through[x.opened.Provider] || stays
			return stays
		})
		sessions = slices.DeleteFunc(slices.Clone(sessions), func(s *session) bool { return through[s.provider] })
		l.end(leases, sessions)
	}
}

// end closes leases and stops sessions, at most Parallelism at a time. A lease is closed after the leases and sessions
// that use it (their Parents). A session is stopped after the leases that its process opened. Leases and sessions in a
// cycle, which should not occur, end last.
func (l *Ledger) end(leases []*Lease, sessions []*session) {
	var graph walk.Graph
	var work []func()
	add := func(do func()) walk.Node {
		work = append(work, do)
		return graph.Add(walk.Options{})
	}
	of := make(map[*Lease]walk.Node, len(leases))
	for _, x := range leases {
		if !x.finished() {
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
		Run: func(_ context.Context, n walk.Node, _ *walk.Fan) bool {
			l.safely(work[n])
			return true
		},
	})
	for _, n := range result.Stuck {
		l.safely(work[n])
	}
}
