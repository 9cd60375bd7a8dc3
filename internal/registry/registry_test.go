package registry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/apparentlymart/go-versions/versions"
	"github.com/hashicorp/go-version"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/registry/registrytest"
)

const platform = "linux_amd64"

var v1 = versions.MustParseVersion("1.0.0")

// setup returns a registry with one version of a provider.
func setup(t *testing.T) (*registrytest.Server, *registry.Registry, addr.Provider) {
	s := registrytest.New(t)
	serve(t, s)
	return s, &registry.Registry{Client: &download.Client{Transport: s.HTTP.Transport}}, addr.Provider{Host: s.Host, Namespace: "acme", Type: "demo"}
}

func serve(t *testing.T, s *registrytest.Server) {
	pack := registrytest.Zip(map[string]string{"terraform-provider-demo_v1.0.0": "#!/bin/sh\n"})
	s.Provider(t, "acme/demo", "1.0.0", map[string][]byte{platform: pack, "darwin_arm64": []byte("PK")})
}

func TestProvider(t *testing.T) {
	s, r, p := setup(t)
	list, _, err := r.Providers(t.Context(), p)
	if err != nil || len(list) != 1 || list[0].Version != v1 || !slices.Equal(list[0].Platforms, []string{"darwin_arm64", platform}) || !slices.Equal(list[0].Protocols, []string{"6.0"}) {
		t.Fatalf("%v: %+v", err, list)
	}
	got, err := r.Provider(t.Context(), p, v1, platform)
	if err != nil {
		t.Fatal(err)
	}
	if got.Key != s.Key() || !got.Keys || len(got.Hashes) != 2 || !slices.Contains(got.Hashes, "zh:"+got.Sum) || got.URL.Host != s.Host {
		t.Errorf("%+v", got)
	}
	if _, _, err := r.Providers(t.Context(), addr.Provider{Host: s.Host, Namespace: "acme", Type: "other"}); !errors.Is(err, registry.ErrNotFound) {
		t.Error(err)
	}
	n := 0
	for _, line := range s.Requests() {
		if strings.Contains(line, ".well-known") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d discoveries", n)
	}
}

func TestNoKeys(t *testing.T) {
	s, r, p := setup(t)
	s.Keys()
	serve(t, s)
	if got, err := r.Provider(t.Context(), p, v1, platform); err != nil || got.Key != "" || got.Keys {
		t.Errorf("%v: %+v", err, got)
	}
	r.Signed = true
	if got, err := r.Provider(t.Context(), p, v1, platform); err == nil || !strings.Contains(err.Error(), "names no signing key") {
		t.Errorf("%v: %+v", err, got)
	}
}

// TestExpiredKey checks that a key that has expired after the signature is accepted.
func TestExpiredKey(t *testing.T) {
	s, r, p := setup(t)
	s.Sign(t, time.Now().AddDate(-2, 0, 0), 24*time.Hour)
	serve(t, s)
	if got, err := r.Provider(t.Context(), p, v1, platform); err != nil || got.Key != s.Key() {
		t.Errorf("%v: %+v", err, got)
	}
	r.Unexpired = true
	if got, err := r.Provider(t.Context(), p, v1, platform); err == nil || !strings.Contains(err.Error(), "has expired") {
		t.Errorf("%v: %+v", err, got)
	}
}

// TestListOfChecksums checks that a list of checksums may contain other lines, and that the first checksum of a file counts.
func TestListOfChecksums(t *testing.T) {
	s, r, p := setup(t)
	s.Keys()
	serve(t, s)
	want, err := r.Provider(t.Context(), p, v1, platform)
	if err != nil {
		t.Fatal(err)
	}
	const name = "terraform-provider-demo_1.0.0_linux_amd64.zip"
	s.Put("/files/acme/demo/1.0.0/SHA256SUMS", []byte("# checksums of release 1\n\n"+want.Sum+" *"+name+"\r\n"+strings.Repeat("b", 64)+"  "+name))
	if got, err := r.Provider(t.Context(), p, v1, platform); err != nil || !slices.Equal(got.Hashes, []string{"zh:" + want.Sum}) {
		t.Errorf("%v: %+v", err, got)
	}
}

