package kubestore

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/lethe-iac/lethe/internal/store"
	yaml "github.com/zclconf/go-cty-yaml"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// access holds the address of a cluster's API and the credentials for it.
type access struct {
	server     *url.URL
	serverName string // the name in the server's certificate; "" means the host of the address
	insecure   bool
	ca         []byte // the CA certificates for the server, in PEM
	proxy      *url.URL

	token, tokenFile   string
	username, password string
	cert, key          []byte // the client certificate and its key, in PEM
	exec               *plugin
	as, asUID          string // the user to impersonate
	asGroups           []string
	asExtra            map[string][]string
}

// kubeconfig is the content of a kubeconfig file, with the fields that the store uses.
type kubeconfig struct {
	CurrentContext string `json:"current-context"`
	Contexts       []struct {
		Name    string
		Context struct{ Cluster, User string }
	}
	Clusters []struct {
		Name    string
		Cluster kubeCluster
	}
	Users []struct {
		Name string
		User kubeUser
	}
}

type kubeCluster struct {
	Server      string
	Authority   string `json:"certificate-authority"`
	AuthorityIn string `json:"certificate-authority-data"`
	Insecure    bool   `json:"insecure-skip-tls-verify"`
	ServerName  string `json:"tls-server-name"`
	Proxy       string `json:"proxy-url"`

	dir string // the directory of the kubeconfig file, against which paths are resolved
}

type kubeUser struct {
	Token, TokenFile   string
	Username, Password string
	Cert               string              `json:"client-certificate"`
	CertIn             string              `json:"client-certificate-data"`
	Key                string              `json:"client-key"`
	KeyIn              string              `json:"client-key-data"`
	As                 string              `json:"as"`
	AsGroups           []string            `json:"as-groups"`
	AsUID              string              `json:"as-uid"`
	AsExtra            map[string][]string `json:"as-user-extra"`
	AuthProvider       json.RawMessage     `json:"auth-provider"`
	Exec               *plugin

	dir string
}

// named has the contexts, clusters and users of all kubeconfig files by name. If several files define a name, the first
// file counts.
type named struct {
	current  string
	contexts map[string]struct{ Cluster, User string }
	clusters map[string]kubeCluster
	users    map[string]kubeUser
}

func (n *named) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	ty, err := yaml.ImpliedType(text)
	if err != nil {
		return err
	}
	v, err := yaml.Unmarshal(text, ty)
	if err != nil {
		return err
	}
	if text, err = ctyjson.Marshal(v, ty); err != nil {
		return err
	}
	var k kubeconfig
	if err := json.Unmarshal(text, &k); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	n.current = cmp.Or(n.current, k.CurrentContext)
	for _, c := range k.Contexts {
		if _, ok := n.contexts[c.Name]; !ok {
			n.contexts[c.Name] = c.Context
		}
	}
	for _, c := range k.Clusters {
		if _, ok := n.clusters[c.Name]; !ok {
			c.Cluster.dir = dir
			n.clusters[c.Name] = c.Cluster
		}
	}
	for _, u := range k.Users {
		if _, ok := n.users[u.Name]; !ok {
			u.User.dir = dir
			n.users[u.Name] = u.User
		}
	}
	return nil
}

// files returns the paths of the kubeconfig files, or none if a setting disables them. It omits missing files of a
// list, as kubectl does, unless all files are missing.
func (r *reader) files() []string {
	if load, set := r.S.Text("load_config_file", "KUBE_LOAD_CONFIG_FILE"); set && !r.Flag("load_config_file", "KUBE_LOAD_CONFIG_FILE") && load != "" {
		return nil
	}
	if p := r.Text("config_path", "KUBE_CONFIG_PATH"); p != "" {
		return []string{r.path(p)}
	}
	paths := r.S.List("config_paths")
	if len(paths) == 0 {
		paths = filepath.SplitList(r.Text("", "KUBE_CONFIG_PATHS"))
	}
	var all, existing []string
	for _, p := range paths {
		if p == "" {
			continue
		}
		all = append(all, r.path(p))
		if _, err := os.Stat(r.path(p)); !errors.Is(err, fs.ErrNotExist) {
			existing = append(existing, r.path(p))
		}
	}
	if len(existing) == 0 { // all are missing: reading them will report the first missing file
		return all
	}
	return existing
}

