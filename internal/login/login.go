// Package login obtains tokens from hosts by the OAuth 2.0 grants of the service login.v1: with a code that a browser
// brings back to this machine (RFC 6749 section 4.1 with PKCE, RFC 7636), or with a name and a password (section 4.3).
package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/registry"
	"golang.org/x/oauth2"
)

// Client requests tokens from the login server of a host.
type Client struct {
	Login     *registry.Login
	Transport http.RoundTripper // nil means the proxy and certificates of the environment
}

func (c Client) config() *oauth2.Config {
	return &oauth2.Config{ClientID: c.Login.Client, Scopes: c.Login.Scopes, Endpoint: oauth2.Endpoint{
		AuthURL: c.Login.Authz.String(), TokenURL: c.Login.Token.String(), AuthStyle: oauth2.AuthStyleInParams,
	}}
}

// within returns a context that contains the HTTP client for package oauth2. The client follows no redirects, because a
// redirect could send the secrets in a request to another address than the host has named.
func (c Client) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: c.Transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }})
}

// ByPassword returns a token for a name and a password.
func (c Client) ByPassword(ctx context.Context, name, password string) (string, error) {
	return token(c.config().PasswordCredentialsToken(c.within(ctx), name, password))
}

// ByCode returns a token for a code. It calls show with the address of the login page, and waits until the login server
// redirects the user's browser to a port of this machine with the code.
func (c Client) ByCode(ctx context.Context, show func(address string)) (string, error) {
	l, err := listen(c.Login.Ports)
	if err != nil {
		return "", err
	}
	config := c.config()
	config.RedirectURL = fmt.Sprintf("http://localhost:%d/login", l.Addr().(*net.TCPAddr).Port)
	state, verifier := rand.Text(), oauth2.GenerateVerifier()
	answers := make(chan url.Values, 1)
	server := &http.Server{Handler: answer(state, answers), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(l)
	// The browser must receive its page before the port is closed.
	defer server.Shutdown(context.WithoutCancel(ctx))
	show(config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier)))
	select {
	case q := <-answers:
		switch refused := q.Get("error"); {
		case q.Get("code") != "":
			return token(config.Exchange(c.within(ctx), q.Get("code"), oauth2.VerifierOption(verifier)))
		case refused == "":
			return "", errors.New("the login server sent the browser back without a code")
		default:
			return "", fmt.Errorf("the login server refused: %s", refused)
		}
	case <-ctx.Done():
		return "", download.Cause(ctx)
	}
}

// answer returns the handler for the browser's request. A valid request has the path /login and the state of this
// login. The handler sends the parameters of the first valid request, a code or an error, to answers.
func answer(state string, answers chan<- url.Values) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/login" {
			http.NotFound(w, r)
			return
		}
		if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1 {
			http.Error(w, "This page belongs to another login and was ignored. Use the address that the terminal shows.", http.StatusBadRequest)
			return
		}
		text := "The login server has answered Lethe. Close this page and return to the terminal.\n"
		if q.Get("code") == "" {
			text = "The login server returned no code. The terminal shows its answer.\n"
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, text)
		select {
		case answers <- q:
		default: // the page was reloaded, and answers has the parameters already, so drop them
		}
	})
}

// listen listens on the first free port between ports[0] and ports[1]. It returns an error if all are in use.
func listen(ports [2]int) (net.Listener, error) {
	for port := ports[0]; port <= ports[1]; port++ {
		if l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("the ports %d to %d of this machine are all in use, but the login needs one of them", ports[0], ports[1])
}

// token returns the text of a token, or converts err to an error for users. Error descriptions of a server may repeat
// secrets of the request, so the error contains only the error code.
func token(t *oauth2.Token, err error) (string, error) {
	var refused *oauth2.RetrieveError
	var unreached *url.Error
	switch {
	case errors.As(err, &refused) && refused.ErrorCode != "":
		return "", fmt.Errorf("the login server refused: %s", refused.ErrorCode)
	case errors.As(err, &refused):
		return "", fmt.Errorf("the login server answered %s", refused.Response.Status)
	case errors.As(err, &unreached):
		return "", fmt.Errorf("the login server could not be reached: %w", unreached.Err)
	case err != nil:
		return "", errors.New("the answer of the login server has no token")
	}
	return t.AccessToken, nil
}
