package httpstore

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

var ctx = context.Background()

// serve starts a server, and returns its address.
func serve(t *testing.T, h http.Handler) string {
	s := httptest.NewServer(h)
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return s.URL
}

// config returns the driver's configuration for settings.
func config(t *testing.T, settings map[string]cty.Value) cty.Value {
	v, err := Driver.Schema.Coerce(cty.ObjectVal(settings))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// opener returns a function that opens the store with locks on a server.
func opener(t *testing.T, url string, env map[string]string) func() store.Store {
	return func() store.Store {
		settings := store.Settings{Getenv: func(n string) string { return env[n] }, Config: config(t, map[string]cty.Value{
			"address": cty.StringVal(url), "lock_address": cty.StringVal(url), "unlock_address": cty.StringVal(url),
			"username": cty.StringVal("u"), "retry_wait_min": cty.NumberIntVal(0), "retry_wait_max": cty.NumberIntVal(0),
		})}
		st, err := Driver.Open(ctx, settings)
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
}

var password = map[string]string{"TF_HTTP_PASSWORD": "p"}

func TestContract(t *testing.T) {
	for _, etags := range []bool{false, true} {
		storetest.Run(t, func(t *testing.T) func() store.Store {
			return opener(t, serve(t, &storetest.HTTP{User: "u", Password: "p", ETags: etags}), password)
		})
	}
}

func TestCut(t *testing.T) {
	storetest.RunInterrupted(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
		c := &storetest.Interrupter{Handler: &storetest.HTTP{User: "u", Password: "p"}}
		return opener(t, serve(t, c), password), c
	})
}

// gitlab is a server with the rules of GitLab's managed states: the lock is a resource with a separate address. A
// missing state has the status 204. A refusal has the status 409, and only the refusal of a lock names its holder.
type gitlab struct{ storetest.HTTP }

func (g *gitlab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	locking := strings.HasSuffix(r.URL.Path, "/lock")
	if r = r.Clone(r.Context()); locking {
		r.Method = map[string]string{http.MethodPost: "LOCK", http.MethodDelete: "UNLOCK"}[r.Method]
	}
	got := httptest.NewRecorder()
	g.HTTP.ServeHTTP(got, r)
	switch {
	case got.Code == http.StatusNotFound:
		w.WriteHeader(http.StatusNoContent)
		return
	case got.Code == http.StatusLocked:
		got.Code = http.StatusConflict
	}
	w.WriteHeader(got.Code)
	if got.Code != http.StatusConflict || r.Method == "LOCK" {
		_, _ = w.Write(got.Body.Bytes())
	}
}

func gitlabOpener(t *testing.T, url string) func() store.Store {
	env := map[string]string{
		"TF_HTTP_ADDRESS": url + "/state/a", "TF_HTTP_LOCK_ADDRESS": url + "/state/a/lock", "TF_HTTP_LOCK_METHOD": "POST", "TF_HTTP_UNLOCK_ADDRESS": url + "/state/a/lock", "TF_HTTP_UNLOCK_METHOD": "DELETE",
		"TF_HTTP_USERNAME": "u", "TF_HTTP_PASSWORD": "p", "TF_HTTP_RETRY_WAIT_MIN": "0", "TF_HTTP_RETRY_WAIT_MAX": "0",
	}
	return func() store.Store {
		st, err := Driver.Open(ctx, store.Settings{Getenv: func(n string) string { return env[n] }, Config: config(t, map[string]cty.Value{})})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
}

func TestGitLab(t *testing.T) {
	newServer := func() *gitlab { return &gitlab{storetest.HTTP{User: "u", Password: "p"}} }
	storetest.Run(t, func(t *testing.T) func() store.Store { return gitlabOpener(t, serve(t, newServer())) })
	t.Run("cut", func(t *testing.T) {
		storetest.RunInterrupted(t, func(t *testing.T) (func() store.Store, storetest.Breaks) {
			c := &storetest.Interrupter{Handler: newServer()}
			return gitlabOpener(t, serve(t, c)), c
		})
	})
}

// TestMutualTLS checks that client certificates and headers are sent to the server.
func TestMutualTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	client := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, client, client, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) != 1 || r.Header.Get("Private-Token") != "t" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte("{}"))
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	text := func(kind string, der []byte) cty.Value {
		return cty.StringVal(string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	}
	settings := map[string]cty.Value{
		"address": cty.StringVal(server.URL), "retry_max": cty.NumberIntVal(0), "headers": cty.MapVal(map[string]cty.Value{"Private-Token": cty.StringVal("t")}),
		"client_ca_certificate_pem": text("CERTIFICATE", server.Certificate().Raw), "client_certificate_pem": text("CERTIFICATE", der), "client_private_key_pem": text("PRIVATE KEY", private),
	}
	for _, without := range []string{"", "client_certificate_pem", "client_ca_certificate_pem", "headers"} {
		given := maps.Clone(settings)
		delete(given, without)
		if without == "client_certificate_pem" {
			delete(given, "client_private_key_pem")
		}
		st, err := Driver.Open(ctx, store.Settings{Config: config(t, given)})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := st.Get(ctx, store.Default); (err == nil) != (without == "") {
			t.Errorf("without %q: %v", without, err)
		}
	}
}

