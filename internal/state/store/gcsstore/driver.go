package gcsstore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// Driver is the backend "gcs". What the block leaves out may come from the environment, and credentials from where
// Google's tools look.
var Driver = store.Driver{Name: "gcs", Schema: store.Schema([]*schema.Attr{
	{Name: "bucket", Type: cty.String, Optional: true, Description: "The bucket."},
	{Name: "prefix", Type: cty.String, Optional: true, Description: "The directory in it."},
	{Name: "credentials", Type: cty.String, Optional: true, Sensitive: true, Description: "The credentials as JSON, or the path of their file. GOOGLE_BACKEND_CREDENTIALS, GOOGLE_CREDENTIALS."},
	{Name: "access_token", Type: cty.String, Optional: true, Sensitive: true, Description: "A token instead of credentials. GOOGLE_OAUTH_ACCESS_TOKEN."},
	{Name: "impersonate_service_account", Type: cty.String, Optional: true, Description: "The service account to act as. GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT, GOOGLE_IMPERSONATE_SERVICE_ACCOUNT."},
	{Name: "impersonate_service_account_delegates", Type: cty.List(cty.String), Optional: true, Description: "The accounts on the way to it."},
	{Name: "encryption_key", Type: cty.String, Optional: true, Sensitive: true, Description: "A key of 32 bytes in base64 that the service does not keep. GOOGLE_ENCRYPTION_KEY."},
	{Name: "kms_encryption_key", Type: cty.String, Optional: true, Description: "The KMS key. GOOGLE_KMS_ENCRYPTION_KEY."},
	{Name: "storage_custom_endpoint", Type: cty.String, Optional: true, Description: "The address of the service, if it is another. GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT, GOOGLE_STORAGE_CUSTOM_ENDPOINT."},
	{Name: "universe_domain", Type: cty.String, Optional: true, Description: "The domain of the cloud: googleapis.com if not set. GOOGLE_CLOUD_UNIVERSE_DOMAIN."},
}...), Open: open}

const scope = "https://www.googleapis.com/auth/devstorage.read_write"

func open(ctx context.Context, s store.Settings) (store.Store, error) {
	text := func(name string, env ...string) string {
		t, _ := s.Text(name, env...)
		return t
	}
	o := Options{Bucket: text("bucket"), Prefix: strings.TrimLeft(text("prefix"), "/"), KMSKey: text("kms_encryption_key", "GOOGLE_KMS_ENCRYPTION_KEY"), Header: http.Header{}}
	if o.Bucket == "" {
		return nil, errors.New(`"bucket" is not set: not in the backend block, and not with -backend-config`)
	}
	if s.Agent != "" {
		o.Header.Set("User-Agent", s.Agent)
	}
	if key := text("encryption_key", "GOOGLE_ENCRYPTION_KEY"); key != "" {
		raw, err := base64.StdEncoding.DecodeString(key)
		if err != nil || len(raw) != 32 {
			return nil, errors.New(`"encryption_key" is no key of 32 bytes in base64`)
		}
		if o.KMSKey != "" {
			return nil, errors.New(`only one of "encryption_key" and "kms_encryption_key" can be set`)
		}
		sum := sha256.Sum256(raw)
		o.Header.Set("X-Goog-Encryption-Algorithm", "AES256")
		o.Header.Set("X-Goog-Encryption-Key", key)
		o.Header.Set("X-Goog-Encryption-Key-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
	}
	universe := cmp.Or(text("universe_domain", "GOOGLE_CLOUD_UNIVERSE_DOMAIN"), "googleapis.com")
	at := cmp.Or(text("storage_custom_endpoint", "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT", "GOOGLE_STORAGE_CUSTOM_ENDPOINT"), "https://storage."+universe)
	var err error
	if o.Endpoint, err = url.Parse(at); err != nil || o.Endpoint.Host == "" {
		return nil, errors.New(`"storage_custom_endpoint" is no address`)
	}
	// It may name the version of the API, which the names of requests have already.
	o.Endpoint.Path = strings.TrimSuffix(strings.TrimSuffix(o.Endpoint.Path, "/"), "/storage/v1")
	tokens := &tokens{ctx: ctx, credentials: text("credentials", "GOOGLE_BACKEND_CREDENTIALS", "GOOGLE_CREDENTIALS"), dir: s.Dir, universe: universe}
	tokens.access = text("access_token", "GOOGLE_OAUTH_ACCESS_TOKEN")
	tokens.account = text("impersonate_service_account", "GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT", "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT")
	tokens.delegates = s.List("impersonate_service_account_delegates")
	o.Client = oauth2.NewClient(ctx, oauth2.ReuseTokenSource(nil, tokens))
	return store.Careful(New(o), store.Tries{Again: 5, Shortest: 250 * time.Millisecond, Longest: 20 * time.Second}), nil
}

// tokens finds credentials when they are first needed.
type tokens struct {
	ctx                                         context.Context
	credentials, access, account, dir, universe string
	delegates                                   []string
}

// Token implements oauth2.TokenSource.
func (t *tokens) Token() (*oauth2.Token, error) {
	source, err := t.source()
	if err != nil {
		return nil, err
	}
	if t.account == "" {
		return source.Token()
	}
	return t.impersonate(source)
}

// source is that of the user's own credentials.
func (t *tokens) source() (oauth2.TokenSource, error) {
	scopes := []string{scope}
	if t.account != "" {
		scopes = []string{"https://www.googleapis.com/auth/cloud-platform"}
	}
	if t.access != "" {
		return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: t.access}), nil
	}
	if t.credentials == "" {
		found, err := google.FindDefaultCredentials(t.ctx, scopes...)
		if err != nil {
			return nil, err
		}
		return found.TokenSource, nil
	}
	text := []byte(t.credentials)
	if !json.Valid(text) {
		path := t.credentials
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			home, _ := os.UserHomeDir()
			path = filepath.Join(home, rest)
		} else if !filepath.IsAbs(path) {
			path = filepath.Join(t.dir, path)
		}
		var err error
		if text, err = os.ReadFile(path); err != nil {
			return nil, errors.New(`the setting "credentials" is no JSON, and no file that can be read`)
		}
	}
	var kind struct{ Type google.CredentialsType }
	if err := json.Unmarshal(text, &kind); err != nil {
		return nil, errors.New("the credentials are no JSON object")
	}
	// They are the user's own, who may name any kind.
	found, err := google.CredentialsFromJSONWithType(t.ctx, text, kind.Type, scopes...)
	if err != nil {
		return nil, fmt.Errorf("the credentials cannot be used: %w", err)
	}
	return found.TokenSource, nil
}

// impersonate asks for a token of another account.
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
	api := store.API{Client: oauth2.NewClient(t.ctx, source), Said: said}
	if err := api.JSON(t.ctx, http.MethodPost, to, nil, map[string]any{"delegates": delegates, "scope": []string{scope}, "lifetime": "3600s"}, &out); err != nil {
		return nil, fmt.Errorf("no token of %s: %w", t.account, err)
	}
	return &oauth2.Token{AccessToken: out.AccessToken, Expiry: out.ExpireTime}, nil
}
