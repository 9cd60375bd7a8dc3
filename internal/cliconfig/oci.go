package cliconfig

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// OCIAccess is an oci_credentials block: what a user shows to an OCI registry.
type OCIAccess struct {
	auth.Credential
	Helper string // a credential helper of Docker, by the end of its name; "": the credential itself
}

// OCIDefaults is the oci_default_credentials block: where credentials are looked for that no oci_credentials block has.
type OCIDefaults struct {
	Discover *bool    // discover_ambient_credentials; nil: not set, which is yes
	Files    []string // docker_style_config_files, instead of those that other programs write; nil: not set
	Helper   string   // default_docker_credential_helper
}

// ociAccess reads an oci_credentials block.
func (s *Settings) ociAccess(repository string, attrs hcl.Attributes, bag *diag.Bag) bool {
	var x OCIAccess
	texts := map[string]*string{"username": &x.Username, "password": &x.Password, "access_token": &x.AccessToken, "refresh_token": &x.RefreshToken, "docker_credentials_helper": &x.Helper}
	ok := true
	for name, a := range attrs {
		v, _ := a.Expr.Value(nil)
		if texts[name] == nil || !isText(v) {
			bag.Add(diag.Errorf("Invalid CLI configuration", "An oci_credentials block takes username and password, access_token and refresh_token, or docker_credentials_helper, each a string; not this %q.", name).At(a.Range))
			ok = false
			continue
		}
		*texts[name] = v.AsString()
	}
	put(&s.OCI, repository, x)
	return ok
}

// ociDefaults reads the oci_default_credentials block.
func (s *Settings) ociDefaults(attrs hcl.Attributes, bag *diag.Bag) bool {
	ok := true
	for name, a := range attrs {
		v, _ := a.Expr.Value(nil)
		switch {
		case name == "discover_ambient_credentials" && v.Type() == cty.Bool && v.IsKnown() && !v.IsNull():
			yes := v.True()
			s.OCIDefaults.Discover = &yes
		case name == "docker_style_config_files":
			s.OCIDefaults.Files = append([]string{}, listOf(a, bag)...)
		case name == "default_docker_credential_helper" && isText(v):
			s.OCIDefaults.Helper = v.AsString()
		default:
			bag.Add(diag.Errorf("Invalid CLI configuration", "An oci_default_credentials block takes discover_ambient_credentials, docker_style_config_files and default_docker_credential_helper; not this %q.", name).At(a.Range))
			ok = false
		}
	}
	return ok
}

// RepositoryTemplate reads a template that makes the repository of a provider, such as
// "registry.example.com/${namespace}/${type}", which may name hostname, too.
func RepositoryTemplate(text string) (func(addr.Provider) string, error) {
	e, ds := hclsyntax.ParseTemplate([]byte(text), "template", hcl.InitialPos)
	if ds.HasErrors() {
		return nil, ds
	}
	of := func(p addr.Provider) (cty.Value, error) {
		v, ds := e.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
			"hostname": cty.StringVal(p.Host), "namespace": cty.StringVal(p.Namespace), "type": cty.StringVal(p.Type),
		}})
		if ds.HasErrors() {
			return v, ds
		}
		return convert.Convert(v, cty.String)
	}
	if _, err := of(addr.Provider{Host: addr.DefaultHost, Namespace: addr.DefaultNamespace, Type: "any"}); err != nil {
		return nil, err
	}
	return func(p addr.Provider) string {
		v, err := of(p)
		if err != nil || v.IsNull() {
			return ""
		}
		return v.AsString()
	}, nil
}

// OCI finds the credentials for a repository of an OCI registry: of the oci_credentials block that says most of its
// address, else of the files in which Docker, Podman and their kind keep them. None is the zero value.
func (c *Credentials) OCI(ctx context.Context, host, repository string) (auth.Credential, error) {
	found, err := c.oci(ctx, host, host+"/"+repository)
	for _, secret := range []string{found.Password, found.AccessToken, found.RefreshToken} {
		c.learn(secret, host)
	}
	return found, err
}

func (c *Credentials) oci(ctx context.Context, host, full string) (auth.Credential, error) {
	best, found := OCIAccess{}, ""
	for name, x := range c.Settings.OCI {
		if (full == name || strings.HasPrefix(full, name+"/")) && len(name) > len(found) {
			best, found = x, name
		}
	}
	switch {
	case found != "" && best.Helper == "":
		return best.Credential, nil
	case found != "":
		return credentials.NewNativeStore(best.Helper).Get(ctx, host)
	}
	for _, file := range c.dockerFiles() {
		if !exists(file) {
			continue
		}
		store, err := credentials.NewStore(file, credentials.StoreOptions{})
		if err != nil {
			return auth.EmptyCredential, err
		}
		if have, err := store.Get(ctx, credentials.ServerAddressFromRegistry(host)); err != nil || have != auth.EmptyCredential {
			return have, err
		}
	}
	if helper := c.Settings.OCIDefaults.Helper; helper != "" {
		return credentials.NewNativeStore(helper).Get(ctx, host)
	}
	return auth.EmptyCredential, nil
}

// dockerFiles are the files in which other programs keep credentials for OCI registries.
func (c *Credentials) dockerFiles() []string {
	d := c.Settings.OCIDefaults
	switch {
	case d.Discover != nil && !*d.Discover:
		return nil
	case d.Files != nil:
		return d.Files
	}
	var out []string
	add := func(variable string, name ...string) {
		if dir := c.Getenv(variable); dir != "" {
			out = append(out, filepath.Join(append([]string{dir}, name...)...))
		}
	}
	add("DOCKER_CONFIG", "config.json")
	add("XDG_RUNTIME_DIR", "containers", "auth.json")
	add("XDG_CONFIG_HOME", "containers", "auth.json")
	add("HOME", ".config", "containers", "auth.json")
	add("HOME", ".docker", "config.json")
	return out
}
