package consulstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// Driver is the backend "consul". Settings that the block omits may come from the environment variables of Consul's own
// client.
var Driver = store.Driver{Name: "consul", Schema: store.Schema([]*schema.Attr{
	{Name: "path", Type: cty.String, Optional: true, Description: "The key of the default workspace's state."},
	{Name: "access_token", Type: cty.String, Optional: true, Sensitive: true, Description: "The ACL token. CONSUL_HTTP_TOKEN_FILE, CONSUL_HTTP_TOKEN."},
	{Name: "address", Type: cty.String, Optional: true, Description: "The address of the agent: 127.0.0.1:8500 if not set. CONSUL_HTTP_ADDR."},
	{Name: "scheme", Type: cty.String, Optional: true, Description: "http or https: http if not set. CONSUL_HTTP_SSL."},
	{Name: "datacenter", Type: cty.String, Optional: true, Description: "The datacenter: the agent's datacenter if not set."},
	{Name: "http_auth", Type: cty.String, Optional: true, Sensitive: true, Description: "The user and the password of basic authentication, with a colon between them. CONSUL_HTTP_AUTH."},
	{Name: "gzip", Type: cty.Bool, Optional: true, Description: "Whether states are compressed."},
	{Name: "lock", Type: cty.Bool, Optional: true, Description: "Whether states are locked: true if not set."},
	{Name: "ca_file", Type: cty.String, Optional: true, Description: "A file with the CA certificates for the agent, in PEM. CONSUL_CACERT."},
	{Name: "cert_file", Type: cty.String, Optional: true, Description: "The file of the certificate for mutual TLS, in PEM. CONSUL_CLIENT_CERT."},
	{Name: "key_file", Type: cty.String, Optional: true, Description: "The file of the private key of the certificate, in PEM. CONSUL_CLIENT_KEY."},
}...), Open: open}

type reader struct {
	store.Reader
}

// flag returns a boolean setting, or else the value of the first environment variable in env that is set and not empty.
// If none is set, it returns its argument "otherwise". If the value is not a boolean, flag records an error and returns
// false.
func (r *reader) flag(name string, otherwise bool, env ...string) bool {
	if _, set := r.S.Text(name, env...); !set {
		return otherwise
	}
	b, err := r.S.Bool(name, env...)
	r.Fail(err)
	return b
}

// file reads the file that a setting names, or else the first environment variable in env that is set. It returns nil
// if none is set. If the file cannot be read, file records an error.
func (r *reader) file(name string, env ...string) []byte {
	path := r.Text(name, env...)
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(paths.In(r.S.Dir, path))
	if err != nil {
		r.Bad(name, "the file that %q names cannot be read: %w", cmp.Or(name, env[0]), err)
	}
	return text
}

func open(_ context.Context, s store.Settings) (store.Store, error) {
	s.Blank = true
	r := &reader{Reader: store.Reader{S: s}}
	o := Options{Path: r.Text("path"), Gzip: r.flag("gzip", false), NoLock: !r.flag("lock", true), Header: http.Header{}, Query: url.Values{}}
	switch {
	case o.Path == "":
		r.Fail(s.Missing("path"))
	case strings.HasPrefix(o.Path, "/"):
		r.Bad("path", `the value of "path", %q, must not begin with "/"`, o.Path)
	}
	if s.Agent != "" {
		o.Header.Set("User-Agent", s.Agent)
	}
	token := cmp.Or(strings.TrimSpace(string(r.file("", "CONSUL_HTTP_TOKEN_FILE"))), r.Text("access_token", "CONSUL_HTTP_TOKEN"))
	if s.Secret(token); token != "" {
		o.Header.Set("X-Consul-Token", token)
	}
	for name, value := range map[string]string{"dc": r.Text("datacenter"), "ns": r.Text("", "CONSUL_NAMESPACE"), "partition": r.Text("", "CONSUL_PARTITION")} {
		if value != "" {
			o.Query.Set(name, value)
		}
	}
	if auth := r.Text("http_auth", "CONSUL_HTTP_AUTH"); auth != "" {
		user, password, _ := strings.Cut(auth, ":")
		o.User = url.UserPassword(user, password)
		s.Secret(password)
	}
	transport := r.transport()
	o.Server = r.server(transport)
	if r.Err != nil {
		return nil, r.Err
	}
	o.Client = &http.Client{Transport: transport, CheckRedirect: store.Redirects("X-Consul-Token")}
	return store.Retrying(New(o), s.Tries(10*time.Second)), nil
}

// server returns the address of the Consul agent. If the address is a Unix socket, server makes the transport t connect
// to that socket. If the address is invalid, it records an error and returns nil.
func (r *reader) server(t *http.Transport) *url.URL {
	scheme := r.Text("scheme")
	if scheme == "" && r.flag("", false, "CONSUL_HTTP_SSL") {
		scheme = "https"
	}
	address := cmp.Or(r.Text("address", "CONSUL_HTTP_ADDR"), "127.0.0.1:8500")
	if path, ok := strings.CutPrefix(address, "unix://"); ok {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		}
		address = "localhost"
	}
	if !strings.Contains(address, "://") {
		address = cmp.Or(scheme, "http") + "://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		r.Bad(r.Which("scheme", "address"), `"address" and "scheme" must together make the address of a Consul agent, such as https://consul.example.com:8501`)
		return nil
	}
	return u
}

// authorities returns the CA certificates of the agent: the file that ca_file or CONSUL_CACERT names, or else all files
// of the directory that CONSUL_CAPATH names. The result from is the name of the setting. It returns nil if none is set.
func (r *reader) authorities() (pem []byte, from string) {
	if pem := r.file("ca_file", "CONSUL_CACERT"); pem != nil {
		return pem, "ca_file"
	}
	from = "CONSUL_CAPATH"
	dir := r.Text("", from)
	if dir == "" {
		return nil, ""
	}
	entries, err := os.ReadDir(paths.In(r.S.Dir, dir))
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, failed := os.ReadFile(filepath.Join(paths.In(r.S.Dir, dir), e.Name()))
		err = cmp.Or(err, failed)
		pem = append(append(pem, text...), '\n')
	}
	if err != nil {
		r.Bad("", "the directory that %s names cannot be read: %w", from, err)
	}
	return append(pem, '\n'), from
}

func (r *reader) transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.TLSClientConfig = &tls.Config{InsecureSkipVerify: !r.flag("", true, "CONSUL_HTTP_SSL_VERIFY"), ServerName: r.Text("", "CONSUL_TLS_SERVER_NAME")}
	if ca, from := r.authorities(); ca != nil {
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca) {
			r.Bad("ca_file", "the file or directory that %q names contains no certificate in PEM", from)
		}
	}
	cert, key := r.file("cert_file", "CONSUL_CLIENT_CERT"), r.file("key_file", "CONSUL_CLIENT_KEY")
	switch {
	case (cert == nil) != (key == nil):
		r.Bad(r.Which("cert_file", "key_file"), `"cert_file" and "key_file" must be set together, but only one is set`)
	case cert != nil:
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			r.Bad("cert_file", "the client certificate and its key cannot be used: %w", err)
		}
		t.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return t
}
