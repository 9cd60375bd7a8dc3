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
	// spacing is the minimum time between the end of a renewal and the next renewal. It limits the rate of calls to a
	// provider that returns renewal times in the past.
	spacing = time.Second
	// clockPoll is the interval of checks of the wall clock while a renewal time is awaited. The checks are needed
	// because a user may set the clock, and because the clock advances while the machine sleeps and timers stand still.
	clockPoll = 30 * time.Second
)

// retryDelays are the pauses before the attempts to repeat a failed renewal.
var retryDelays = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// Fresh blocks until the lease may be used. It starts a renewal if one is due, and waits for the running renewal. It
// returns an *Expired error if a renewal has failed, or if the lease is closed or being closed. It returns ctx.Err() if
// ctx ends first.
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

// renewal returns a channel that is closed at the end of the running renewal. It starts a renewal if one is due and
// none is running. The channel is nil if no renewal is due. The error is an *Expired if a renewal has failed, or if the
// closing of the lease has begun and no renewal is running.
func (x *Lease) renewal() (<-chan struct{}, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.expired != nil:
		return nil, x.expired
	case x.running != nil:
		return x.running, nil
	case x.started:
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

// never is a duration that does not elapse.
const never = time.Duration(1<<63 - 1)

// wait returns the time until the next renewal is due, by the current wall clock. It is zero or negative if a renewal
// is due, and never if the lease needs no renewal. The caller must hold x.mu.
func (x *Lease) wait() time.Duration {
	if x.renew.IsZero() {
		return never
	}
	return max(x.renew.Sub(x.ledger.o.Now().Round(0)), spacing-time.Since(x.last))
}

// keep renews the lease in the background until its closing begins, a renewal fails, or the provider requests no
// further renewal.
func (x *Lease) keep() {
	if delivered := x.opened.Delivered; delivered != nil {
		select {
		case <-delivered:
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

// sleep waits for d. It returns false if the closing of the lease begins or ctx ends first.
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

// run makes one renewal: a call to the provider, and up to three further calls while they fail. No further call is made
// if ctx ends or the closing of the lease begins. At the end, run closes done. private is the private data that the
// provider returned when it opened or last renewed the lease.
func (x *Lease) run(ctx context.Context, done chan struct{}, private []byte) {
	began := time.Now()
	x.ledger.send(event.Started{Object: x.opened.Object, Op: event.Renew, At: x.ledger.o.Now()})
	resp, ds := x.callRenew(ctx, private)
	for try := 0; ds.HasErrors() && try < len(retryDelays) && x.sleep(ctx, retryDelays[try]); try++ {
		resp, ds = x.callRenew(ctx, private)
	}
	ok, took := !ds.HasErrors(), time.Since(began)
	if ok {
		x.ledger.countRenewal()
		x.ledger.send(event.Done{Object: x.opened.Object, Op: event.Renew, Took: took})
	} else {
		x.failed(ds)
		x.ledger.send(event.Failed{Object: x.opened.Object, Op: event.Renew, Took: took, Reason: strings.Join(strings.Fields(sentence(ds)), " ")})
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if ok {
		x.renew = resp.RenewAt.Round(0)
		if resp.Private != nil { // optional in the protocol: nil means that the private data is unchanged
			x.private = resp.Private
		}
	}
	x.last, x.running = time.Now(), nil
	x.giveUp()
	close(done)
}

// callRenew makes one call to the provider and reports its warnings. It returns the diagnostics of the provider, or an
// error if the provider does not answer in time.
func (x *Lease) callRenew(ctx context.Context, private []byte) (provider.RenewResponse, provider.Diags) {
	type answer struct {
		resp provider.RenewResponse
		ds   provider.Diags
	}
	asked := time.Now()
	a, expired := within(ctx, x.ledger.o.RenewTimeout, func(ctx context.Context) (a answer) {
		defer caught(&a.ds, "renewed")
		a.resp, a.ds = x.opened.Provider.Renew(ctx, x.opened.Type, private)
		return a
	})
	if a == nil || expired && a.ds.HasErrors() {
		return provider.RenewResponse{}, provider.Diags{x.silence("renewed", time.Since(asked))}
	}
	x.warn(a.ds)
	return a.resp, a.ds
}

// failed records that the lease can no longer be renewed, and reports the errors ds. Later calls of Fresh return these
// errors as an *Expired. If the lease is already being closed, no job will use it again, so the errors become warnings.
func (x *Lease) failed(ds provider.Diags) {
	x.mu.Lock()
	x.renew = time.Time{}
	x.expired = &Expired{sentence(ds)}
	started := x.started
	x.mu.Unlock()
	if !started {
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

// report passes diagnostics to Opened.Report, but each warning only once. Diagnostics without an address get the
// address of the lease.
func (x *Lease) report(ds provider.Diags) {
	var out provider.Diags
	x.mu.Lock()
	for _, d := range ds {
		if d.Severity == diag.Warning {
			key := d.Error()
			if x.reported[key] {
				continue
			}
			if x.reported == nil {
				x.reported = map[string]bool{}
			}
			x.reported[key] = true
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

// silence returns the error about a provider that has not answered in the time waited. The parameter what is the
// operation as a participle, such as "closed".
func (x *Lease) silence(what string, waited time.Duration) diag.Diagnostic {
	return diag.Errorf("Provider did not answer",
		"provider[%q] did not answer the request to have %s %s within %s. Lethe stopped waiting, so the result is unknown.",
		x.opened.Provider.Addr(), x.opened.Object, what, waited.Round(time.Second))
}

// within calls f and waits for its answer, at most for limit. answer is nil if there was no answer in time; f then
// continues in the background. expired reports whether the limit or ctx had ended. In this case the answer may only be
// an error about the cancellation.
//
// The context of f is cancelled at the limit, but has no deadline. With a deadline, f could notice the limit and return
// an error before within does.
func within[T any](ctx context.Context, limit time.Duration, f func(context.Context) T) (answer *T, expired bool) {
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

// caught turns a panic of a provider in this process into an error. The error omits the panic value, which may contain
// secrets. The argument what names the operation, such as "closed".
func caught(ds *provider.Diags, what string) {
	if recover() != nil {
		*ds = provider.Diags{diag.Errorf("Provider failed", "The provider panicked while the ephemeral resource was being %s.", what)}
	}
}

// sentence returns the errors in ds as one line.
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

// Opened adds a lease to the ledger and starts its renewals. The caller must also pass a lease whose answer it
// rejected, because this lease must be closed, too.
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
		renew:   o.RenewAt.Round(0), // without the monotonic clock: renewal times are calendar times
		// The first renewal may follow the opening at once.
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
