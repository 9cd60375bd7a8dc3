// Package lease knows what is open now: the ephemeral resources of one walk, from the moment a
// provider opened them until they are closed.
//
// A Ledger is a walk's list of leases. Opening is not done here, because it is evaluated, checked
// and reported like everything else that goes up; what was opened is handed over with Opened, and
// from then on this package renews it while it is held (in the background, and before each use,
// see Fresh), and closes it. Closing and renewing run under contexts of their own, with a time
// limit: an interrupt that stops everything else stops neither of them. Only a process that has to end in
// seconds gives them up (Options.Abandon, Options.Leave).
//
// There is one way to close and two callers of it. Close is for the step that follows the last
// user; CloseAll is the net below all of them, for walks that ended early: it closes what is still
// open, those first that were obtained with others, and lists what could not be closed. Every
// lease that was handed over is closed once, by the first caller, or listed (invariants I7,
// I8).
//
// Results of leases are not here: a Ledger holds the provider's private data and nothing that a
// configuration could refer to. Diagnostics of providers go to the Report of their lease as soon
// as they are known, progress goes to the Sink.
package lease

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/provider"
)

// Options are what a ledger works with.
type Options struct {
	// Now is the wall clock, which renewal times are held against; nil: time.Now.
	Now func() time.Time
	// Sink takes the events; nil: they are dropped.
	Sink event.Sink
	// CloseTimeout is how long one closing may take, and how long it waits for a renewal that is
	// under way before that; 0: a minute.
	CloseTimeout time.Duration
	// RenewTimeout is how long a provider may take to answer one call to renew; 0: a minute.
	RenewTimeout time.Duration
	// Panicked takes a panic of what was handed to the ledger, with its stack: leases are closed in
	// spite of it. nil: it is let go on.
	Panicked func(value any, stack []byte)
	// Parallelism is how many leases are closed at a time; 0: 10.
	Parallelism int
	// Abandon gives up, when it ends, the renewals that are under way; nil: it never does.
	Abandon context.Context
	// Leave gives up, when it ends, the closings that are under way; nil: it never does.
	Leave context.Context
}

// Ledger is the list of the leases of one walk. It may be used from many goroutines.
type Ledger struct {
	o     Options
	slots chan struct{} // one for each closing that may go on at a time

	mu       sync.Mutex
	list     []*Lease // in the order in which they were opened
	sessions []*session
	renewed  int

	turn     sync.Cond                 // one of the next two has changed
	closings map[provider.Provider]int // that are under way
	held     map[provider.Provider]int // whose closings wait (Between)
}

// NewLedger makes an empty ledger.
func NewLedger(o Options) *Ledger {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sink == nil {
		o.Sink = event.Discard
	}
	o.CloseTimeout = cmp.Or(o.CloseTimeout, time.Minute)
	o.RenewTimeout = cmp.Or(o.RenewTimeout, time.Minute)
	if o.Abandon == nil {
		o.Abandon = context.Background()
	}
	if o.Leave == nil {
		o.Leave = context.Background()
	}
	o.Parallelism = max(o.Parallelism, 0)
	o.Parallelism = cmp.Or(o.Parallelism, 10)
	l := &Ledger{o: o, slots: make(chan struct{}, o.Parallelism), closings: map[provider.Provider]int{}, held: map[provider.Provider]int{}}
	l.turn.L = &l.mu
	return l
}

// Opened is what a provider opened.
type Opened struct {
	Object   addr.Object
	Provider provider.Provider // a configured process, which must outlive the lease
	Type     string
	Private  []byte    // handed back to the provider at each renewal and at the end
	RenewAt  time.Time // zero: there is nothing to renew

	// Parents are the leases that it was obtained with: those that its configuration and the
	// settings of its provider were made from. They are closed after it.
	Parents []*Lease

	// Report takes what the provider says when it renews and closes, as soon as it says it. It is
	// called from other goroutines, not after Close or CloseAll has returned, save by a renewal
	// that had to be given up. May be nil.
	Report func(provider.Diags)

	// Closed is called once the provider has closed it. May be nil.
	Closed func()
}

// Opened takes a lease into the ledger and begins to renew it. It is called also for a lease whose
// opening was refused afterwards: what was opened must be closed.
func (l *Ledger) Opened(o Opened) *Lease {
	if o.Report == nil {
		o.Report = func(provider.Diags) {}
	}
	if o.Closed == nil {
		o.Closed = func() {}
	}
	x := &Lease{
		opened:  o,
		ledger:  l,
		since:   time.Now(),
		private: o.Private,
		renew:   o.RenewAt.Round(0), // by the wall clock alone: renewal times are points of calendar time
		// The first renewal needs no distance from the opening.
		last:    time.Now().Add(-spacing),
		closing: make(chan struct{}),
		closed:  make(chan struct{}),
	}
	l.mu.Lock()
	l.list = append(l.list, x)
	l.mu.Unlock()
	if !x.renew.IsZero() {
		go x.keep()
	}
	return x
}

// Left is a lease that is still open, and why.
type Left struct {
	Object   addr.Object
	Provider addr.Provider
	Reason   string // a sentence without a full stop at its end
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

// Between calls f while no lease is being closed through a process: it waits for the closings that are under
// way, and those that come next wait for f.
func (l *Ledger) Between(p provider.Provider, f func()) {
	l.mu.Lock()
	for l.closings[p] > 0 {
		l.turn.Wait()
	}
	l.held[p]++
	l.mu.Unlock()
	f()
	l.leave(l.held, p)
}

// beginCall waits until no request to stop is on its way to a process through which a lease is to be closed.
func (l *Ledger) beginCall(p provider.Provider) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held[p] > 0 {
		l.turn.Wait()
	}
	l.closings[p]++
}

func (l *Ledger) leave(of map[provider.Provider]int, p provider.Provider) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of[p]--
	l.turn.Broadcast()
}

// leases are those handed over so far.
func (l *Ledger) leases() []*Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(l.list)
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

// tell tells the Sink.
func (l *Ledger) tell(e event.Event) { l.safely(func() { l.o.Sink.Tell(e) }) }

// safely does something that belongs to others. A panic in it must not keep a lease open, nor end
// the process from a goroutine of ours.
func (l *Ledger) safely(f func()) {
	defer func() {
		if l.o.Panicked != nil {
			if v := recover(); v != nil {
				l.o.Panicked(v, debug.Stack())
			}
		}
	}()
	f()
}

func (l *Ledger) countRenewal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed++
}