// TestUntrue checks that false answers of a registry, or of an attacker between the registry and the user, are refused.
func TestUntrue(t *testing.T) {
	const files = "/files/acme/demo/1.0.0/"
	other, err := openpgp.NewEntity("other", "", "other@example.test", nil)
	if err != nil {
		t.Fatal(err)
	}
	armored := func(e *openpgp.Entity) string {
		var b bytes.Buffer
		w, _ := armor.Encode(&b, openpgp.PublicKeyType, nil)
		e.Serialize(w)
		w.Close()
		return b.String()
	}
	for _, x := range []struct {
		name   string
		change func(s *registrytest.Server)
		want   string
	}{
		{"another key", func(s *registrytest.Server) { s.Keys(armored(other)); serve(t, s) }, "no key of the registry signed"},
		{"broken key", func(s *registrytest.Server) { s.Keys("key"); serve(t, s) }, "cannot be read"},
		{"other checksums", func(s *registrytest.Server) {
			s.Put(files+"SHA256SUMS", []byte(strings.Repeat("a", 64)+"  terraform-provider-demo_1.0.0_linux_amd64.zip\n"))
		}, "list of checksums is not valid"},
		{"other checksums, no keys", func(s *registrytest.Server) {
			s.Keys()
			serve(t, s)
			s.Put(files+"SHA256SUMS", []byte(strings.Repeat("a", 64)+"  terraform-provider-demo_1.0.0_linux_amd64.zip\n"))
		}, "its own list of checksums has"},
		{"another platform", func(s *registrytest.Server) {
			s.Put("/v1/providers/acme/demo/1.0.0/download/linux/amd64", []byte(`{"os": "linux", "arch": "arm64"}`))
		}, "a package for linux_arm64, but was asked for linux_amd64"},
		{"no signature", func(s *registrytest.Server) { s.Put(files+"SHA256SUMS.sig", nil) }, "no key of the registry signed"},
		{"signature is gone", func(s *registrytest.Server) {
			s.Fault(files+"SHA256SUMS.sig", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) })
		}, "404"},
		{"not JSON", func(s *registrytest.Server) {
			s.Put("/v1/providers/acme/demo/1.0.0/download/linux/amd64", []byte("<html>"))
		}, "cannot be read: invalid character"},
		{"no addresses", func(s *registrytest.Server) {
			s.Put("/v1/providers/acme/demo/1.0.0/download/linux/amd64", []byte(`{}`))
		}, `lacks the address "download_url"`},
		{"no address of a signature", func(s *registrytest.Server) {
			s.Put("/v1/providers/acme/demo/1.0.0/download/linux/amd64", []byte(`{"download_url": "/x", "shasums_url": "/files/acme/demo/1.0.0/SHA256SUMS", "signing_keys": {"gpg_public_keys": [{"ascii_armor": "x"}]}}`))
		}, `lacks the address "shasums_signature_url"`},
		{"other JSON", func(s *registrytest.Server) { s.Put("/.well-known/terraform.json", []byte(`[1]`)) }, "the array at byte 1 is not the kind of JSON value that belongs there"},
		{"a package over http", func(s *registrytest.Server) {
			s.Put("/v1/providers/acme/demo/1.0.0/download/linux/amd64", []byte(`{"download_url":"http://example.com/x"}`))
		}, "not protected"},
		{"a service over http", func(s *registrytest.Server) {
			s.Put("/.well-known/terraform.json", []byte(`{"providers.v1":"http://example.com/"}`))
		}, "without https"},
		{"a service with a password", func(s *registrytest.Server) {
			s.Put("/.well-known/terraform.json", []byte(`{"providers.v1":"https://canary:canary@`+s.Host+`/v1/providers/"}`))
		}, "at an address with a user name"},
		{"a registry that is null", func(s *registrytest.Server) {
			s.Put("/.well-known/terraform.json", []byte(`{"providers.v1":null}`))
		}, "does not offer a provider registry"},
		{"no registry", func(s *registrytest.Server) { s.Put("/.well-known/terraform.json", []byte(`{}`)) }, "does not offer a provider registry"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s, r, p := setup(t)
			x.change(s)
			if got, err := r.Provider(t.Context(), p, v1, platform); err == nil || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%v: %+v", err, got)
			}
		})
	}
}

