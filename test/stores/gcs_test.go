package stores

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/gcsstore"
	"github.com/lethe-iac/lethe/internal/state/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

// gcs is a service with one bucket, "states": the part of Google's JSON API that backends use, and the reading by the
// older one.
type gcs struct {
	sync.Mutex
	objects map[string]*gcsObject
	writes  int
}

type gcsObject struct {
	data       []byte
	generation int
	key        string // of the customer, which the service does not keep
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
	if wanted := q.Get("ifGenerationMatch"); wanted != "" && wanted != o.number() {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	switch {
	case r.Method == http.MethodPost:
		g.writes++
		g.objects[name] = &gcsObject{body, 1000 + g.writes, key}
		g.describe(w, name)
	case r.Method == http.MethodGet && !named:
		g.list(w, q.Get("prefix"))
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

func (g *gcs) about(name string) map[string]string {
	o := g.objects[name]
	return map[string]string{"kind": "storage#object", "bucket": "states", "name": name, "generation": o.number(), "metageneration": "1", "size": strconv.Itoa(len(o.data))}
}

func (g *gcs) describe(w http.ResponseWriter, name string) {
	_ = json.NewEncoder(w).Encode(g.about(name))
}

func (g *gcs) list(w http.ResponseWriter, prefix string) {
	items := []map[string]string{}
	for name := range g.objects {
		if rest, ok := strings.CutPrefix(name, prefix); ok && !strings.Contains(rest, "/") {
			items = append(items, g.about(name))
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "storage#objects", "items": items})
}

func startGCS(t *testing.T, around func(http.Handler) http.Handler) string {
	server := httptest.NewServer(around(&gcs{objects: map[string]*gcsObject{}}))
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	return server.URL
}

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
		storetest.RunCut(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
			c := &storetest.Cutter{}
			url := startGCS(t, func(h http.Handler) http.Handler {
				c.Handler = h
				return c
			})
			return opener(t, url), c
		})
	})
}
