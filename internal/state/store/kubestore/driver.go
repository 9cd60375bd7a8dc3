package kubestore

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/zclconf/go-cty/cty"
)

func attr(name string, ty cty.Type, description string) *schema.Attr {
	return &schema.Attr{Name: name, Type: ty, Optional: true, Description: description}
}

func secretAttr(name, description string) *schema.Attr {
	return &schema.Attr{Name: name, Type: cty.String, Optional: true, Sensitive: true, Description: description}
}

// Driver is the backend "kubernetes". What the block leaves out may come from the environment. Terraform 1.11 has the
// same settings, and does without kubeconfig files only inside of a cluster.
var Driver = store.Driver{Name: "kubernetes", Schema: settings(), Open: open}

func settings() *schema.Block {
	b := store.Schema(
		attr("secret_suffix", cty.String, "What the names of the Secrets end with."),
		attr("labels", cty.Map(cty.String), "Further labels of Secrets and Leases."),
		attr("namespace", cty.String, "The namespace: default if not set. KUBE_NAMESPACE."),
		attr("in_cluster_config", cty.Bool, "Whether the service account of the pod is used. KUBE_IN_CLUSTER_CONFIG."),
		attr("load_config_file", cty.Bool, "Whether kubeconfig files are read: true if not set. KUBE_LOAD_CONFIG_FILE."),
		attr("config_path", cty.String, "The kubeconfig file. KUBE_CONFIG_PATH."),
		attr("config_paths", cty.List(cty.String), "Several of them. KUBE_CONFIG_PATHS."),
		attr("config_context", cty.String, "The context of the file. KUBE_CTX."),
		attr("config_context_auth_info", cty.String, "The user of the file, instead of that of the context. KUBE_CTX_AUTH_INFO."),
		attr("config_context_cluster", cty.String, "The cluster of the file, likewise. KUBE_CTX_CLUSTER."),
		attr("host", cty.String, "The address of the API. KUBE_HOST."),
		attr("insecure", cty.Bool, "Whether its certificate is not looked at. KUBE_INSECURE."),
		attr("cluster_ca_certificate", cty.String, "The certificates of the authorities that its certificate is of, in PEM. KUBE_CLUSTER_CA_CERT_DATA."),
		attr("proxy_url", cty.String, "The proxy on the way to it. KUBE_PROXY_URL."),
		secretAttr("token", "The bearer token. KUBE_TOKEN."),
		attr("username", cty.String, "The user of basic authentication. KUBE_USER."),
		secretAttr("password", "The password of basic authentication. KUBE_PASSWORD."),
		attr("client_certificate", cty.String, "The certificate for mutual TLS, in PEM. KUBE_CLIENT_CERT_DATA."),
		secretAttr("client_key", "Its private key, in PEM. KUBE_CLIENT_KEY_DATA."),
	)
	b.Blocks = []*schema.Nested{{Name: "exec", Nesting: schema.Single, Block: store.Schema(
		&schema.Attr{Name: "api_version", Type: cty.String, Required: true, Description: "The version of the protocol: client.authentication.k8s.io/v1 or v1beta1."},
		&schema.Attr{Name: "command", Type: cty.String, Required: true, Description: "The program that says what the credentials are."},
		attr("args", cty.List(cty.String), "Its arguments."),
		attr("env", cty.Map(cty.String), "What is added to its environment."),
	)}}
	return b
}

// numbered is the end of a suffix that could be that of a part of another state.
var numbered = regexp.MustCompile(`-[0-9]+$`)

// reader takes the settings apart, and keeps the first mistake.
type reader struct {
	s   store.Settings
	err error
}

func (r *reader) fail(err error) { r.err = cmp.Or(r.err, err) }

func (r *reader) text(name, env string) string {
	t, _ := r.s.Text(name, env)
	return t
}

func (r *reader) flag(name, env string) bool {
	b, err := r.s.Bool(name, env)
	r.fail(err)
	return b
}

func (r *reader) url(name, text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		r.fail(fmt.Errorf("%q is no address", name))
		return &url.URL{}
	}
	return u
}

// path is a path that may begin with the home directory, or in the working directory.
func (r *reader) path(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok && r.s.Getenv != nil && r.s.Getenv("HOME") != "" {
		return filepath.Join(r.s.Getenv("HOME"), rest)
	}
	return within(r.s.Dir, p)
}

// within is a path that is relative to a directory, "" where there is none.
func within(dir, p string) string {
	if p == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(dir, p)
}

func open(_ context.Context, s store.Settings) (store.Store, error) {
	r := &reader{s: s}
	o := Options{Suffix: r.text("secret_suffix", ""), Labels: s.Texts("labels"), Namespace: cmp.Or(r.text("namespace", "KUBE_NAMESPACE"), "default"), Agent: s.Agent}
	switch {
	case o.Suffix == "":
		r.fail(fmt.Errorf("%q is not set: not in the backend block, and not with -backend-config", "secret_suffix"))
	case numbered.MatchString(o.Suffix):
		r.fail(fmt.Errorf(`the value of "secret_suffix", %q, must not end with "-" and a number`, o.Suffix))
	}
	a := r.access()
	if r.err != nil {
		return nil, r.err
	}
	client, err := a.client(s)
	if err != nil {
		return nil, err
	}
	o.Server, o.Client = a.server, client
	return store.Careful(New(o), store.Tries{Again: 5, Shortest: 250 * time.Millisecond, Longest: 20 * time.Second}), nil
}

// client is one that has the credentials.
func (a *access) client(s store.Settings) (*http.Client, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	if a.proxy != nil {
		t.Proxy = http.ProxyURL(a.proxy)
	}
	var err error
	if t.TLSClientConfig, err = a.tls(); err != nil {
		return nil, err
	}
	c := &credentials{access: a, settings: s, next: t}
	if a.exec != nil {
		t.TLSClientConfig.GetClientCertificate = c.certificate
	}
	return &http.Client{Transport: c}, nil
}