func TestHostBlock(t *testing.T) {
	s, r, p := setup(t)
	r.Hosts = map[string]map[string]string{"registry.example.com": {"providers.v1": "https://" + s.Host + "/v1/providers"}}
	p.Host = "registry.example.com"
	if list, _, err := r.Providers(t.Context(), p); err != nil || len(list) != 1 {
		t.Errorf("%v: %v", err, list)
	}
	for _, tt := range []struct {
		code  int
		token string
		want  string
	}{
		{401, "", "no credentials for registry.example.com are configured. To get a token, run: lethe login registry.example.com"},
		{403, "", "no credentials for registry.example.com are configured"},
		{401, "Bearer canary", "it rejected the credentials for registry.example.com, which may have expired"},
		{403, "Bearer canary", "the credentials for registry.example.com do not permit this"},
	} {
		s.Fault("/v1/providers/"+p.Namespace+"/"+p.Type+"/versions", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.code) })
		r.Client.Authorize = func(_ context.Context, r *http.Request) error {
			if tt.token != "" {
				r.Header.Set("Authorization", tt.token)
			}
			return nil
		}
		if _, _, err := r.Providers(t.Context(), p); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%d, %q: %v", tt.code, tt.token, err)
		}
	}
}

func TestMirror(t *testing.T) {
	s, r, p := setup(t)
	u, _ := registry.MirrorURL("https://" + s.Host + "/mirror")
	m := registry.Mirror{Registry: r, URL: u}
	list, err := m.Providers(t.Context(), p)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v: %v", err, list)
	}
	got, err := m.Provider(t.Context(), p, v1, platform)
	if err != nil || got.Sum == "" || len(got.Hashes) != 1 {
		t.Errorf("%v: %+v", err, got)
	}
	m.Trusted = true
	if got, err := m.Provider(t.Context(), p, v1, platform); err != nil || len(got.Hashes) != 2 || !got.Trusted {
		t.Errorf("%v: %+v", err, got)
	}
	m.Trusted = false
	if _, err := m.Provider(t.Context(), p, v1, "plan9_386"); err == nil {
		t.Error("a package for no platform")
	}
	if _, err := registry.MirrorURL("http://example.com/"); err == nil {
		t.Error("http is accepted")
	}
}

// TestMirrorRequestsUseAllCredentials checks that requests to a mirror are requests to a service, for which a
// credentials helper is asked.
func TestMirrorRequestsUseAllCredentials(t *testing.T) {
	s, r, p := setup(t)
	u, _ := registry.MirrorURL("https://" + s.Host + "/mirror")
	m := registry.Mirror{Registry: r, URL: u}
	asked := 0
	r.Client.Authorize = func(ctx context.Context, r *http.Request) error {
		if asked++; !download.IsService(ctx, r.URL.Host) {
			t.Errorf("%s: no service", r.URL)
		}
		return nil
	}
	_, err := m.Providers(t.Context(), p)
	_, err1 := m.Provider(t.Context(), p, v1, platform)
	if err != nil || err1 != nil || asked != 2 {
		t.Error(err, err1, asked)
	}
}

