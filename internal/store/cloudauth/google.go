package cloudauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/lethe-iac/lethe/internal/bucket"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// GoogleAttrs returns the schema attributes for a client of Google Cloud services: the given attributes, and the
// settings for credentials.
func GoogleAttrs(own ...*schema.Attr) []*schema.Attr {
	return append(own,
		store.SecretAttr("credentials", "The credentials as JSON, or the path of their file. GOOGLE_BACKEND_CREDENTIALS, GOOGLE_CREDENTIALS."),
		store.SecretAttr("access_token", "A token instead of credentials. GOOGLE_OAUTH_ACCESS_TOKEN."),
		store.Attr("impersonate_service_account", cty.String, "The service account to act as. GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT, GOOGLE_IMPERSONATE_SERVICE_ACCOUNT."),
		store.Attr("impersonate_service_account_delegates", cty.List(cty.String), "The accounts between the credentials and the account in impersonate_service_account."),
		store.Attr("universe_domain", cty.String, "The domain of the cloud: googleapis.com if not set. GOOGLE_CLOUD_UNIVERSE_DOMAIN."),
	)
}

// GoogleDomain returns the domain of the cloud's services: googleapis.com if the settings select no other.
func GoogleDomain(s store.Settings) string {
	domain, _ := s.Text("universe_domain", "GOOGLE_CLOUD_UNIVERSE_DOMAIN")
	return cmp.Or(domain, "googleapis.com")
}

// Google returns a source of tokens for the identity in the settings of GoogleAttrs. scope is the OAuth scope of the
// tokens. Settings that are not set come from the environment and from the credentials of Google's tools.
func Google(ctx context.Context, s store.Settings, scope string) oauth2.TokenSource {
	text := func(name string, env ...string) string {
		t, _ := s.Text(name, env...)
		return t
	}
	getenv := s.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	return oauth2.ReuseTokenSource(nil, &tokens{
		getenv: getenv, payer: bucket.QuotaProject(getenv, nil),
		ctx: context.WithoutCancel(ctx), scope: scope, file: s.File, universe: GoogleDomain(s),
		credentials: text("credentials", "GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS"),
		access:      text("access_token", "GOOGLE_OAUTH_ACCESS_TOKEN"),
		account:     text("impersonate_service_account", "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT", "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT"),
		delegates:   s.List("impersonate_service_account_delegates"),
	})
}

// ErrorMessage returns the message in a refusal of Google Cloud or Azure.
func ErrorMessage(text []byte) string {
	var refusal struct{ Error struct{ Message string } }
	_ = json.Unmarshal(text, &refusal)
	return refusal.Error.Message
}

// tokens is an oauth2.TokenSource that reads its credentials when the first token is needed.
type tokens struct {
	ctx                                           context.Context // the context of the store, not of one request, because tokens are also needed after an interrupt
	credentials, access, account, universe, scope string
	delegates                                     []string
	file, getenv                                  func(string) string // file resolves a path in the settings
	payer                                         string              // the project to which requests are billed, or ""
	sent                                          atomic.Bool         // the token source may have sent a request
}

// Token implements oauth2.TokenSource. It returns a *store.UnansweredError if a later attempt may succeed.
func (t *tokens) Token() (*oauth2.Token, error) {
	t.sent.Store(false)
	source, err := t.source()
	if err != nil {
		return nil, err
	}
	var token *oauth2.Token
	if t.account == "" {
		token, err = source.Token()
	} else {
		token, err = t.impersonate(source)
	}
	var refused *oauth2.RetrieveError
	var unanswered *store.UnansweredError // set if a request for impersonation got no answer
	switch {
	case err == nil && t.payer != "":
		return token.WithExtra(map[string]any{bucket.QuotaHeader: t.payer}), nil
	case err == nil:
		return token, nil
	case errors.As(err, &refused) && !later(refused), store.Refused(err, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound):
		return nil, err
	case !t.sent.Load() && !errors.As(err, &unanswered): // no request was sent: the credentials themselves cannot be used, such as a key in an unknown form
		return nil, err
	}
	noAnswer := &store.UnansweredError{Err: err, Unsent: true}
	if refused != nil {
		noAnswer.After = store.RetryAfter(refused.Response.Header)
	}
	return nil, noAnswer
}

// recording is an HTTP transport that records whether a request was sent. The packages of Google return the same kind
// of error for a failed connection and for a key that cannot be read, so the error alone does not tell.
type recording struct {
	http.RoundTripper
	sent *atomic.Bool
}

func (r recording) RoundTrip(req *http.Request) (*http.Response, error) {
	r.sent.Store(true)
	return r.RoundTripper.RoundTrip(req)
}

// recorded returns t.ctx with an HTTP client for package oauth2 that records its requests in t.sent.
func (t *tokens) recorded() context.Context {
	client := &http.Client{Transport: recording{http.DefaultTransport, &t.sent}}
	if base, ok := t.ctx.Value(oauth2.HTTPClient).(*http.Client); ok && base.Transport != nil {
		client.Transport = recording{base.Transport, &t.sent}
	}
	return context.WithValue(t.ctx, oauth2.HTTPClient, client)
}

