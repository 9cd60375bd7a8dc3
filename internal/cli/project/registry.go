package project

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/oci"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/registry"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/view"
)

// Hosts are what a command has for hosts that belongs to the user and to no working directory: the registries, and the
// user's credentials.
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

// credentialsOf are the user's. What is secret in them is kept out of what is printed.
func credentialsOf(c *base.Call, s *cliconfig.Settings) *cliconfig.Credentials {
	return &cliconfig.Credentials{Settings: s, Getenv: c.Getenv, Environ: c.Environ, Learned: func(text, host string) {
		c.Secrets.Add(text, secret.Origin{Addr: "the credentials for " + host, Kind: secret.Setting})
	}}
}

// agent is how this command names itself to servers.
func agent(c *base.Call) string {
	if more := strings.TrimSpace(c.Getenv("TF_APPEND_USER_AGENT")); more != "" {
		return "lethe/" + base.Version + " " + more
	}
	return "lethe/" + base.Version
}

// retries is how often a request is made again that failed for a reason that may pass, where nothing says otherwise.
const retries = 3

// newRegistry is how this command asks registries: as itself, with the user's credentials.
func newRegistry(c *base.Call, s *cliconfig.Settings, credentials *cliconfig.Credentials) (*registry.Registry, bool) {
	client := &download.Client{
		Header:    http.Header{"User-Agent": {agent(c)}, "X-Terraform-Version": {base.Version}},
		Authorize: credentials.Authorize,
	}
	seconds, ok1 := number(c, "TF_REGISTRY_CLIENT_TIMEOUT", int(s.RegistryTimeout/time.Second))
	client.Timeout = time.Duration(seconds) * time.Second
	often := retries
	if s.RegistryRetries != nil {
		often = *s.RegistryRetries
	}
	var ok2 bool
	client.Retries, ok2 = number(c, "TF_REGISTRY_DISCOVERY_RETRY", often)
	instead, ok3 := defaultRegistry(c, s)
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if !proxied(c.Getenv(name)) {
			c.Bag.Add(diag.Errorf("Invalid environment variable", "The environment variable %s must be the address of a proxy, such as \"http://proxy.example.com:3128\".", name)) // it may have a password
			ok3 = false
		}
	}
	signed, ok4 := yes(c, "OPENTOFU_ENFORCE_GPG_VALIDATION")
	unexpired, ok5 := yes(c, "OPENTOFU_ENFORCE_GPG_EXPIRATION")
	return &registry.Registry{
		Client: client, Hosts: s.Hosts, Default: instead, Signed: signed, Unexpired: unexpired,
	}, ok1 && ok2 && ok3 && ok4 && ok5
}

// proxied reports whether a text names a proxy, or none. One that cannot be read would be passed over in silence, and
// servers be asked without it, or what its beginning is taken for.
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

// defaultRegistry is the host that is asked for what is in the public registries; "": these.
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
		c.Bag.Add(diag.Errorf("Invalid environment variable", "The environment variable %s must be the host of a registry, and not %q.", variable, host))
	default:
		c.Bag.Add(diag.Errorf("Invalid CLI configuration", "The setting \"default_registry\" must be the host of a registry, and not %q.", host))
	}
	return "", false
}

// newImages is how this command asks OCI registries.
func newImages(r *registry.Registry, retries int, credentials *cliconfig.Credentials) *oci.Client {
	return &oci.Client{Transport: r.Client.Transport, Header: http.Header{"User-Agent": r.Client.Header["User-Agent"]}, Credential: credentials.OCI, Retries: retries}
}

// number reads an environment variable that is a number, if it is set.
func number(c *base.Call, name string, unset int) (int, bool) {
	text := c.Getenv(name)
	if text == "" {
		return unset, true
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		c.Bag.Add(diag.Errorf("Invalid environment variable", "The environment variable %s must be a whole number, 0 or more, and not %q.", name, text))
		return unset, false
	}
	return n, true
}

// yes reads an environment variable that is true or false.
func yes(c *base.Call, name string) (set, ok bool) {
	text := c.Getenv(name)
	if text == "" {
		return false, true
	}
	set, err := strconv.ParseBool(text)
	if err != nil {
		c.Bag.Add(diag.Errorf("Invalid environment variable", "The environment variable %s must be true or false, and not %q.", name, text))
	}
	return set, err == nil
}

// InstallModules lets loading install modules that come from elsewhere, newer ones too with upgrade. What is
// under way goes to note. Of a load that fails what it installed is remembered.
func (p *Project) InstallModules(ctx context.Context, upgrade bool, note func(string)) {
	p.Modules.Upgrade, p.Modules.Note = upgrade, note
	p.install = ctx
}

// cacheDir is a directory that a user has for all working directories; "" where there is no place.
func cacheDir(c *base.Call, name string) string {
	if dir := c.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lethe", name)
	}
	if home := c.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".cache", "lethe", name)
	}
	return ""
}

// cliConfig reads the CLI configuration files. One that cannot be opened is warned of on standard
// error, also by commands that print a document.
func cliConfig(c *base.Call, l limits.Limits) (*cliconfig.Settings, bool) {
	getenv := func(name string) string {
		v := c.Getenv(name)
		if name == "TF_CLI_CONFIG_FILE" || name == "TERRAFORM_CONFIG" {
			v = paths.In(c.Start, v)
		}
		return v
	}
	s, ok := cliconfig.Load(getenv, l, c.Sources, &c.Bag, func(file string, err error) {
		human := view.NewHuman(c.Stderr, c.Stderr, c.ViewOptions())
		human.Diagnostics([]diag.Diagnostic{diag.Warningf("Unable to open CLI configuration file", "The CLI configuration file at %q is left out: %s.", file, disk.Reason(err))})
	})
	for a, dir := range s.Overrides {
		s.Overrides[a] = os.Expand(dir, c.Getenv)
	}
	return s, ok
}