func TestModule(t *testing.T) {
	s, r, _ := setup(t)
	m := registry.Module{Host: s.Host, Namespace: "acme", Name: "net", System: "test"}
	s.Module("acme/net/test", "0.9.0", "/files/m.zip")
	s.Module("acme/net/test", "1.0.0", "git::https://example.com/x.git?ref=v1")
	list, err := r.Modules(t.Context(), m)
	if err != nil || len(list) != 2 {
		t.Fatalf("%v: %v", err, list)
	}
	for v, want := range map[string]string{"0.9.0": "https://" + s.Host + "/files/m.zip", "1.0.0": "git::https://example.com/x.git?ref=v1"} {
		if got, protected, err := r.Module(t.Context(), m, version.Must(version.NewVersion(v))); err != nil || got != want || !protected {
			t.Errorf("%v: %s", err, got)
		}
	}
	m.Name = "none"
	if _, err := r.Modules(t.Context(), m); !errors.Is(err, registry.ErrNotFound) {
		t.Error(err)
	}
}

func FuzzDocuments(f *testing.F) {
	f.Add([]byte(`{"versions":[{"version":"1.0.0","protocols":["5.0"],"platforms":[{"os":"linux","arch":"amd64"}]}]}`))
	f.Add([]byte(`{"download_url":"/x","shasum":"00","shasums_url":"/s","shasums_signature_url":"/t","filename":"f"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &registry.Registry{Hosts: map[string]map[string]string{"h": {"providers.v1": "/p/", "modules.v1": "/m/"}}, Client: &download.Client{Transport: answers(text)}}
		p := addr.Provider{Host: "h", Namespace: "n", Type: "t"}
		_, _, _ = r.Providers(context.Background(), p)
		_, _ = r.Provider(context.Background(), p, v1, platform)
		_, _ = r.Modules(context.Background(), registry.Module{Host: "h"})
	})
}

// answers is a transport that answers all requests with the same text.
type answers []byte

func (s answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(bytes.NewReader(s)), Header: http.Header{}}, nil
}

// TestCredentialsOfService checks the credentials for services on another host. A service that the host names, or that
// the user chose in the CLI configuration, receives the credentials of the host. The chosen service may use http. No
// other host receives them.
func TestCredentialsOfService(t *testing.T) {
	s := registrytest.New(t)
	var got []string
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization"))
		if strings.HasSuffix(r.URL.Path, "/versions") {
			io.WriteString(w, `{"versions": [{"version": "1.0.0"}]}`)
			return
		}
		w.WriteHeader(http.StatusLocked)
	}))
	defer served.Close()
	client := &download.Client{Transport: s.HTTP.Transport, Authorize: func(ctx context.Context, r *http.Request) error {
		r.Header.Set("Authorization", download.Audience(ctx, r.URL.Host))
		return nil
	}}
	r := &registry.Registry{Client: client, Hosts: map[string]map[string]string{"registry.example.com": {"providers.v1": served.URL + "/v1/registry.example.com/"}}}
	p := addr.Provider{Host: "registry.example.com", Namespace: "acme", Type: "toy"}
	vs, _, err := r.Providers(t.Context(), p)
	if err != nil || len(vs) != 1 {
		t.Fatal(err)
	}
	if _, err := r.Provider(t.Context(), p, vs[0].Version, "linux_amd64"); err == nil || !strings.Contains(err.Error(), "answered 423 Locked") {
		t.Error(err)
	}
	for _, line := range got {
		if !strings.HasSuffix(line, " registry.example.com") {
			t.Error(line)
		}
	}
	if _, err := client.Get(download.OnBehalf(t.Context(), "registry.example.com", "else.example.com"), &url.URL{Scheme: "http", Host: strings.TrimPrefix(served.URL, "http://"), Path: "/x/versions"}, 100); err != nil {
		t.Error(err)
	}
	if last := got[len(got)-1]; strings.Contains(last, "example.com") {
		t.Error(last)
	}
}
