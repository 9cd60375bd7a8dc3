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

// Client makes requests. It is safe for concurrent use.
type Client struct {
	// Transport makes the connections. If it is nil, the client uses the proxy and certificates of the environment. Small
	// answers of a host then share one HTTP/2 connection, and each file has a separate connection.
	Transport http.RoundTripper
	Header    http.Header // sent with every request
	// Authorize adds credentials to a request, for the host of the request. nil means no credentials.
	Authorize func(ctx context.Context, r *http.Request) error
	Offline   bool          // every request fails
	Retries   int           // number of attempts after the first attempt
	Timeout   time.Duration // time limit for a whole small answer; 0 means 10 seconds
	Stall     time.Duration // time limit for a pause in the transfer of a file; 0 means a minute

	// pause waits between two attempts. Tests replace it.
	pause func(ctx context.Context, d time.Duration) error
}

const (
	maxRedirects = 10
	maxPause     = 30 * time.Second
)

// small and large are the transports of clients without a Transport, for small answers and for files. Servers and
// networks often limit the speed of each connection. So each file has a separate connection, and only small answers
// share connections by HTTP/2.
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

// forFiles returns c.Transport, or if it is nil, the transport for files that all clients share.
func (c *Client) forFiles() http.RoundTripper { return cmp.Or(c.Transport, ForFiles()) }

// ForFiles returns a transport with the proxy and certificates of the environment, and a separate connection for each
// file.
func ForFiles() http.RoundTripper { return large() }

// StatusError is an answer with a status code of failure.
type StatusError struct {
	URL   string // formatted by Show
	Code  int
	Shown bool // the request had the header Authorization

	Withheld bool // the address has credentials that were not sent
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s answered %d %s", e.URL, e.Code, http.StatusText(e.Code))
	if e.Withheld && (e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden) {
		text += ". The user name and password in the address were not sent, because http does not protect them. Use https"
	}
	return text
}

// IsStatus reports whether err is, or wraps, a *StatusError with that status code.
func IsStatus(err error, code int) bool {
	var s *StatusError
	return errors.As(err, &s) && s.Code == code
}

// Show formats an address for messages, without the parts that may be secret.
func Show(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Answer is the answer to a small request.
type Answer struct {
	Body   []byte
	Header http.Header
	URL    *url.URL // the source of the answer, after redirects
}

// Get requests a small answer. If the answer has more than limit bytes, Get returns an error. Like the method Repeat,
// it repeats the request after errors that may be temporary. Each attempt has the time limit Timeout. If the server
// answers with a status code of failure, the error wraps a *StatusError.
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
			return &transient{broken(ctx, u, err)}
		case int64(len(body)) > limit:
			return fmt.Errorf("%s answered with more than %d bytes", Show(u), limit)
		}
		out = &Answer{body, resp.Header, resp.Request.URL}
		return nil
	})
	return out, err
}

// request makes one request and follows redirects. It returns an error unless the answer is a success.
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
			return nil, &transient{broken(ctx, u, err)}
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

// judge returns the target of a redirect, or an error for an answer that is not a success. It returns nil and nil for a
// success.
func judge(resp *http.Response) (next *url.URL, err error) {
	u := resp.Request.URL
	switch code := resp.StatusCode; code {
	case http.StatusOK, http.StatusNoContent:
		return nil, nil
	case http.StatusPartialContent:
		if resp.Request.Header.Get("Range") != "" {
			return nil, nil
		}
		return nil, &StatusError{URL: Show(u), Code: code} // the server has sent only a part, although the client did not request a part
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		next, err := u.Parse(resp.Header.Get("Location"))
		switch {
		case err != nil || resp.Header.Get("Location") == "":
			return nil, fmt.Errorf("%s redirects to an address that cannot be read", Show(u))
		case next.Scheme != "https" && next.Scheme != u.Scheme:
			return nil, fmt.Errorf("%s redirects to %s, which is not protected by TLS like the first address", Show(u), Show(next))
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

// after returns the duration in the header Retry-After of an answer, at most maxPause. It returns 0 if the header is
// missing or invalid.
func after(resp *http.Response) time.Duration {
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxPause)
}

// transient is an error after which a repeated request may succeed.
type transient struct{ error }

func (e *transient) Unwrap() error { return e.error }

// busy is an answer with which the server asks the client to repeat the request later.
type busy struct {
	*StatusError
	after time.Duration
}

func (e *busy) Unwrap() error { return e.StatusError }

// Cause returns the reason why a context has ended, as an error for users. It returns nil if the context has not ended.
func Cause(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) {
		return errors.New("it was interrupted")
	}
	return cause
}

// broken returns the error for a transfer that failed with err. If the context has ended, broken returns the cause of
// the end.
func broken(ctx context.Context, u *url.URL, err error) error {
	if cause := Cause(ctx); cause != nil {
		return cause
	}
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err // use the inner error, because the text of err contains the whole address
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("the connection was interrupted")
	}
	if errors.As(err, new(x509.UnknownAuthorityError)) {
		err = fmt.Errorf("%w. If you trust its certificate authority, add the CA certificate to the file in SSL_CERT_FILE or the directory in SSL_CERT_DIR", err)
	}
	return fmt.Errorf("%s: %w", Show(u), err)
}

// Transient marks an error after which a repeated request may succeed, for Repeat.
func Transient(err error) error { return &transient{err} }

// Repeat calls f until it succeeds or returns an error after which a further attempt is useless, but not more than
// Retries+1 times. It waits between the attempts. It returns the last error of f, or the cause of the end of ctx if ctx
// ends while Repeat waits.
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

// worth reports whether another attempt may succeed after an error, and the time that the server asks to wait.
func worth(err error) (wait time.Duration, again bool) {
	var b *busy
	var x *transient
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

// behalf is the value that OnBehalf stores in a context. Requests to one host (the field at) use the credentials for
// another host (the field of).
type behalf struct{ of, at string }

type behalfKey struct{}

// OnBehalf returns a context in which requests to one host (at) use the user's credentials for another host (of),
// because a registry may offer its services at another host.
func OnBehalf(ctx context.Context, of, at string) context.Context {
	return context.WithValue(ctx, behalfKey{}, behalf{of, at})
}

// IsService reports whether requests to a host use a service of a registry in this context (see OnBehalf). Requests for
// files that a registry names do not.
func IsService(ctx context.Context, host string) bool {
	b, ok := ctx.Value(behalfKey{}).(behalf)
	return ok && b.at == host
}

// Audience returns the host whose credentials are used for a host.
func Audience(ctx context.Context, host string) string {
	if b, ok := ctx.Value(behalfKey{}).(behalf); ok && b.at == host {
		return b.of
	}
	return host
}