// access combines the kubeconfig files or the account of the pod with the other settings. Without kubeconfig files and
// without a host, it uses the account of the pod, as Kubernetes programs do. It records an error if no cluster is
// configured. The result then has no server.
func (r *reader) access() *access {
	a, before := &access{}, len(store.Mistakes(r.Err))
	if r.Flag("in_cluster_config", "KUBE_IN_CLUSTER_CONFIG") {
		r.Fail(r.fromPod(a)) // takes precedence over kubeconfig files, which may be for the cluster to which the pod deploys
	} else if files := r.files(); len(files) > 0 {
		r.Fail(r.fromFiles(a, files))
	} else if r.inPod() && r.Text("host", "KUBE_HOST") == "" {
		r.Fail(r.fromPod(a))
	}
	if host := r.Text("host", "KUBE_HOST"); host != "" {
		if !strings.Contains(host, "://") {
			host = "https://" + host
		}
		a.server = r.url("host", host)
	}
	if a.server == nil {
		if len(store.Mistakes(r.Err)) == before {
			r.Fail(errors.New(`no Kubernetes cluster is configured. Set "config_path", "config_paths", "in_cluster_config" or "host", or KUBE_CONFIG_PATH, KUBE_CONFIG_PATHS, KUBE_IN_CLUSTER_CONFIG or KUBE_HOST`))
		}
		return a
	}
	if a.server.Scheme != "https" {
		// without TLS, do not send the credentials of the kubeconfig files
		*a = access{server: a.server, proxy: a.proxy}
	}
	a.insecure = r.Flag("insecure", "KUBE_INSECURE") || a.insecure
	if ca := r.Text("cluster_ca_certificate", "KUBE_CLUSTER_CA_CERT_DATA"); ca != "" {
		a.ca = []byte(ca)
	}
	if p := r.Text("proxy_url", "KUBE_PROXY_URL"); p != "" {
		a.proxy = r.url("proxy_url", p)
	}
	cert, key := r.Text("client_certificate", "KUBE_CLIENT_CERT_DATA"), r.Text("client_key", "KUBE_CLIENT_KEY_DATA")
	if cert != "" || key != "" {
		a.cert, a.key = []byte(cert), []byte(key)
	}
	a.username, a.password = cmp.Or(r.Text("username", "KUBE_USER"), a.username), cmp.Or(r.Text("password", "KUBE_PASSWORD"), a.password)
	if t := r.Text("token", "KUBE_TOKEN"); t != "" {
		a.token, a.tokenFile = t, ""
	}
	if in := r.S.In("exec"); in.Set() {
		p := &plugin{dir: r.S.Dir, Args: in.List("args")}
		p.APIVersion, _ = in.Text("api_version")
		p.Command, _ = in.Text("command")
		for name, value := range in.Texts("env") {
			p.Env = append(p.Env, struct{ Name, Value string }{name, value})
		}
		a.exec = p
	}
	if a.exec != nil {
		r.Fail(a.exec.check())
	}
	return a
}

func (r *reader) fromFiles(a *access, files []string) error {
	n := &named{contexts: map[string]struct{ Cluster, User string }{}, clusters: map[string]kubeCluster{}, users: map[string]kubeUser{}}
	for _, f := range files {
		if err := n.read(f); err != nil {
			return fmt.Errorf("the kubeconfig file %s cannot be read: %w", f, err)
		}
	}
	name := cmp.Or(r.Text("config_context", "KUBE_CTX"), n.current)
	context, ok := n.contexts[name]
	if !ok && name != "" {
		return fmt.Errorf("the kubeconfig has no context %q", name)
	}
	clusterName, userName := cmp.Or(r.Text("config_context_cluster", "KUBE_CTX_CLUSTER"), context.Cluster), cmp.Or(r.Text("config_context_auth_info", "KUBE_CTX_AUTH_INFO"), context.User)
	cluster, ok := n.clusters[clusterName]
	if !ok && clusterName != "" {
		return fmt.Errorf("the kubeconfig has no cluster %q", clusterName)
	}
	user, ok := n.users[userName]
	if !ok && userName != "" {
		return fmt.Errorf("the kubeconfig has no user %q", userName)
	}
	if err := cluster.fill(a, r); err != nil {
		return fmt.Errorf("the cluster %q of the kubeconfig: %w", clusterName, err)
	}
	if err := user.fill(a, r); err != nil {
		return fmt.Errorf("the user %q of the kubeconfig: %w", userName, err)
	}
	return nil
}

