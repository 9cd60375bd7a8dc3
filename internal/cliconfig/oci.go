package cliconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/paths"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// OCI returns the credentials for a repository of an OCI registry. It uses the first of these sources that has
// credentials:
//
//   - the oci_credentials block with the longest matching address
//   - the files of Docker, Podman and similar programs
//   - the default credential helper
//
// It returns the zero value if no credentials exist.
func (c *Credentials) OCI(ctx context.Context, host, repository string) (auth.Credential, error) {
	found, err := c.oci(ctx, host, host+"/"+repository)
	for _, secret := range []string{found.Password, found.AccessToken, found.RefreshToken} {
		c.learn(secret, host)
	}
	return found, err
}

func (c *Credentials) oci(ctx context.Context, host, full string) (auth.Credential, error) {
	best, found := OCIAccess{}, ""
	for name, x := range c.Settings.OCI.Access {
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
	if have, err := c.docker(ctx, host, full); err != nil || have != auth.EmptyCredential {
		return have, err
	}
	if helper := c.Settings.OCI.Defaults.Helper; helper != "" {
		return credentials.NewNativeStore(helper).Get(ctx, host)
	}
	return auth.EmptyCredential, nil
}

// docker returns the credentials for a repository from the files of Docker and similar programs. It uses the entry with
// the longest matching address. If several entries are equally long, the first file takes precedence. Credential
// helpers match only whole hosts.
func (c *Credentials) docker(ctx context.Context, host, full string) (auth.Credential, error) {
	type source struct {
		matched int // length of the matching address
		store   credentials.Store
		key     string
	}
	server := credentials.ServerAddressFromRegistry(host)
	whole := ociAddress(server)
	full = whole + strings.TrimPrefix(full, host) + "/"
	var sources []source
	for _, file := range c.dockerFiles() {
		if !exists(file) {
			continue
		}
		var has struct {
			Auths   map[string]any
			Store   string            `json:"credsStore"`
			Helpers map[string]string `json:"credHelpers"`
		}
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &has)
		}
		if err != nil {
			return auth.EmptyCredential, fmt.Errorf("%s cannot be read: %w", file, err)
		}
		plain, err := credentials.NewFileStore(file)
		if err != nil {
			return auth.EmptyCredential, err
		}
		for _, key := range slices.Sorted(maps.Keys(has.Auths)) {
			if address := ociAddress(key); strings.HasPrefix(full, address+"/") {
				sources = append(sources, source{len(address), plain, key})
			}
		}
		if has.Store == "" && has.Helpers[server] == "" {
			continue
		}
		helped, err := credentials.NewStore(file, credentials.StoreOptions{})
		if err != nil {
			return auth.EmptyCredential, err
		}
		sources = append(sources, source{len(whole), helped, server})
	}
	slices.SortStableFunc(sources, func(a, b source) int { return b.matched - a.matched })
	for _, x := range sources {
		if have, err := x.store.Get(ctx, x.key); err != nil || have != auth.EmptyCredential {
			return have, err
		}
	}
	return auth.EmptyCredential, nil
}

// ociAddress returns the address to which an entry in a file of Docker applies: a host, or a host and the beginning of
// a repository. For the URL of an old Docker service it returns the host.
func ociAddress(key string) string {
	_, after, schemed := strings.Cut(key, "://")
	if !schemed {
		after = key
	}
	host, path, _ := strings.Cut(strings.TrimRight(after, "/"), "/")
	if host == "docker.io" {
		host = "index.docker.io"
	}
	if path == "" || path == "v1" || path == "v2" {
		return host
	}
	return host + "/" + path
}

// dockerFiles returns the files in which other programs store credentials for OCI registries.
func (c *Credentials) dockerFiles() []string {
	d := c.Settings.OCI.Defaults
	switch {
	case d.Discover != nil && !*d.Discover:
		return nil
	case d.Files != nil:
		return d.Files
	}
	var out []string
	add := func(dir string, name ...string) {
		if dir != "" {
			out = append(out, filepath.Join(append([]string{dir}, name...)...))
		}
	}
	home := paths.Home(c.Getenv)
	add(c.Getenv("DOCKER_CONFIG"), "config.json")
	add(c.Getenv("XDG_RUNTIME_DIR"), "containers", "auth.json")
	add(c.Getenv("XDG_CONFIG_HOME"), "containers", "auth.json")
	add(home, ".config", "containers", "auth.json")
	add(home, ".docker", "config.json")
	return out
}
