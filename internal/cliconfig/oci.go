package cliconfig

import (
	"context"
	"path/filepath"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

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
