package download

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Client makes the requests. It is safe for concurrent use.
type Client struct {
	// Transport makes the connections. nil: with the environment's proxy and certificates, one connection for all small
	// answers of a host that speaks HTTP 2, and one for each file.
	Transport http.RoundTripper
	Header    http.Header // sent with every request
	// Authorize adds credentials to a request, for the host that the request goes to. nil: there are none.
	Authorize func(ctx context.Context, r *http.Request) error
	Offline   bool          // nothing is asked for: every request is an error
	Retries   int           // after the first attempt
	Timeout   time.Duration // of a small answer as a whole; 0: 10 seconds
	Stall     time.Duration // of a file without progress; 0: a minute

	// pause waits between two attempts; tests do not.
	pause func(ctx context.Context, d time.Duration) error
}

const (
	maxRedirects = 10
	maxPause     = 30 * time.Second
)

// What makes the connections of clients that do not say so. Servers and networks often limit each connection: files do
// not share one, as they would with HTTP 2.
var (
	small = sync.OnceValue(func() http.RoundTripper { return connections(true) })
	large = sync.OnceValue(func() http.RoundTripper { return connections(false) })
)

func connections(shared bool) http.RoundTripper {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: 30 * time.Second}).DialContext, TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConnsPerHost: 32, IdleConnTimeout: 90 * time.Second, ReadBufferSize: 32 << 10, Protocols: new(http.Protocols),
		OnProxyConnectResponse: func(_ context.Context, proxy *url.URL, _ *http.Request, resp *http.Response) error {
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("the proxy %s answered %s", proxy.Host, resp.Status)
			}
			return nil
		},
	}
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(shared)
	return t
}

// forFiles makes the connections for files.
func (c *Client) forFiles() http.RoundTripper { return cmp.Or(c.Transport, ForFiles()) }

// ForFiles makes connections with the environment's proxy and certificates, one for each file.
func ForFiles() http.RoundTripper { return large() }

// StatusError is an answer that is no success.
type StatusError struct {
	URL   string // as Show shows it
	Code  int
	Shown bool // credentials were sent

	Withheld bool // the address has credentials, which were not sent
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s answered %d %s", e.URL, e.Code, http.StatusText(e.Code))
	if e.Withheld && (e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden) {
		text += ". The user name and password in the address were not sent, because over http others can read them: use https"
	}
	return text
}

// IsStatus reports whether the server answered with a status code.
func IsStatus(err error, code int) bool {
	var s *StatusError
	return errors.As(err, &s) && s.Code == code
}

// Show is an address as messages show it: without what may be secret in it.
func Show(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Answer is what a server said to a small request.
type Answer struct {
	Body   []byte
	Header http.Header
	URL    *url.URL // where the answer came from, after redirects
}

// Get makes a request for an answer of at most limit bytes.
func (c *Client) Get(ctx context.Context, u *url.URL, limit int64) (*Answer, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	var out *Answer
	err := c.Repeat(ctx, func() error {
		ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%s did not answer within %s", Show(u), timeout))
		defer cancel()
		resp, err := c.request(ctx, cmp.Or(c.Transport, small()), u, nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
		switch {
		case err != nil:
			return &cut{broken(ctx, u, err)}
		case int64(len(body)) > limit:
			return fmt.Errorf("%s answered with more than %d bytes", Show(u), limit)
		}
		out = &Answer{body, resp.Header, resp.Request.URL}
		return nil
	})
	return out, err
}

// request makes one request and follows redirects. The answer is a success.
func (c *Client) request(ctx context.Context, through http.RoundTripper, u *url.URL, header http.Header) (*http.Response, error) {
	if c.Offline {
		return nil, fmt.Errorf("%s was not requested, because of -offline or a vendor directory", Show(u))
	}
	for range maxRedirects {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, fmt.Errorf("%s is not a valid address: %w", Show(u), err)
		}
		for _, h := range []http.Header{c.Header, header} {
			for name, values := range h {
				r.Header[name] = values
			}
		}
		if c.Authorize != nil {
			if err := c.Authorize(ctx, r); err != nil {
				return nil, err
			}
		}
		resp, err := through.RoundTrip(r)
		if err != nil {
			return nil, &cut{broken(ctx, u, err)}
		}
		resp.Request = r
		next, err := judge(resp)
		if next == nil && err == nil {
			return resp, nil
		}
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		u = next
	}
	return nil, fmt.Errorf("%s redirects more than %d times", Show(u), maxRedirects)
}

// judge gives the place that an answer redirects to, or what is wrong with one that is no success.
func judge(resp *http.Response) (next *url.URL, err error) {
	u := resp.Request.URL
	switch code := resp.StatusCode; code {
	case http.StatusOK, http.StatusNoContent, http.StatusPartialContent:
		return nil, nil
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		next, err := u.Parse(resp.Header.Get("Location"))
		switch {
		case err != nil || resp.Header.Get("Location") == "":
			return nil, fmt.Errorf("%s redirects to an address that cannot be read", Show(u))
		case next.Scheme != "https" && next.Scheme != u.Scheme:
			return nil, fmt.Errorf("%s redirects to %s, which is not protected by TLS as the first address is", Show(u), Show(next))
		}
		return next, nil
	default:
		shown := resp.Request.Header.Get("Authorization") != ""
		status := &StatusError{Show(u), code, shown, !shown && u.User != nil}
		if code != http.StatusTooManyRequests && code < 500 || code == http.StatusNotImplemented {
			return nil, status
		}
		return nil, &busy{status, after(resp)}
	}
}

// after is how long the server asks to wait.
func after(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxPause)
}

