package httpstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// Driver is the backend "http". A setting that the block omits may come from an environment variable: TF_HTTP_ followed
// by its name in capital letters.
var Driver = store.Driver{Name: "http", Schema: store.Schema([]*schema.Attr{
	{Name: "address", Type: cty.String, Optional: true, Description: "The address of the state."},
	{Name: "update_method", Type: cty.String, Optional: true, Description: "The method that replaces the state: POST if not set."},
	{Name: "lock_address", Type: cty.String, Optional: true, Description: "The address for locking. Without it, states are not locked."},
	{Name: "unlock_address", Type: cty.String, Optional: true, Description: "The address for unlocking."},
	{Name: "lock_method", Type: cty.String, Optional: true, Description: "The method that locks: LOCK if not set."},
	{Name: "unlock_method", Type: cty.String, Optional: true, Description: "The method that unlocks: UNLOCK if not set."},
	{Name: "username", Type: cty.String, Optional: true, Description: "The user of basic authentication."},
	{Name: "password", Type: cty.String, Optional: true, Sensitive: true, Description: "The password of basic authentication."},
	{Name: "headers", Type: cty.Map(cty.String), Optional: true, Sensitive: true, Description: "Headers of every request."},
	{Name: "skip_cert_verification", Type: cty.Bool, Optional: true, Description: "Whether the certificate of the server is left unchecked."},
	{Name: "retry_max", Type: cty.Number, Optional: true, Description: "How often a failed request is repeated: 2 times if not set."},
	{Name: "retry_wait_min", Type: cty.Number, Optional: true, Description: "The shortest pause before a repetition, in seconds: 1 if not set."},
	{Name: "retry_wait_max", Type: cty.Number, Optional: true, Description: "The longest pause before a repetition, in seconds: 30 if not set."},
	{Name: "client_ca_certificate_pem", Type: cty.String, Optional: true, Description: "The CA certificates for the server, in PEM."},
	{Name: "client_certificate_pem", Type: cty.String, Optional: true, Description: "The certificate for mutual TLS, in PEM."},
	{Name: "client_private_key_pem", Type: cty.String, Optional: true, Sensitive: true, Description: "The private key of client_certificate_pem, in PEM."},
}...), Open: open}

func open(_ context.Context, s store.Settings) (store.Store, error) {
	r := reader{store.Reader{S: s}}
	o := Options{
		Address: r.url("address"), LockAddress: r.url("lock_address"), UnlockAddress: r.url("unlock_address"),
		Update: r.text("update_method", http.MethodPost), Lock: r.text("lock_method", "LOCK"), Unlock: r.text("unlock_method", "UNLOCK"),
		User: r.text("username", ""), Password: r.text("password", ""), Header: r.header(),
	}
	tries := s.Tries(0).Times(r.int("retry_max", 2))
	tries.Shortest, tries.Longest = time.Duration(r.int("retry_wait_min", 1))*time.Second, time.Duration(r.int("retry_wait_max", 30))*time.Second
	o.Client, o.Tries = r.client(o.Header), tries
	if o.Address == nil {
		r.Fail(s.Missing("address", env("address")))
	}
	if r.Err != nil {
		return nil, r.Err
	}
	return store.Retrying(New(o), tries), nil
}

// reader reads the settings of the backend "http". A setting that the block omits may come from an environment
// variable: TF_HTTP_ followed by its name in capital letters.
type reader struct{ store.Reader }

func env(name string) string { return "TF_HTTP_" + strings.ToUpper(name) }

func (r *reader) text(name, otherwise string) string {
	return cmp.Or(r.Text(name, env(name)), otherwise)
}

func (r *reader) int(name string, otherwise int) int {
	return r.Int(name, otherwise, env(name))
}

func (r *reader) url(name string) *url.URL {
	t, set := r.S.Text(name, env(name))
	if !set {
		return nil
	}
	u, err := url.Parse(t)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		err = errors.New("address must be HTTP or HTTPS, such as https://example.com/state")
	}
	if u != nil {
		password, _ := u.User.Password()
		r.S.Secret(password)
	}
	if failed := (*url.Error)(nil); errors.As(err, &failed) { // the text of the error would quote parts of the address, which may be parts of a password
		err = errors.New("it is not a URL. Special characters of a user, password or path must be percent-encoded")
	}
	if err != nil {
		r.Bad(name, "the value of %q cannot be used: %w", name, err)
	}
	return u
}

func (r *reader) header() http.Header {
	h := http.Header{}
	for name, v := range r.S.Texts("headers") {
		if strings.EqualFold(name, "Content-Type") || strings.EqualFold(name, "Content-MD5") {
			r.Bad("headers", "the header %q cannot be set, because Lethe sets it for each request. Remove it from \"headers\"", name)
		}
		h.Set(name, v)
	}
	if _, set := h["User-Agent"]; !set && r.S.Agent != "" {
		h.Set("User-Agent", r.S.Agent)
	}
	return h
}

// client returns a client that trusts the authorities in the settings. It does not send the headers in header to other
// hosts.
func (r *reader) client(header http.Header) *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: r.Flag("skip_cert_verification", env("skip_cert_verification"))}
	if ca := r.text("client_ca_certificate_pem", ""); ca != "" {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			r.Bad("client_ca_certificate_pem", `the value of "client_ca_certificate_pem" contains no certificate in PEM`)
		}
	}
	cert, key := r.text("client_certificate_pem", ""), r.text("client_private_key_pem", "")
	switch {
	case (cert == "") != (key == ""):
		r.Bad("client_certificate_pem", `"client_certificate_pem" and "client_private_key_pem" must be set together, but only one is set`)
	case cert != "":
		pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil {
			r.Bad("client_certificate_pem", "the client certificate and its key cannot be used: %w", err)
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: t, CheckRedirect: store.Redirects(slices.Collect(maps.Keys(header))...)}
}
