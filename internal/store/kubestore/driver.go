package kubestore

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/zclconf/go-cty/cty"
)

// Driver is the backend "kubernetes". Settings that the block omits may come from the environment. Terraform 1.11 has
// the same settings, but supports operation without kubeconfig files only inside a cluster.
var Driver = store.Driver{Name: "kubernetes", Schema: settings(), Open: open}

func settings() *schema.Block {
	b := store.Schema(
		store.Attr("secret_suffix", cty.String, "The suffix of the names of the Secrets."),
		store.Attr("labels", cty.Map(cty.String), "Further labels of Secrets and Leases."),
		store.Attr("namespace", cty.String, "The namespace: default if not set. KUBE_NAMESPACE."),
		store.Attr("in_cluster_config", cty.Bool, "Whether the service account of the pod is used. KUBE_IN_CLUSTER_CONFIG."),
		store.Attr("load_config_file", cty.Bool, "Whether kubeconfig files are read: true if not set. KUBE_LOAD_CONFIG_FILE."),
		store.Attr("config_path", cty.String, "The kubeconfig file. KUBE_CONFIG_PATH."),
		store.Attr("config_paths", cty.List(cty.String), "Several kubeconfig files. KUBE_CONFIG_PATHS."),
		store.Attr("config_context", cty.String, "The context of the kubeconfig file. KUBE_CTX."),
		store.Attr("config_context_auth_info", cty.String, "The user of the kubeconfig file, instead of the user of the context. KUBE_CTX_AUTH_INFO."),
		store.Attr("config_context_cluster", cty.String, "The cluster of the kubeconfig file, instead of the cluster of the context. KUBE_CTX_CLUSTER."),
		store.Attr("host", cty.String, "The address of the API. KUBE_HOST."),
		store.Attr("insecure", cty.Bool, "Whether the certificate of the API is left unchecked. KUBE_INSECURE."),
		store.Attr("cluster_ca_certificate", cty.String, "The CA certificates for the API, in PEM. KUBE_CLUSTER_CA_CERT_DATA."),
		store.Attr("proxy_url", cty.String, "The proxy for the API. KUBE_PROXY_URL."),
		store.SecretAttr("token", "The bearer token. KUBE_TOKEN."),
		store.Attr("username", cty.String, "The user of basic authentication. KUBE_USER."),
		store.SecretAttr("password", "The password of basic authentication. KUBE_PASSWORD."),
		store.Attr("client_certificate", cty.String, "The certificate for mutual TLS, in PEM. KUBE_CLIENT_CERT_DATA."),
		store.SecretAttr("client_key", "The private key of client_certificate, in PEM. KUBE_CLIENT_KEY_DATA."),
	)
	b.Blocks = []*schema.Nested{{Name: "exec", Nesting: schema.Single, Block: store.Schema(
		&schema.Attr{Name: "api_version", Type: cty.String, Required: true, Description: "The version of the protocol: client.authentication.k8s.io/v1 or v1beta1."},
		&schema.Attr{Name: "command", Type: cty.String, Required: true, Description: "The program that prints the credentials."},
		store.Attr("args", cty.List(cty.String), "The arguments of the program."),
		store.Attr("env", cty.Map(cty.String), "Environment variables for the program."),
	)}}
	return b
}

// numbered matches a suffix that ends like the name of another state's part, such as "-2".
var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-[0-9]+$`) })

func open(_ context.Context, s store.Settings) (store.Store, error) {
	s.Blank = true
	r := &reader{Reader: store.Reader{S: s}}
	o := Options{Suffix: r.Text("secret_suffix", ""), Labels: s.Texts("labels"), Namespace: cmp.Or(r.Text("namespace", "KUBE_NAMESPACE"), "default"), Agent: s.Agent}
	switch {
	case o.Suffix == "":
		r.Fail(s.Missing("secret_suffix"))
	case !mayName(o.Suffix):
		r.Bad("secret_suffix", `the value of "secret_suffix", %q, must be valid in names of Secrets and in values of labels: %s`, o.Suffix, nameRule)
	case numbered().MatchString(o.Suffix):
		r.Bad("secret_suffix", `the value of "secret_suffix", %q, must not end with "-" and a number, because parts of large states have such names`, o.Suffix)
	}
	a := r.access()
	if r.Err != nil {
		return nil, r.Err
	}
	client, err := a.client(s)
	if err != nil {
		return nil, err
	}
	o.Server, o.Client = a.server, client
	return store.Retrying(New(o), policy(s)), nil
}

// policy returns the retry policy. Kubernetes clients repeat requests to a busy API server ten times, after pauses that
// the server requests. If the pauses were longer, the error for a wrong address would come after a minute.
func policy(s store.Settings) store.Tries {
	tries := s.Tries(20 * time.Second)
	tries.Retries, tries.Longest = 10, 3*time.Second
	return tries
}

// client returns an HTTP client for the cluster that adds the credentials to requests.
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
	return &http.Client{Transport: c, CheckRedirect: store.Redirects()}, nil
}
