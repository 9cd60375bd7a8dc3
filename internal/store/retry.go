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

// Tries is the retry policy of a store. A request that gets an *UnansweredError is repeated until at least Retries
// retries are done and the minimum time for its kind has passed. Reading is the minimum time for requests that only
// read, for which a user waits. Writing is the minimum time for requests whose data would be lost. If no host with the
// name exists, only Retries counts. An invalid certificate or a refused redirect is not retried.
type Tries struct {
	Retries           int           // the minimum number of retries
	Shortest, Longest time.Duration // the shortest and the longest pause: each pause is twice the previous one
	Reading, Writing  time.Duration // the minimum time for retries; 0: only Retries counts

	// Notify is called once for each request that has been retried for noticeDelay. It may be nil.
	Notify func(text string)
	// Stop, when it ends, ends all pauses and, after the time grace, the request in progress. It may be nil.
	Stop context.Context
}

const (
	longestAsked  = 2 * time.Minute        // the longest Retry-After that is respected
	shortestPause = 250 * time.Millisecond // the shortest pause after the first Retries attempts
	noticeDelay   = 5 * time.Second        // the time before the first message to the user
	grace         = time.Second            // how long a request in progress may continue after Stop
	patience      = 90 * time.Second       // the time for retries of writes
)

// Tries returns the retry policy for a driver with these settings: 5 retries, and 90 seconds for writes. reading is the
// minimum time for retries of requests that only read, which depends on the service.
func (s Settings) Tries(reading time.Duration) Tries {
	return Tries{Retries: 5, Shortest: 250 * time.Millisecond, Longest: 20 * time.Second, Reading: reading, Writing: patience, Notify: s.Notify, Stop: s.Stop}
}

// Times returns the policy with another number of retries, which comes from a setting. If again is 0, nothing is
// retried, not even writes.
func (t Tries) Times(again int) Tries {
	if t.Retries = again; again == 0 {
		t.Reading, t.Writing = 0, 0
	}
	return t
}

// hurry is the factor that Hurry has set; 0 means 1.
var hurry atomic.Int64

// Hurry makes later pauses and times of all retry policies shorter by a factor, for tests.
func Hurry(factor int64) { hurry.Store(factor) }

// Hurried returns the duration d divided by the factor that Hurry has set, or d if Hurry was not called.
func Hurried(d time.Duration) time.Duration { return d / time.Duration(max(1, hurry.Load())) }

// Do calls do, which sends a request that only reads, until the request is answered or the policy t allows no further
// attempt. It returns the error of the last attempt. The end of ctx or of t.Stop ends the pauses. If ctx ends during a
// request, the text of the error is "it was interrupted" or "it took too long".
func (t Tries) Do(ctx context.Context, do func() error) error {
	return t.try(ctx, t.Reading, func(context.Context) error { return do() })
}

// Write calls do, which sends a request that must not be lost, until the request is answered or the policy t allows no
// further attempt. The end of ctx does not stop Write; the end of t.Stop does.
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

// pause returns the pause after attempt n, from 0: a random part of at least half of the argument pause, so that many
// clients do not send requests at the same time. After t.Retries attempts, the pause is at least shortestPause.
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

// endedError is the error of a request whose context ended. Its text is written for users.
type endedError struct{ error }

func (e *endedError) Error() string {
	if errors.Is(e.error, context.DeadlineExceeded) {
		return "it took too long"
	}
	return "it was interrupted"
}

func (e *endedError) Unwrap() error { return e.error }

// unanswered reports whether a later attempt of a request may succeed. An invalid certificate, a refused redirect and
// an address with https of a server without TLS would stay the same.
func unanswered(err error) bool {
	var u *UnansweredError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var redirect *RedirectError
	return errors.As(err, &u) && !errors.As(err, &certificate) && !errors.As(err, &record) && !errors.Is(err, http.ErrSchemeMismatch) && !errors.As(err, &redirect)
}

// nowhere reports whether an error means that no host with the name exists.
func nowhere(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

// open reports whether a request without an answer may have been executed: a connection existed when it was sent.
func open(err error) bool {
	var u *UnansweredError
	var op *net.OpError
	return errors.As(err, &u) && !u.Unsent && !(errors.As(err, &op) && op.Op == "dial")
}

// asked returns the pause that a service requests before the next attempt, or 0 if it requests none.
func asked(err error) time.Duration {
	var u *UnansweredError
	if !errors.As(err, &u) {
		return 0
	}
	return u.After
}

// RetryAfter returns the pause that the header Retry-After requests, as a number of seconds or as a date. It returns 0
// if the header is missing or has another form. A number of seconds counts as at most longestAsked.
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
		now = sent // compare with the clock of the service, which may differ from the clock of this machine
	}
	return max(0, at.Sub(now))
}