// cut is an error after which the same request may succeed.
type cut struct{ error }

func (e *cut) Unwrap() error { return e.error }

// busy is an answer that asks to come again.
type busy struct {
	*StatusError
	after time.Duration
}

func (e *busy) Unwrap() error { return e.StatusError }

// Cause is what ended a context, in words for a user; nil: it has not ended.
func Cause(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return errors.New("it was interrupted")
	}
	return cause
}

// broken says what ended a transfer: the context's own cause, where that was it.
func broken(ctx context.Context, u *url.URL, err error) error {
	if cause := Cause(ctx); cause != nil {
		return cause
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err // its text has the whole address
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("the connection was cut")
	}
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		err = fmt.Errorf("%w. If it is one of yours, its certificate has to be in the file that SSL_CERT_FILE names, or in the directory that SSL_CERT_DIR names", err)
	}
	return fmt.Errorf("%s: %w", Show(u), err)
}

// Cut marks an error after which the same request may succeed, for Repeat.
func Cut(err error) error { return &cut{err} }

// Repeat calls f until it succeeds, fails for good, or was tried often enough.
func (c *Client) Repeat(ctx context.Context, f func() error) error {
	for n := 0; ; n++ {
		err := f()
		wait, again := worth(err)
		if !again || n >= c.Retries || ctx.Err() != nil {
			return err
		}
		if wait == 0 {
			wait = min(time.Second<<n, maxPause)/2 + rand.N(time.Second/2)
		}
		pause := c.pause
		if pause == nil {
			pause = sleep
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// worth reports whether it is worth to try again after an error, and how long the server asks to wait first.
func worth(err error) (wait time.Duration, again bool) {
	var b *busy
	var x *cut
	var name *net.DNSError
	switch {
	case errors.As(err, &b):
		return b.after, true
	case errors.As(err, &name) && name.IsNotFound:
		return 0, false
	}
	return 0, errors.As(err, &x)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// behalf says whose credentials go to a host.
type behalf struct{ of, at string }

type behalfKey struct{}

// OnBehalf lets requests to the host at be made with the credentials that the user has for another host: for the
// registry that offers its services there.
func OnBehalf(ctx context.Context, of, at string) context.Context {
	return context.WithValue(ctx, behalfKey{}, behalf{of, at})
}

// IsService reports whether a request to a host is one to a service of a registry, and not for a file that it names.
func IsService(ctx context.Context, host string) bool {
	b, ok := ctx.Value(behalfKey{}).(behalf)
	return ok && b.at == host
}

// Audience is the host whose credentials go to a host.
func Audience(ctx context.Context, host string) string {
	if b, ok := ctx.Value(behalfKey{}).(behalf); ok && b.at == host {
		return b.of
	}
	return host
}
