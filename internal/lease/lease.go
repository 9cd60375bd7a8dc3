package lease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/provider"
)

const (
	// spacing is the least time from the end of a renewal to the beginning of the next, so that a
	// provider whose renewal times lie in the past is not called without end.
	spacing = time.Second
	// clockPoll is how often we look at the wall clock while we wait for a renewal time: it may have
	// been set, or gone on while the machine slept and timers stood still.
	clockPoll = 30 * time.Second
)

// retryDelays are those before a renewal that failed is tried again.
var retryDelays = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// Fresh makes sure that the lease is good, before it is used: it renews if that is due and waits
// for a renewal that is under way. The error is an *Expired if the lease could not be renewed, now
// or before, or that of the context.
func (x *Lease) Fresh(ctx context.Context) error {
	for {
		running, err := x.renewal()
		if err != nil {
			return err
		}
		if running == nil {
			return nil
		}
		select {
		case <-running:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// renewal begins a renewal if that is due, or joins the one that is under way. It gives nil if
// there is nothing to wait for.
func (x *Lease) renewal() (<-chan struct{}, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.expired != nil:
		return nil, x.expired
	case x.running != nil:
		return x.running, nil
	case x.begun:
		return nil, &Expired{"it was closed before"}
	case x.wait() > 0:
		return nil, nil
	}
	x.running = make(chan struct{})
	ctx, cancel := context.WithCancel(x.ledger.o.Abandon)
	x.giveUp = cancel
	go x.run(ctx, x.running, x.private)
	return x.running, nil
}

// never is how long one waits for what will not happen.
const never = time.Duration(1<<63 - 1)

// wait is the time until the next renewal is due, at the wall clock as it is now. Call it locked.
func (x *Lease) wait() time.Duration {
	if x.renew.IsZero() {
		return never
	}
	return max(x.renew.Sub(x.ledger.o.Now().Round(0)), spacing-time.Since(x.last))
}

// keep renews in the background as long as the lease is held.
func (x *Lease) keep() {
	if told := x.opened.Told; told != nil {
		select {
		case <-told:
		case <-x.closing:
			return
		}
	}
	for {
		x.mu.Lock()
		wait := x.wait()
		x.mu.Unlock()
		if wait == never {
			return
		}
		if wait > 0 && !x.sleep(context.Background(), min(wait, clockPoll)) {
			return
		}
		if running, err := x.renewal(); err != nil {
			return
		} else if running != nil {
			<-running
		}
	}
}

// sleep waits and reports false if the lease is closed or the context ends before the time is
// over.
func (x *Lease) sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-x.closing:
	case <-ctx.Done():
	}
	return false
}