// TestFailing checks that a request is repeated after a server error, even if the server has executed the write.
func TestFailing(t *testing.T) {
	h := &storetest.HTTP{}
	fails := 1
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && fails > 0 {
			fails--
			h.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		h.ServeHTTP(w, r)
	}))
	st := opener(t, url, nil)()
	if _, err := st.Put(ctx, store.Default, []byte("1"), ""); err != nil {
		t.Fatal(err)
	}
	if want := []string{"LOCK", "GET", "POST", "UNLOCK", "GET"}; !slices.Equal(h.Requests(), want) {
		t.Errorf("%v, want %v: what was written is not written again", h.Requests(), want)
	}
	fails = 9
	if _, err := st.Put(ctx, store.Default, []byte("2"), "nonsense"); err == nil {
		t.Error("a stale state was written")
	}
	if _, err := st.Put(ctx, store.Default, []byte("2"), store.Digest([]byte("1"))); err != nil {
		t.Errorf("what was written by an attempt without an answer: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		status int
		want   string
	}{
		{http.StatusUnauthorized, "requires authentication"}, {http.StatusForbidden, "refuses these credentials"},
		{http.StatusTeapot, "unexpected HTTP response code 418"}, {http.StatusServiceUnavailable, "unexpected HTTP response code 503"},
	} {
		st := opener(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.status) })), nil)()
		_, _, err := st.Get(ctx, store.Default)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%d: %v", tt.status, err)
		}
		if _, err = st.Lock(ctx, store.Default, store.NewLockInfo("o", "1")); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("lock, %d: %v", tt.status, err)
		}
	}
}

// TestRedirect checks that headers and credentials are not sent to another host, and that a redirect does not turn a
// write into a read.
func TestRedirect(t *testing.T) {
	var got http.Header
	other := strings.Replace(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.Header })), "127.0.0.1", "localhost", 1)
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other, http.StatusFound) }))
	st, err := Driver.Open(ctx, store.Settings{Config: config(t, map[string]cty.Value{
		"address": cty.StringVal(url), "lock_address": cty.StringVal(url), "username": cty.StringVal("u"), "password": cty.StringVal("p"),
		"headers": cty.MapVal(map[string]cty.Value{"Private-Token": cty.StringVal("t")}), "retry_max": cty.NumberIntVal(0),
	})})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := st.Get(ctx, store.Default); err != nil || got == nil {
		t.Fatal(err)
	}
	if got.Get("Authorization") != "" || got.Get("Private-Token") != "" {
		t.Errorf("another host has got %v", got)
	}
	if _, err := st.Lock(ctx, store.Default, store.NewLockInfo("o", "1")); err == nil || !strings.Contains(err.Error(), "keep the method") {
		t.Errorf("LOCK was redirected: %v", err)
	}
}

func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		config map[string]cty.Value
		env    map[string]string
		want   string
	}{
		{nil, nil, `the argument "address" is required`},
		{map[string]cty.Value{"address": cty.StringVal("ftp://u:secret@x")}, nil, "must be HTTP or HTTPS"},
		{map[string]cty.Value{"address": cty.StringVal("http://u:secret@x:y")}, nil, `the value of "address" cannot be used`},
		{nil, map[string]string{"TF_HTTP_ADDRESS": "http://x", "TF_HTTP_RETRY_MAX": "many"}, "whole number"},
		{nil, map[string]string{"TF_HTTP_ADDRESS": "http://x", "TF_HTTP_SKIP_CERT_VERIFICATION": "perhaps"}, "true or false"},
		{nil, map[string]string{"TF_HTTP_ADDRESS": "http://x", "TF_HTTP_CLIENT_CERTIFICATE_PEM": "x"}, "must be set together"},
		{nil, map[string]string{"TF_HTTP_ADDRESS": "http://x", "TF_HTTP_CLIENT_CA_CERTIFICATE_PEM": "x"}, "no certificate"},
		{nil, map[string]string{"TF_HTTP_ADDRESS": "http://x"}, ""},
	} {
		_, err := Driver.Open(ctx, store.Settings{Config: config(t, tt.config), Getenv: func(n string) string { return tt.env[n] }})
		switch {
		case (err == nil) != (tt.want == ""), err != nil && !strings.Contains(err.Error(), tt.want):
			t.Errorf("%v, %v: %v, want %q", tt.config, tt.env, err, tt.want)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("a password is shown: %v", err)
		}
	}
}

