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
	// Again gives another process in the place of one that has crashed (provider.Crasher), configured the same, to close
	// what was opened through that; nil if there can be none. May be nil itself.
	Again func(ctx context.Context, crashed provider.Provider) provider.Provider
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

// Lease is one that was opened and handed over.
type Lease struct {
	opened Opened
	ledger *Ledger
	since  time.Time

	mu      sync.Mutex
	private []byte        // from the opening or the last renewal that succeeded
	renew   time.Time     // when to renew next; zero: never
	last    time.Time     // end of the last renewal
	running chan struct{} // closed at the end of the renewal under way; nil: there is none
	giveUp  func()        // cancels the renewal under way
	expired *Expired      // why it could not be renewed
	said    map[string]bool

	begun   bool
	until   time.Time     // end of closing
	closing chan struct{} // closed at the begin of closing
	closed  chan struct{} // closed at its end; what follows may be read then
	why     string        // why it could not be closed; "" if it was
}

// session is a provider process that CloseAll has to stop.
type session struct {
	provider provider.Provider
	parents  []*Lease
	stop     func()
	once     sync.Once
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

	// Told is closed once all is told of the opening: a renewal that is due at once waits for it. nil: it is.
	Told <-chan struct{}

	// Report takes what the provider says when it renews and closes, as soon as it says it. It is
	// called from other goroutines, not after Close or CloseAll has returned, save by a renewal
	// that had to be given up. May be nil.
	Report func(provider.Diags)

	// Closed is called once the provider has closed it. May be nil.
	Closed func()
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

// Expired says that a lease could not be renewed in time: its value must not be used any more.
type Expired struct{ Reason string }

func (e *Expired) Error() string { return e.Reason }
