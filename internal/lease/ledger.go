// Package lease renews and closes the leases of a walk. A lease is an ephemeral resource that a provider has opened,
// until it is closed.
//
// A Ledger is the list of the leases of a walk. The walk opens a lease and passes it to Opened. From then on, this
// package renews the lease, in the background and before each use (see Fresh), and closes it. Renewals and closings
// have separate contexts with a time limit, so an interrupt of the walk does not stop them. Only a process that must
// end in seconds cancels them (Options.Abandon, Options.Leave).
//
// Two methods close leases. The step after the last user of a lease calls Close. CloseAll is called at the end of a
// walk, also if the walk ends early: it closes all leases that are still open, each before its parents, and returns the
// leases that could not be closed. Every lease is closed once, by the first caller, or returned as open (invariants I7,
// I8).
//
// A Ledger does not have the values of leases. It has the private data of the provider, to which a configuration cannot
// refer. Diagnostics of providers go to the Report of their lease at once, and progress goes to the Sink.
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

// Options are the options of a ledger.
type Options struct {
	// Now returns the wall clock time, which is compared with renewal times. nil means time.Now.
	Now func() time.Time
	// Sink receives the events; nil: they are dropped.
	Sink event.Sink
	// CloseTimeout is the time limit of one closing, and also of the wait for a running renewal before it; 0: a minute.
	CloseTimeout time.Duration
	// RenewTimeout is the time limit of one call to renew; 0: a minute.
	RenewTimeout time.Duration
	// Panicked receives the panics of functions that the caller passed to the ledger, with their stacks. The ledger
	// then continues to close leases. If Panicked is nil, a panic is not recovered.
	Panicked func(value any, stack []byte)
	// Parallelism is the maximum number of concurrent closings; 0: 10.
	Parallelism int
	// Abandon cancels running renewals when it ends; nil: never.
	Abandon context.Context
	// Leave cancels running closings when it ends, and later closings fail without a call to the provider; nil: never.
	Leave context.Context
	// Again returns a new process with the same configuration as a process that has crashed (provider.Crasher), to
	// close the leases that the crashed process opened. It returns nil if that is impossible. Again may be nil.
	Again func(ctx context.Context, crashed provider.Provider) provider.Provider
	// Kept reports whether a lease stays open for the next round of the command: a further plan and apply (ADR 52). nil
	// means that no lease does.
	Kept func(*Lease) bool
}

// Ledger is the list of the leases of one walk. Its methods may be called concurrently.
type Ledger struct {
	o     Options
	slots chan struct{} // one slot for each concurrent closing

	mu       sync.Mutex
	list     []*Lease // in the order of their opening
	carried  int      // number of leases in list that earlier walks have opened
	sessions []*session
	renewed  int

	turn     sync.Cond                 // signals a change of closings or held
	closings map[provider.Provider]int // number of running closings
	held     map[provider.Provider]int // number of calls of Between that block closings
}

// Lease is an open lease in a ledger.
type Lease struct {
	opened Opened
	ledger *Ledger
	since  time.Time

	mu       sync.Mutex
	private  []byte          // private data of the opening or of the last successful renewal
	renew    time.Time       // time of the next renewal; zero: never
	last     time.Time       // end of the last renewal
	running  chan struct{}   // closed at the end of the running renewal; nil if no renewal runs
	giveUp   func()          // cancels the running renewal
	expired  *Expired        // error of the last renewal; nil if it succeeded
	reported map[string]bool // texts of the warnings that were reported

	started bool          // the closing has begun
	until   time.Time     // end of the closing
	closing chan struct{} // closed at the begin of the closing
	closed  chan struct{} // closed at the end of the closing; then why may be read
	why     string        // why the lease is not closed; empty before the closing begins, and if it was closed
}

// session is a provider process that CloseAll has to stop.
type session struct {
	provider provider.Provider
	parents  []*Lease
	stop     func()
	once     sync.Once
}

// NewLedger returns an empty ledger.
func NewLedger(o Options) *Ledger {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Kept == nil {
		o.Kept = func(*Lease) bool { return false }
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

// Opened describes a lease that a provider opened.
type Opened struct {
	Object   addr.Object
	Provider provider.Provider // a configured process, which must outlive the lease
	Type     string
	Private  []byte    // for renewals and the closing, until a renewal returns other private data
	RenewAt  time.Time // zero: the lease needs no renewal

	// Parents are the leases whose values the configuration of the lease or the settings of its provider use. They are
	// closed after the lease.
	Parents []*Lease

	// Delivered is closed after the opening has been reported. A renewal that is due at once waits until then. nil
	// means that it does not wait.
	Delivered <-chan struct{}

	// Report receives the provider's diagnostics of renewals and closings at once. It is called from other goroutines.
	// It is not called after Close or CloseAll has returned, except by a renewal that was given up. May be nil.
	Report func(provider.Diags)

	// Closed is called after the provider has closed the lease. May be nil.
	Closed func()
}

// Provider returns the process that opened the lease.
func (x *Lease) Provider() provider.Provider { return x.opened.Provider }

// finished reports whether the closing has ended, with or without success.
func (x *Lease) finished() bool {
	select {
	case <-x.closed:
		return true
	default:
		return false
	}
}

// Continue prepares the ledger for the next walk. The leases whose closing has not ended stay in the ledger. A lease
// that could not be closed is removed. The summary then counts only the events of that walk.
func (l *Ledger) Continue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(slices.Clone(l.list), (*Lease).finished)
	l.carried, l.renewed = len(l.list), 0
}

// Between calls f while no lease of the process p is being closed. It waits for running closings. Closings that begin
// later wait for the end of f.
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

// beginCall waits until no call of Between runs for the process p, and then counts a closing for p.
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

// leases returns the leases so far.
func (l *Ledger) leases() []*Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(l.list)
}

// send sends an event to the Sink.
func (l *Ledger) send(e event.Event) { l.safely(func() { l.o.Sink.Send(e) }) }

// safely calls a function of the owner. If Options.Panicked is set, a panic of the function is passed on to it: a panic
// must neither keep a lease open nor end the process.
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

// Expired is the error for a lease that could not be renewed, or that is being closed. The value of the lease must not
// be used any more.
type Expired struct{ Reason string }

func (e *Expired) Error() string { return e.Reason }
