package lease

import (
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/provider"
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
	x.begun, x.why = true, "its closing is not over"
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
		return x.opened.Provider.CloseLease(ctx, x.opened.Type, private)
	})
	if ds == nil || over && ds.HasErrors() {
		return provider.Diags{x.silence("closed", time.Since(asked))}
	}
	return *ds
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

// Left is a lease that is still open, and why.
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
