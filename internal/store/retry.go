package store

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Tries is the retry policy of a store. A request is repeated while its error is an *UnansweredError, until there were
// Retries retries and the time for its kind has passed: Reading for requests at the start of a command, for which a
// user waits, and Writing for data that would be lost.
type Tries struct {
	Retries           int           // the least number of retries
	Shortest, Longest time.Duration // of the pauses: each is twice the one before
	Reading, Writing  time.Duration // how long requests are retried at least; 0: Retries alone counts

	// Notify is called once for each request that has been retried for some seconds. It may be nil.
	Notify func(text string)
	// Stop ends all pauses, and then the request in progress. It may be nil.
	Stop context.Context
}

const (
	longestAsked  = 2 * time.Minute        // the longest Retry-After that is obeyed
	shortestPause = 250 * time.Millisecond // between attempts that go on for a time
	noticeDelay   = 5 * time.Second        // the time before the first message to the user
	grace         = time.Second            // the time that a request in progress has after Stop
	patience      = 90 * time.Second       // for writes, whatever the service
)

// Tries returns the policy of a driver that gets these settings. Reading differs by the service.
func (s Settings) Tries(reading time.Duration) Tries {
	return Tries{Retries: 5, Shortest: 250 * time.Millisecond, Longest: 20 * time.Second, Reading: reading, Writing: patience, Notify: s.Notify, Stop: s.Stop}
}

// Times returns the policy with the number of retries of a setting. With 0 there are no retries, not even of writes.
func (t Tries) Times(again int) Tries {
	if t.Retries = again; again == 0 {
		t.Reading, t.Writing = 0, 0
	}
	return t
}

// hurry divides all pauses and times of policies.
var hurry atomic.Int64

// Hurry makes policies faster by a factor, for tests.
func Hurry(factor int64) { hurry.Store(factor) }

// Hurried returns a pause as tests want it.
func Hurried(d time.Duration) time.Duration { return d / time.Duration(max(1, hurry.Load())) }

// Do makes a request that reads until it is answered. If the context ends meanwhile, the error is in words for a user.
func (t Tries) Do(ctx context.Context, do func() error) error {
	return t.try(ctx, t.Reading, func(context.Context) error { return do() })
}

// Write makes a request that must not be lost until it is answered. The end of ctx does not end it: Stop does.
func (t Tries) Write(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if t.Stop != nil {
		defer context.AfterFunc(t.Stop, func() { time.AfterFunc(Hurried(grace), cancel) })()
	}
	return t.try(ctx, t.Writing, do)
}

func (t Tries) try(ctx context.Context, during time.Duration, do func(context.Context) error) error {
	pause, began, notified := t.Shortest, time.Now(), t.Notify == nil
	for n := 0; ; n++ {
		err := do(ctx)
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = &endedError{err}
		}
		if !unanswered(err) || ctx.Err() != nil || n >= t.Retries && (time.Since(began) >= Hurried(during) || nowhere(err)) {
			return err
		}
		wait := Hurried(max(t.pause(n, pause), min(asked(err), longestAsked)))
		if !notified && time.Since(began)+wait >= Hurried(noticeDelay) {
			notified = true
			t.Notify("Retrying a request to the backend, which failed: " + strings.Join(strings.Fields(err.Error()), " "))
		}
		select {
		case <-ctx.Done():
			return err
		case <-t.stopped():
			return err
		case <-time.After(wait):
		}
		pause = min(2*pause, t.Longest)
	}
}

// pause returns the pause after an attempt, without a random part, so that many clients do not come at once.
func (t Tries) pause(n int, pause time.Duration) time.Duration {
	pause = pause/2 + rand.N(pause/2+1)
	if n >= t.Retries {
		pause = max(pause, shortestPause)
	}
	return pause
}

func (t Tries) stopped() <-chan struct{} {
	if t.Stop == nil {
		return nil
	}
	return t.Stop.Done()
}

// endedError is an error of a request whose context ended.
type endedError struct{ error }

func (e *endedError) Error() string {
	if errors.Is(e.error, context.DeadlineExceeded) {
		return "it took too long"
	}
	return "it was interrupted"
}

func (e *endedError) Unwrap() error { return e.error }

// unanswered reports whether a request may have more luck later.
func unanswered(err error) bool {
	var u *UnansweredError
	var certificate *tls.CertificateVerificationError
	var redirect *RedirectError
	return errors.As(err, &u) && !errors.As(err, &certificate) && !errors.As(err, &redirect)
}

// nowhere reports whether an error means that no host has that name.
func nowhere(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// open reports whether a request without an answer may have been carried out: it was made, and there was a connection.
func open(err error) bool {
	var u *UnansweredError
	var op *net.OpError
	return errors.As(err, &u) && !u.Unsent && !(errors.As(err, &op) && op.Op == "dial")
}

// asked returns the pause that a service asks for; 0 for none.
func asked(err error) time.Duration {
	var u *UnansweredError
	if !errors.As(err, &u) {
		return 0
	}
	return u.After
}

// RetryAfter returns the pause that the headers of an answer ask for, which is a number of seconds or a date; 0 for
// none.
func RetryAfter(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 {
		return time.Duration(min(n, longestAsked.Seconds()) * float64(time.Second))
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now := time.Now()
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent // use the clock of the service
	}
	return max(0, at.Sub(now))
}