// later reports whether a refused request for a token may succeed later: the status is 5xx, 429 or 408, or the service
// names a temporary error.
func later(refused *oauth2.RetrieveError) bool {
	status := refused.Response.StatusCode
	return status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || refused.ErrorCode == "temporarily_unavailable"
}

// TokenWithin returns a token of a source. If ctx ends first, it returns a *store.UnansweredError and leaves the
// request running.
func TokenWithin(ctx context.Context, tokens oauth2.TokenSource) (*oauth2.Token, error) {
	type answer struct {
		token *oauth2.Token
		err   error
	}
	answered := make(chan answer, 1)
	go func() {
		token, err := tokens.Token()
		answered <- answer{token, err}
	}()
	select {
	case a := <-answered:
		return a.token, a.err
	case <-ctx.Done():
		return nil, &store.UnansweredError{Err: ctx.Err(), Unsent: true}
	}
}

// GoogleClient returns an HTTP client with the redirect policy of store.Client: redirects to other servers lose the
// credentials. secret has the names of headers with credentials. If ctx has an HTTP client for package oauth2, its
// transport is used.
func GoogleClient(ctx context.Context, secret ...string) *http.Client {
	c := store.Client(secret...)
	if base, ok := ctx.Value(oauth2.HTTPClient).(*http.Client); ok {
		c.Transport = base.Transport
	}
	return c
}

// Signed returns a function for store.API.Sign that adds a token to requests, or nothing if tokens is nil. If no token
// can be obtained, its error tells that the request was not sent. The HTTP client of package oauth2 is not used,
// because it does not tell that and adds the token to redirected requests, too.
func Signed(tokens oauth2.TokenSource) func(*http.Request, []byte) error {
	return func(req *http.Request, _ []byte) error {
		if tokens == nil {
			return nil
		}
		token, err := TokenWithin(req.Context(), tokens)
		if err != nil {
			return err
		}
		token.SetAuthHeader(req)
		if payer, _ := token.Extra(bucket.QuotaHeader).(string); payer != "" {
			req.Header.Set(bucket.QuotaHeader, payer)
		}
		return nil
	}
}

// source returns the token source of the user's own credentials: the access token in the settings, else the credentials
// in the settings, else the default credentials of Google's tools.
func (t *tokens) source() (oauth2.TokenSource, error) {
	scopes := []string{t.scope}
	if t.account != "" {
		scopes = []string{"https://www.googleapis.com/auth/cloud-platform"}
	}
	if t.access != "" {
		return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: t.access}), nil
	}
	if t.credentials == "" {
		found, err := google.FindDefaultCredentials(t.recorded(), scopes...)
		if err != nil {
			return nil, err
		}
		t.bill(found.JSON)
		t.sent.Store(found.JSON == nil) // without JSON, each token comes from the metadata service of the machine
		return found.TokenSource, nil
	}
	text := []byte(t.credentials)
	if !json.Valid(text) {
		var err error
		if text, err = os.ReadFile(t.file(t.credentials)); err != nil {
			return nil, errors.New(`the string provided in "credentials" is neither valid JSON nor the path of a file that can be read`)
		}
	}
	var kind struct{ Type google.CredentialsType }
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, errors.New(`the string provided in "credentials" must be a JSON object, or the path of a file that contains one`)
	}
	// credentials may have any type, because they come from the user
	found, err := google.CredentialsFromJSONWithType(t.recorded(), text, kind.Type, scopes...)
	if err != nil {
		return nil, fmt.Errorf("the credentials cannot be used: %w", err)
	}
	t.bill(text)
	return found.TokenSource, nil
}

// bill sets the project to which requests are billed, unless another account is impersonated: its requests use the
// environment alone, as in Google's libraries.
func (t *tokens) bill(credentials []byte) {
	if t.account == "" {
		t.payer = bucket.QuotaProject(t.getenv, credentials)
	}
}

// impersonate requests a token of another account.
func (t *tokens) impersonate(source oauth2.TokenSource) (*oauth2.Token, error) {
	delegates := []string{}
	for _, d := range t.delegates {
		delegates = append(delegates, "projects/-/serviceAccounts/"+d)
	}
	to, err := url.Parse("https://iamcredentials." + t.universe + "/v1/projects/-/serviceAccounts/" + url.PathEscape(t.account) + ":generateAccessToken")
	if err != nil {
		return nil, err
	}
	var out struct {
		AccessToken string
		ExpireTime  time.Time
	}
	api := store.API{Client: GoogleClient(t.ctx), Sign: Signed(source), ErrorMessage: ErrorMessage}
	if err := api.JSON(t.ctx, http.MethodPost, to, nil, map[string]any{"delegates": delegates, "scope": []string{t.scope}, "lifetime": "3600s"}, &out); err != nil {
		return nil, fmt.Errorf("no token of %s: %w", t.account, err)
	}
	return &oauth2.Token{AccessToken: out.AccessToken, Expiry: out.ExpireTime}, nil
}
