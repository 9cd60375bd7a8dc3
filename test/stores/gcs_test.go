package stores

import (
	"context"
	"crypto"
	crand "crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/gcsstore"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/oauth2"
)

// gcs is a service with one bucket, "states". It has the part of Google's JSON API that backends use, and the older API
// for reading.
type gcs struct {
	sync.Mutex
	objects map[string]*gcsObject
	former  map[string][]*gcsObject // noncurrent generations of objects, if the bucket has versioning; nil: no versioning
	writes  int
}

type gcsObject struct {
	data       []byte
	generation int
	key        string // the customer's key for the object; the service does not store it
}

func (o *gcsObject) number() string {
	if o == nil {
		return "0"
	}
	return strconv.Itoa(o.generation)
}

func (g *gcs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.Lock()
	defer g.Unlock()
	if r.Header.Get("Authorization") != "Bearer canary-4711" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	q := r.URL.Query()
	_, name, named := strings.Cut(r.URL.Path, "/b/states/o/")
	if rest, older := strings.CutPrefix(r.URL.Path, "/states/"); older {
		name, named = rest, true
		q.Set("alt", "media")
	}
	if r.Method == http.MethodPost {
		name = q.Get("name")
		if kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); strings.HasPrefix(kind, "multipart/") {
			parts := multipart.NewReader(strings.NewReader(string(body)), params["boundary"])
			if _, err := parts.NextPart(); err != nil {
				return
			}
			content, err := parts.NextPart()
			if err != nil {
				return
			}
			body, _ = io.ReadAll(content)
		}
	}
	o, key := g.objects[name], r.Header.Get("X-Goog-Encryption-Key")
	if n := q.Get("generation"); n != "" {
		i := slices.IndexFunc(g.former[name], func(f *gcsObject) bool { return f.number() == n })
		switch {
		case i < 0:
			w.WriteHeader(http.StatusNotFound)
			return
		case r.Method == http.MethodDelete:
			g.former[name] = slices.Delete(g.former[name], i, i+1)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		o = g.former[name][i]
	}
	if wanted := q.Get("ifGenerationMatch"); wanted != "" && wanted != o.number() {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	switch {
	case r.Method == http.MethodPost:
		g.writes++
		if o != nil && g.former != nil {
			g.former[name] = append(g.former[name], o)
		}
		g.objects[name] = &gcsObject{body, 1000 + g.writes, key}
		g.describe(w, name)
	case r.Method == http.MethodGet && !named:
		g.list(w, q.Get("prefix"), q.Get("versions") == "true")
	case o == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete:
		delete(g.objects, name)
		w.WriteHeader(http.StatusNoContent)
	case q.Get("alt") == "media" && o.key != key:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error": {"code": 400, "message": "The target object is encrypted with another key, or with none."}}`)
	case q.Get("alt") == "media":
		w.Header().Set("X-Goog-Generation", o.number())
		w.Header().Set("X-Goog-Metageneration", "1")
		w.Write(o.data)
	default:
		g.describe(w, name)
	}
}

func (g *gcs) about(name string) map[string]string { return g.objects[name].about(name) }

func (o *gcsObject) about(name string) map[string]string {
	return map[string]string{"kind": "storage#object", "bucket": "states", "name": name, "generation": o.number(), "metageneration": "1", "size": strconv.Itoa(len(o.data))}
}

func (g *gcs) describe(w http.ResponseWriter, name string) {
	_ = json.NewEncoder(w).Encode(g.about(name))
}

func (g *gcs) list(w http.ResponseWriter, prefix string, versions bool) {
	items := []map[string]string{}
	for name, all := range g.former {
		for _, o := range all {
			if about := o.about(name); versions && strings.HasPrefix(name, prefix) {
				about["timeCreated"], about["timeDeleted"] = "2026-11-01T10:00:00.000Z", "2026-11-02T10:00:00.000Z"
				items = append(items, about)
			}
		}
	}
	for name := range g.objects {
		if rest, ok := strings.CutPrefix(name, prefix); ok && !strings.Contains(rest, "/") {
			items = append(items, g.about(name))
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "storage#objects", "items": items})
}

// startGCS runs an empty service behind the handler of around until the end of the test, and returns its URL.
func startGCS(t *testing.T, around func(http.Handler) http.Handler) string {
	server := httptest.NewServer(around(&gcs{objects: map[string]*gcsObject{}}))
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	return server.URL
}

// gcsAccount is a service account, and the answers of Google's services about it.
type gcsAccount struct {
	key     *rsa.PrivateKey
	bucket  http.Handler
	refuse  string // the host that refuses all requests; "": no host does
	keys    []string
	scopes  []string // the scopes of requested tokens
	granted int
}

const gcsDelegate, gcsRole = "projects/-/serviceAccounts/way@net.test", "states@net.test"

func (a *gcsAccount) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Host == a.refuse {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"error": {"code": 403, "message": "It may not."}, "error_description": "Account disabled."}`)
		return
	}
	switch r.Host {
	case "tokens.test":
		claims, err := a.claims(r.PostFormValue("assertion"))
		if err != nil || claims["iss"] != "ci@net.test" || claims["aud"] != "https://tokens.test/token" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		a.granted++
		a.scopes = append(a.scopes, claims["scope"].(string))
		token := "canary-4711"
		if strings.HasSuffix(claims["scope"].(string), "cloud-platform") {
			token = "canary-own"
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": 3600})
	case "iamcredentials.googleapis.com":
		var said struct{ Delegates, Scope []string }
		_ = json.NewDecoder(r.Body).Decode(&said)
		if r.Header.Get("Authorization") != "Bearer canary-own" || r.URL.Path != "/v1/projects/-/serviceAccounts/"+gcsRole+":generateAccessToken" || !slices.Equal(said.Delegates, []string{gcsDelegate}) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		a.scopes = append(a.scopes, said.Scope...)
		_ = json.NewEncoder(w).Encode(map[string]any{"accessToken": "canary-4711", "expireTime": time.Now().Add(time.Hour).Format(time.RFC3339)})
	default:
		if r.Method == http.MethodPost {
			a.keys = append(a.keys, r.URL.Query().Get("kmsKeyName"))
		}
		a.bucket.ServeHTTP(w, r)
	}
}

// RoundTrip answers a request to one of Google's hosts, without a network (http.RoundTripper).
func (a *gcsAccount) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Host == "" {
		r = r.Clone(r.Context())
		r.Host = r.URL.Host
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w.Result(), nil
}

// claims returns the claims of an assertion. An assertion that the account has not signed is an error.
func (a *gcsAccount) claims(assertion string) (claims map[string]any, err error) {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return nil, errors.New("it is no assertion")
	}
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(&a.key.PublicKey, crypto.SHA256, sum[:], signature); err != nil {
		return nil, err
	}
	text, _ := base64.RawURLEncoding.DecodeString(parts[1])
	return claims, json.Unmarshal(text, &claims)
}

// TestGCSCredentials uses the file of a service account directly, in the role of another account, and with a key of
// KMS. No message contains a part of the file, or a token.
func TestGCSCredentials(t *testing.T) {
	key, err := rsa.GenerateKey(crand.Reader, 2048)
	check(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	account := func(private string) string {
		text, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "ci@net.test", "private_key_id": "canary-id", "private_key": private, "token_uri": "https://tokens.test/token"})
		check(t, err)
		return string(text)
	}
	role := map[string]cty.Value{"impersonate_service_account": cty.StringVal(gcsRole), "impersonate_service_account_delegates": cty.ListVal([]cty.Value{cty.StringVal("way@net.test")})}
	const storage, platform = scopeOfGoogle + "devstorage.read_write", scopeOfGoogle + "cloud-platform"
	for name, tt := range map[string]struct {
		file   string
		inline bool
		more   map[string]cty.Value
		refuse string
		scopes []string
		says   string
	}{
		"file":                {file: account(private), scopes: []string{storage}},
		"text":                {file: account(private), inline: true, scopes: []string{storage}},
		"role":                {file: account(private), more: role, scopes: []string{platform, storage}},
		"refused":             {file: account(private), refuse: "tokens.test", says: "Account disabled."},
		"role refused":        {file: account(private), more: role, refuse: "iamcredentials.googleapis.com", says: "generateAccessToken: 403 Forbidden: It may not."},
		"key of another form": {file: account("canary-4711"), says: "private key"},
		"another kind":        {file: `{"type": "other", "private_key": "canary-4711"}`, says: "the credentials cannot be used"},
		"no JSON":             {file: "canary-4711", says: "must be a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			check(t, os.WriteFile(filepath.Join(dir, "account.json"), []byte(tt.file), 0o600))
			attrs := map[string]cty.Value{"bucket": cty.StringVal("states"), "credentials": cty.StringVal("account.json"), "kms_encryption_key": cty.StringVal("projects/p/key")}
			if tt.inline {
				attrs["credentials"] = cty.StringVal(tt.file)
			}
			maps.Copy(attrs, tt.more)
			config, err := gcsstore.Driver.Schema.Coerce(cty.ObjectVal(attrs))
			check(t, err)
			a := &gcsAccount{key: key, bucket: &gcs{objects: map[string]*gcsObject{}}, refuse: tt.refuse}
			over := context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: a})
			st, err := gcsstore.Driver.Open(over, store.Settings{Config: config, Schema: gcsstore.Driver.Schema, Getenv: func(string) string { return "" }, Dir: dir})
			check(t, err)
			unlock, err := st.Lock(ctx, "w", store.NewLockInfo("o", "1"))
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "PRIVATE") || strings.Contains(err.Error(), "not known") {
					t.Errorf("it says %v", err)
				}
				return
			}
			check(t, err)
			_, err = st.Put(ctx, "w", []byte("{}"), "")
			check(t, err)
			check(t, unlock(ctx))
			if !slices.Equal(a.scopes, tt.scopes) || a.granted != 1 || !slices.Equal(a.keys, []string{"", "projects/p/key"}) {
				t.Errorf("tokens for %v, %d of the account, keys %q", a.scopes, a.granted, a.keys)
			}
		})
	}
}

const scopeOfGoogle = "https://www.googleapis.com/auth/"

func TestGCS(t *testing.T) {
	opener := func(t *testing.T, url string) func() store.Store {
		return func() store.Store {
			config, err := gcsstore.Driver.Schema.Coerce(cty.ObjectVal(map[string]cty.Value{
				"bucket": cty.StringVal("states"), "prefix": cty.StringVal("net/a"), "access_token": cty.StringVal("canary-4711"),
				"storage_custom_endpoint": cty.StringVal(url + "/storage/v1/"),
			}))
			check(t, err)
			st, err := gcsstore.Driver.Open(ctx, store.Settings{Config: config, Getenv: os.Getenv})
			check(t, err)
			return st
		}
	}
	t.Run("contract", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) func() store.Store { return opener(t, startGCS(t, plain)) })
	})
	t.Run("a key of the customer", func(t *testing.T) {
		t.Setenv("GOOGLE_ENCRYPTION_KEY", base64.StdEncoding.EncodeToString([]byte("canary-4711-canary-4711-canary-4")))
		storetest.Run(t, func(t *testing.T) func() store.Store { return opener(t, startGCS(t, plain)) })
	})
	t.Run("cut", func(t *testing.T) {
		storetest.RunInterrupted(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
			c := &storetest.Interrupter{}
			url := startGCS(t, func(h http.Handler) http.Handler {
				c.Handler = h
				return c
			})
			return opener(t, url), c
		})
	})
}

// TestGCSUnlock checks that force-unlock accepts the lock ID that Terraform uses.
func TestGCSUnlock(t *testing.T) {
	l, tf := pair(t, place{"terraform {\n  backend \"gcs\" {\n    bucket = \"states\"\n  }\n}\n", []string{"GOOGLE_OAUTH_ACCESS_TOKEN=canary-4711", "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT=" + startGCS(t, plain) + "/storage/v1/"}})
	for _, holder := range []*directory{l, tf} {
		cmd, done := holder.holding("x")
		check(t, cmd.Process.Kill())
		_ = cmd.Wait()
		done()
		_, id, _ := strings.Cut(tf.run(1, "plan", "-no-color", "-var", "v=x"), "  ID: ")
		id, _, _ = strings.Cut(strings.TrimSpace(id), "\n")
		l.run(0, "force-unlock", "-force", id)
		l.run(0, "plan", "-var", "v=x")
	}
}