// material returns the decoded form of the base64 data in the argument in, or the content of file if that argument is
// "". A relative path is resolved against dir. material returns nil if both are "".
func material(in, file, dir string) ([]byte, error) {
	if in != "" {
		return base64.StdEncoding.DecodeString(in)
	}
	if file == "" {
		return nil, nil
	}
	return os.ReadFile(within(dir, file))
}

func (c *kubeCluster) fill(a *access, r *reader) (err error) {
	if c.Server != "" {
		a.server = r.url("server", c.Server)
	}
	if c.Proxy != "" {
		a.proxy = r.url("proxy-url", c.Proxy)
	}
	a.insecure, a.serverName = c.Insecure, c.ServerName
	a.ca, err = material(c.AuthorityIn, c.Authority, c.dir)
	return err
}

func (u *kubeUser) fill(a *access, r *reader) (err error) {
	switch {
	case len(u.AuthProvider) > 0 && string(u.AuthProvider) != "null":
		return errors.New(`credentials of an "auth-provider" are no longer supported by Kubernetes. Use "exec"`)
	case u.As == "" && (u.AsUID != "" || len(u.AsGroups)+len(u.AsExtra) > 0):
		return errors.New(`"as-uid", "as-groups" and "as-user-extra" need "as", the user to impersonate`)
	}
	a.token, a.tokenFile, a.username, a.password = u.Token, within(u.dir, u.TokenFile), u.Username, u.Password
	a.as, a.asUID, a.asGroups, a.asExtra = u.As, u.AsUID, u.AsGroups, u.AsExtra
	if a.cert, err = material(u.CertIn, u.Cert, u.dir); err != nil {
		return err
	}
	if a.key, err = material(u.KeyIn, u.Key, u.dir); err != nil {
		return err
	}
	for _, secret := range []string{u.Token, u.Password, string(a.key)} {
		r.S.Secret(secret)
	}
	if a.exec = u.Exec; a.exec != nil {
		a.exec.dir = u.dir
	}
	return nil
}

// account is the directory with the files of a pod's service account. Tests replace it.
var account = "/var/run/secrets/kubernetes.io/serviceaccount/"

// inPod reports whether this process runs in a pod with a service account.
func (r *reader) inPod() bool {
	_, err := os.Stat(account + "token")
	return err == nil && r.Text("", "KUBERNETES_SERVICE_HOST") != "" && r.Text("", "KUBERNETES_SERVICE_PORT") != ""
}

func (r *reader) fromPod(a *access) (err error) {
	host, port := r.Text("", "KUBERNETES_SERVICE_HOST"), r.Text("", "KUBERNETES_SERVICE_PORT")
	if host == "" || port == "" {
		return errors.New(`"in_cluster_config" is set, but Lethe does not run in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set`)
	}
	a.server = &url.URL{Scheme: "https", Host: net.JoinHostPort(host, port)}
	a.tokenFile = account + "token"
	a.ca, err = os.ReadFile(account + "ca.crt")
	return err
}

func (a *access) tls() (*tls.Config, error) {
	c := &tls.Config{InsecureSkipVerify: a.insecure, ServerName: a.serverName}
	if len(a.ca) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(a.ca) {
			return nil, errors.New("the value for the certificates of the cluster's authorities contains no certificate in PEM")
		}
	}
	switch {
	case (len(a.cert) > 0) != (len(a.key) > 0):
		return nil, errors.New("a client certificate and its key must be set together, but only one is set")
	case len(a.cert) > 0:
		pair, err := tls.X509KeyPair(a.cert, a.key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate and its key cannot be used: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// plugin is a program in a kubeconfig file ("exec") that prints credentials.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Command    string
	Args       []string
	Env        []struct{ Name, Value string }
	// InteractiveMode is Never, IfAvailable or Always. Lethe tells every plugin that it cannot ask the user.
	InteractiveMode    string
	InstallHint        string
	ProvideClusterInfo bool

	dir string // the directory of the kubeconfig file, for a relative Command
}

func (p *plugin) check() error {
	switch {
	case p.Command == "":
		return errors.New("a program for credentials (exec) has no command")
	case p.APIVersion != "client.authentication.k8s.io/v1" && p.APIVersion != "client.authentication.k8s.io/v1beta1":
		return fmt.Errorf("the program %[2]s for credentials (exec) has the apiVersion %[1]q. It must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1", p.APIVersion, p.Command)
	case p.InteractiveMode == "Always":
		return fmt.Errorf("the program %s for credentials (exec) needs standard input (interactiveMode: Always), which Lethe does not pass to it. Use another interactiveMode", p.Command)
	}
	return nil
}