// etagged is a server behind a proxy that changes ETags in answers, as compressing proxies do. The server compares
// ETags in requests with its own. It reports a missing state as an empty one.
type etagged struct {
	data   []byte
	change func(http.ResponseWriter, *http.Request, string) []byte
}

func (e *etagged) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := `"` + string(store.Digest(e.data)) + `"`
	switch had := r.Header.Get("If-Match"); {
	case r.Method == http.MethodGet:
		_, _ = w.Write(e.change(w, r, own))
	case r.Header.Get("If-None-Match") != "", had != "" && had != own:
		w.WriteHeader(http.StatusPreconditionFailed)
	case r.Method == http.MethodPost:
		e.data, _ = io.ReadAll(r.Body)
	}
}

// TestETags checks that a write succeeds despite a weak ETag, the ETag of a compressed body, an ETag changed by a
// proxy, or an empty state.
func TestETags(t *testing.T) {
	for name, change := range map[string]func(*etagged) func(http.ResponseWriter, *http.Request, string) []byte{
		"weak": func(e *etagged) func(http.ResponseWriter, *http.Request, string) []byte {
			return func(w http.ResponseWriter, _ *http.Request, own string) []byte {
				w.Header().Set("ETag", "W/"+own)
				return e.data
			}
		},
		"compressed": func(e *etagged) func(http.ResponseWriter, *http.Request, string) []byte {
			return func(w http.ResponseWriter, r *http.Request, own string) []byte {
				if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") || len(e.data) == 0 {
					w.Header().Set("ETag", own)
					return e.data
				}
				w.Header().Set("ETag", strings.TrimSuffix(own, `"`)+`-gzip"`)
				w.Header().Set("Content-Encoding", "gzip")
				var text bytes.Buffer
				z := gzip.NewWriter(&text)
				_, _ = z.Write(e.data)
				_ = z.Close()
				return text.Bytes()
			}
		},
		"changed": func(e *etagged) func(http.ResponseWriter, *http.Request, string) []byte {
			return func(w http.ResponseWriter, _ *http.Request, own string) []byte {
				w.Header().Set("ETag", strings.TrimSuffix(own, `"`)+`-x"`)
				return e.data
			}
		},
		"as it is": func(e *etagged) func(http.ResponseWriter, *http.Request, string) []byte {
			return func(w http.ResponseWriter, _ *http.Request, own string) []byte {
				w.Header().Set("ETag", own)
				return e.data
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := &etagged{}
			e.change = change(e)
			st, err := Driver.Open(ctx, store.Settings{Config: config(t, map[string]cty.Value{"address": cty.StringVal(serve(t, e))})})
			if err != nil {
				t.Fatal(err)
			}
			v := store.Version("")
			for _, text := range []string{`{"serial": 1}`, `{"serial": 2}`} {
				if v, err = st.Put(ctx, store.Default, []byte(text), v); err != nil || string(e.data) != text {
					t.Fatalf("there is %q: %v", e.data, err)
				}
			}
		})
	}
}

// TestNoUnlockAddress checks that unlocking succeeds without an unlock address: the locks of such a server end on their
// own.
func TestNoUnlockAddress(t *testing.T) {
	url := serve(t, &storetest.HTTP{User: "u", Password: "p"})
	st, err := Driver.Open(ctx, store.Settings{Config: config(t, map[string]cty.Value{"address": cty.StringVal(url), "lock_address": cty.StringVal(url), "username": cty.StringVal("u"), "password": cty.StringVal("p")})})
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := st.Lock(ctx, store.Default, store.NewLockInfo("o", "1"))
	if err == nil {
		err = unlock(ctx)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestEmptyAddress checks that each address that is set to "" is an error, although two of the addresses may be
// omitted.
func TestEmptyAddress(t *testing.T) {
	for _, name := range []string{"address", "lock_address", "unlock_address"} {
		settings := map[string]cty.Value{"address": cty.StringVal("http://127.0.0.1:1")}
		settings[name] = cty.StringVal("")
		if _, err := Driver.Open(ctx, store.Settings{Config: config(t, settings)}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPart checks that an unrequested partial answer is not accepted as the state.
func TestPart(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Range", "bytes 0-1/100")
		w.WriteHeader(http.StatusPartialContent)
		_, _ = io.WriteString(w, "{}")
	}))
	if data, _, err := opener(t, url, password)().Get(ctx, store.Default); err == nil || !strings.Contains(err.Error(), "206") {
		t.Errorf("it reads %q, %v", data, err)
	}
}
