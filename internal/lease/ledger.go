// Package lease renews and closes the leases of a walk. A walk is the execution of the graph of a plan or an apply. A
// lease is the session of an ephemeral resource, from the time when the provider has opened the resource until the time
// when it is closed.
//
// A Ledger is the list of the leases of a walk. The walk opens a lease and passes it to Opened. From then on, this
// package renews the lease: in the background, and in Lease.Fresh, which a user of the lease calls before each use.
// This package also closes the lease. Renewals and closings have separate contexts with a time limit, so an interrupt
// of the walk does not stop them. The contexts Options.Abandon and Options.Leave cancel them, for a process that must
// end in seconds.
//
// Two methods close leases. After the last user of a lease has ended, the walk calls Close. At the end of the walk,
// also after a failure, its owner calls CloseAll. CloseAll closes all leases that are still open, each before the
// leases that it uses (its parents), and returns the leases that could not be closed. Kept leases (Options.Kept) stay
// open. The provider is asked once to close a lease, by the first caller (invariants I7, I8).
//
// A Ledger does not have the values of leases. It has the private data that the provider returned with a lease. A
// configuration cannot refer to this data. The ledger passes diagnostics of providers to Opened.Report at once, and
// events about progress to Options.Sink.
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

// Options has the time limits of a ledger, the receivers of its reports, and the contexts that cancel its calls.
type Options struct {
	// Now returns the wall clock time, which is compared with renewal times. nil means time.Now.
	Now func() time.Time
	// Sink receives the events about renewals and closings; nil: the events are dropped.
	Sink event.Sink
	// CloseTimeout is the time limit of the call that closes a lease, and also of the wait for a running renewal before
	// this call; 0: a minute.
	CloseTimeout time.Duration
	// RenewTimeout is the time limit of one call to renew; 0: a minute.
	RenewTimeout time.Duration
	// Panicked receives the panics of functions that the caller passed to the ledger (Sink, Opened.Report,
	// Opened.Closed), with their stacks. The ledger then continues to close leases. If Panicked is nil, a panic is not
	// recovered.
	Panicked func(value any, stack []byte)
	// Parallelism is the maximum number of concurrent closings; 0: 10.
	Parallelism int
	// If the context Abandon ends, running renewals are cancelled; nil: never.
	Abandon context.Context
	// If the context Leave ends, running closings are cancelled, and later closings fail without a call to the
	// provider; nil: never.
	Leave context.Context
	// Again returns a new process with the same configuration as a process that has crashed (provider.Crasher), to
	// close the leases that the crashed process opened. It returns nil if no process can be started or configured.
	// Again may be nil.
	Again func(ctx context.Context, crashed provider.Provider) provider.Provider
	// Kept reports whether CloseAll leaves a lease open for a further plan and apply of the same command (ADR 52). nil
	// means that no lease stays open.
	Kept func(*Lease) bool
}

// Ledger is the list of the leases of one walk. If a command calls Continue, its next walk uses the same ledger. The
// methods may be called concurrently.
type Ledger struct {
	o     Options
	slots chan struct{} // one slot for each concurrent closing

	mu       sync.Mutex
	list     []*Lease // the leases in the order of their opening; Continue removes the leases whose closing has ended
	carried  int      // number of leases in list that earlier walks of the command have opened
	sessions []*session
	renewed  int // number of successful renewals since the last call of Continue

	turn     sync.Cond                 // signals a change of closings or held
	closings map[provider.Provider]int // number of running closings, by provider process
	held     map[provider.Provider]int // number of calls of Between that block closings
}

// Lease is a lease in a ledger: open, being closed, closed, or not closable.
type Lease struct {
	opened Opened
	ledger *Ledger
	since  time.Time

	mu       sync.Mutex
	private  []byte          // private data of the opening or of the last successful renewal
	renew    time.Time       // time of the next renewal; zero: never
	last     time.Time       // end of the last renewal; before the first renewal: a time that permits a renewal at once
	running  chan struct{}   // closed at the end of the running renewal; nil if no renewal runs
	giveUp   func()          // cancels the last renewal that was started; nil before the first renewal
	expired  *Expired        // the error of the renewal that failed, after which no renewal follows; nil: none has failed
	reported map[string]bool // texts of the warnings that were reported

	started bool          // whether the closing has begun, for code that holds mu
	until   time.Time     // time of the end of the closing; zero before
	closing chan struct{} // closed when the closing begins, for code that waits
	closed  chan struct{} // closed when the closing has ended, with or without success
	why     string        // after the closing began: why the lease is still open, such as the error of the provider; empty if the lease is closed
}

// session is a provider process that CloseAll has to stop.
type session struct {
	provider provider.Provider
	parents  []*Lease // the leases that the settings of the process use
	stop     func()   // ends the process
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
	Provider provider.Provider // the configured process that opened the lease; the process must run until the lease is closed
	Type     string
	Private  []byte    // the provider's private data, which renewals and the closing pass back; a renewal may return other data
	RenewAt  time.Time // zero: the lease needs no renewal

	// Parents are the leases whose values this lease uses, in its configuration or in the settings of its provider.
	// CloseAll closes them after this lease.
	Parents []*Lease

	// Delivered is closed after the opening has been reported. A renewal that is due at once waits until then. nil
	// means that it does not wait.
	Delivered <-chan struct{}

	// Report receives the provider's diagnostics of renewals and closings at once. The ledger calls Report from other
	// goroutines, and not after Close or CloseAll has returned, except for a renewal that was cancelled. Report may be
	// nil.
	Report func(provider.Diags)

	// The ledger calls Closed after the provider has closed the lease without an error. Closed may be nil.
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

// Continue prepares the ledger for the next walk of the command. Leases whose closing has not ended stay in the ledger.
// Leases that were closed, or could not be closed, are removed. Afterwards Summary counts openings and renewals from 0.
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

// leases returns the leases in the ledger, open or closed.
func (l *Ledger) leases() []*Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(l.list)
}

// send sends an event to the Sink.
func (l *Ledger) send(e event.Event) { l.safely(func() { l.o.Sink.Send(e) }) }

// safely calls f, a function that the owner of the ledger passed. If Options.Panicked is set, it receives a panic of f,
// because a panic must neither keep a lease open nor end the process.
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

// Expired is the error for a lease that could not be renewed, or whose closing has begun. The value of the lease must
// not be used any more.
type Expired struct{ Reason string }

func (e *Expired) Error() string { return e.Reason }
