package settings

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/oci"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/store"
)

// Network holds the clients for servers: registries, OCI registries and the services of hosts, with the user's
// credentials.
type Network struct {
	Registry    *registry.Registry
	Credentials *cliconfig.Credentials
	OCI         *oci.Client
	Retries     int // the number of retries for the download of a provider
}

// ReadNetwork creates the clients for servers from the settings. It reports an error and returns false if a setting is
// invalid.
func (s *Settings) ReadNetwork(c *base.Call) (*Network, bool) {
	n := &Network{Credentials: credentialsOf(c, s.CLI)}
	var ok bool
	if n.Registry, ok = newRegistry(c, s.CLI, n.Credentials); !ok {
		return nil, false
	}
	if n.Retries, ok = number(c, "TF_PROVIDER_DOWNLOAD_RETRY", retries); !ok {
		return nil, false
	}
	n.OCI = newImages(n.Registry, n.Retries, n.Credentials)
	return n, true
}

// Hosts returns a client for the services of hosts, such as the state storage of HCP Terraform. The client finds the
// address of a service in the host's discovery document, as for registries, and uses the user's credentials.
func (n *Network) Hosts() store.Hosts { return hosts{n.Registry, n.Credentials} }

// hosts is a client for the services of hosts, with the user's credentials. It implements store.Hosts.
type hosts struct {
	*registry.Registry
	*cliconfig.Credentials
}

// Service returns the base address of a service of a host, such as "tfe.v2". It returns an error if the host does not
// offer the service or cannot be reached. It implements store.Hosts.
func (h hosts) Service(ctx context.Context, host, service string) (*url.URL, error) {
	_, u, err := h.Registry.Service(ctx, host, service)
	return u, err
}

// Hosts returns the client for registries and the user's credentials, for a command without a working directory. It
// reports an error and returns false if a setting is invalid.
func Hosts(c *base.Call) (*registry.Registry, *cliconfig.Credentials, bool) {
	l, ok := ReadLimits(c)
	if !ok {
		return nil, nil, false
	}
	s, ok := cliConfig(c, l)
	if !ok {
		return nil, nil, false
	}
	credentials := credentialsOf(c, s)
	r, ok := newRegistry(c, s, credentials)
	return r, credentials, ok
}

// credentialsOf returns the user's credentials. Their secrets are masked in all output of the command.
func credentialsOf(c *base.Call, s *cliconfig.Settings) *cliconfig.Credentials {
	return &cliconfig.Credentials{Settings: s, Getenv: c.Getenv, Environ: c.Environ, Learned: func(text, host string) {
		c.Secrets.Add(text, secret.Origin{Addr: "the credentials for " + host, Kind: secret.Setting})
	}}
}

// Agent returns the User-Agent header for requests: the version of Lethe, and the text of TF_APPEND_USER_AGENT.
func Agent(c *base.Call) string {
	if more := strings.TrimSpace(c.Getenv("TF_APPEND_USER_AGENT")); more != "" {
		return "lethe/" + base.Version + " " + more
	}
	return "lethe/" + base.Version
}

// retries is the default number of retries of a request that failed for a temporary reason.
const retries = 3

// newRegistry creates the client for registries, with the user's credentials. It reports an error and returns false if
// a setting is invalid.
func newRegistry(c *base.Call, s *cliconfig.Settings, credentials *cliconfig.Credentials) (*registry.Registry, bool) {
	client := &download.Client{
		Header:    http.Header{"User-Agent": {Agent(c)}, "X-Terraform-Version": {base.Version}},
		Authorize: credentials.Authorize,
	}
	seconds, ok1 := number(c, "TF_REGISTRY_CLIENT_TIMEOUT", int(s.Registries.Timeout/time.Second))
	client.Timeout = time.Duration(seconds) * time.Second
	often := retries
	if s.Registries.Retries != nil {
		often = *s.Registries.Retries
	}
	var ok2 bool
	client.Retries, ok2 = number(c, "TF_REGISTRY_DISCOVERY_RETRY", often)
	instead, ok3 := defaultRegistry(c, s)
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if !proxied(c.Getenv(name)) {
			// The message does not show the address, because the address may contain a password.
			c.Bag.Add(diag.Errorf("Invalid environment variable", "The environment variable %s must be the address of a proxy, such as \"http://proxy.example.com:3128\".", name))
			ok3 = false
		}
	}
	signed, ok4 := yes(c, "OPENTOFU_ENFORCE_GPG_VALIDATION")
	unexpired, ok5 := yes(c, "OPENTOFU_ENFORCE_GPG_EXPIRATION")
	return &registry.Registry{
		Client: client, Hosts: s.Hosts, Default: instead, Signed: signed, Unexpired: unexpired,
	}, ok1 && ok2 && ok3 && ok4 && ok5
}

// proxied reports whether a text is empty or the address of a proxy: a host, with one of the schemes http (the
// default), https, socks5 and socks5h. Without this check, Go would silently ignore an invalid address and connect to
// servers without the proxy.
func proxied(text string) bool {
	if text == "" {
		return true
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && slices.Contains([]string{"http", "https", "socks5", "socks5h"}, u.Scheme)
}

// defaultRegistry returns the host that replaces the public registries, or "" for no replacement. The environment
// variable has precedence over the CLI configuration. defaultRegistry reports an error and returns false if the setting
// is not the name of a host.
func defaultRegistry(c *base.Call, s *cliconfig.Settings) (string, bool) {
	const variable = "LETHE_DEFAULT_REGISTRY"
	host := c.Getenv(variable)
	given := host != ""
	if !given {
		host = s.DefaultRegistry
	}
	if host == "" {
		return "", true
	}
	p, err := addr.ParseProvider(host + "/namespace/type")
	switch {
	case err == nil:
		return p.Host, true
	case given:
		c.Bag.Add(diag.Errorf("Invalid environment variable", "The environment variable %s must be the host of a registry, not %q.", variable, host))
	default:
		c.Bag.Add(diag.Errorf("Invalid CLI configuration", "The setting \"default_registry\" must be the host of a registry, not %q.", host))
	}
	return "", false
}

// newImages creates the client for OCI registries, with the transport of r, and with retries as the number of
// repetitions of a failed request.
func newImages(r *registry.Registry, retries int, credentials *cliconfig.Credentials) *oci.Client {
	return &oci.Client{Transport: r.Client.Transport, Header: http.Header{"User-Agent": r.Client.Header["User-Agent"]}, Credential: credentials.OCI, Retries: retries}
}

// number returns the value of a numeric environment variable, or the given default if the variable is not set. If the
// value is not a whole number of 0 or more, number adds an error and returns the default and false.
func number(c *base.Call, name string, unset int) (int, bool) {
	text := c.Getenv(name)
	if text == "" {
		return unset, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		c.Bag.Add(diag.Errorf("Invalid environment variable", "The environment variable %s must be a whole number of 0 or more, not %q.", name, text))
		return unset, false
	}
	return n, true
}

// yes returns the value of a boolean environment variable, or false if it is not set. If the value is invalid, yes adds
// an error, and ok is false.
func yes(c *base.Call, name string) (set, ok bool) {
	text := c.Getenv(name)
	if text == "" {
		return false, true
	}
	set, err := strconv.ParseBool(text)
	if err != nil {
		c.Bag.Add(diag.Errorf("Invalid environment variable", "The environment variable %s must be true or false, not %q.", name, text))
	}
	return set, err == nil
}
