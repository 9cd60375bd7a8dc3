package store

import (
	"errors"
	"fmt"
	"net/http"
)

// Redirects returns a redirect policy for http.Client. A request that is redirected to another host or port loses the
// header Authorization and the headers named in secret. The policy returns a *RedirectError for the tenth redirect, for
// a redirect that would change the method (such as a PUT into a GET), and for a redirect from https to http.
func Redirects(secret ...string) func(req *http.Request, via []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		switch first := via[0]; {
		case len(via) > 9:
			return &RedirectError{errors.New("more than nine redirects")}
		case req.Method != first.Method:
			return &RedirectError{fmt.Errorf("a redirect of %s to %s: only 307 and 308 keep the method", first.Method, Shown(req.URL))}
		case first.URL.Scheme == "https" && req.URL.Scheme != "https":
			return &RedirectError{errors.New("a redirect from https to http")}
		case req.URL.Host != first.URL.Host: // another port of the same host is another server
			req.Header.Del("Authorization")
			for _, name := range secret { // net/http removes only the headers that it knows as credentials
				req.Header.Del(name)
			}
		}
		return nil
	}
}

// Client returns an HTTP client with the redirect policy of Redirects. secret has the names of headers with
// credentials; a redirect to another server removes these headers.
func Client(secret ...string) *http.Client { return &http.Client{CheckRedirect: Redirects(secret...)} }