// run is one renewal: a call, and up to three more if it fails.
func (x *Lease) run(ctx context.Context, over chan struct{}, private []byte) {
	began := time.Now()
	x.ledger.tell(event.Started{Object: x.opened.Object, Op: event.Renew, At: x.ledger.o.Now()})
	resp, ds := x.callRenew(ctx, private)
	for try := 0; ds.HasErrors() && try < len(retryDelays) && x.sleep(ctx, retryDelays[try]); try++ {
		resp, ds = x.callRenew(ctx, private)
	}
	ok, took := !ds.HasErrors(), time.Since(began)
	if ok {
		x.ledger.countRenewal()
		x.ledger.tell(event.Done{Object: x.opened.Object, Op: event.Renew, Took: took})
	} else {
		x.failed(ds)
		x.ledger.tell(event.Failed{Object: x.opened.Object, Op: event.Renew, Took: took, Reason: strings.Join(strings.Fields(sentence(ds)), " ")})
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if ok {
		x.renew = resp.RenewAt.Round(0)
		if resp.Private != nil { // protocol: an optional field
			x.private = resp.Private
		}
	}
	x.last, x.running = time.Now(), nil
	x.giveUp()
	close(over)
}

// callRenew asks the provider once, and passes its warnings on.
func (x *Lease) callRenew(ctx context.Context, private []byte) (provider.RenewResponse, provider.Diags) {
	type answer struct {
		resp provider.RenewResponse
		ds   provider.Diags
	}
	asked := time.Now()
	a, over := within(ctx, x.ledger.o.RenewTimeout, func(ctx context.Context) (a answer) {
		defer caught(&a.ds, "renewed")
		a.resp, a.ds = x.opened.Provider.Renew(ctx, x.opened.Type, private)
		return a
	})
	if a == nil || over && a.ds.HasErrors() {
		return provider.RenewResponse{}, provider.Diags{x.silence("renewed", time.Since(asked))}
	}
	x.warn(a.ds)
	return a.resp, a.ds
}

// failed ends renewing. What still wants to use the lease learns why; what closes it already
// does not need it any more, so that the error is no more than a warning then.
func (x *Lease) failed(ds provider.Diags) {
	x.mu.Lock()
	x.renew = time.Time{}
	x.expired = &Expired{sentence(ds)}
	begun := x.begun
	x.mu.Unlock()
	if !begun {
		x.report(ds)
		return
	}
	ds = slices.Clone(ds)
	for i := range ds {
		ds[i].Severity = diag.Warning
	}
	x.warn(ds)
}

// warn reports the warnings in ds.
func (x *Lease) warn(ds provider.Diags) {
	var out provider.Diags
	for _, d := range ds {
		if d.Severity == diag.Warning {
			out = append(out, d)
		}
	}
	x.report(out)
}

// report passes diagnostics on, the same warning only once however often it comes.
func (x *Lease) report(ds provider.Diags) {
	var out provider.Diags
	x.mu.Lock()
	for _, d := range ds {
		if d.Severity == diag.Warning {
			key := d.Error()
			if x.said[key] {
				continue
			}
			if x.said == nil {
				x.said = map[string]bool{}
			}
			x.said[key] = true
		}
		out = append(out, d)
	}
	x.mu.Unlock()
	if len(out) == 0 {
		return
	}
	for i := range out {
		if out[i].Address == "" {
			out[i] = out[i].About(x.opened.Object.Instance)
		}
	}
	x.ledger.safely(func() { x.opened.Report(out) })
}

// silence is the error about a provider that does not answer.
func (x *Lease) silence(what string, waited time.Duration) diag.Diagnostic {
	return diag.Errorf("Provider did not answer",
		"provider[%q] was asked to have %s %s, and did not answer for %s. Lethe stopped waiting, and does not know whether that was done.",
		x.opened.Provider.Addr(), x.opened.Object, what, waited.Round(time.Second))
}

// within calls f and waits for its answer, up to the limit. The answer is nil if there was none; a
// call that does not end is left alone. It also says whether the time was over: an answer may then
// be no more than that.
//
// The call learns that its time is over when it is, and not of a deadline before: it could answer
// that itself, earlier than our clock.
func within[T any](ctx context.Context, limit time.Duration, f func(context.Context) T) (answer *T, over bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	late := time.AfterFunc(limit, cancel)
	defer late.Stop()
	answers := make(chan *T, 1)
	go func() {
		a := f(ctx)
		answers <- &a
	}()
	select {
	case answer = <-answers:
	case <-ctx.Done():
		select {
		case answer = <-answers:
		default:
		}
	}
	return answer, ctx.Err() != nil
}

// caught turns a panic of a provider that runs in our process into an error. What it panicked with
// is not shown: it may be made of anything.
func caught(ds *provider.Diags, what string) {
	if recover() != nil {
		*ds = provider.Diags{diag.Errorf("Provider failed", "The provider panicked while the ephemeral resource was being %s.", what)}
	}
}

// sentence is what the errors in ds say, in one line.
func sentence(ds provider.Diags) string {
	var parts []string
	for _, d := range ds {
		if d.Severity != diag.Error {
			continue
		}
		s := d.Summary
		if d.Detail != "" {
			s = fmt.Sprintf("%s: %s", s, d.Detail)
		}
		parts = append(parts, strings.TrimRight(s, ". \n"))
	}
	return strings.Join(parts, "; ")
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
