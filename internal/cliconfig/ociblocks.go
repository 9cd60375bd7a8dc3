package cliconfig

import (
	"os"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ociAccess reads an oci_credentials block. It returns false if it has reported an error.
func (s *Settings) ociAccess(b *hcl.Block, attrs hcl.Attributes, bag *diag.Bag) bool {
	const ways = "username and password, access_token and refresh_token, or docker_credentials_helper"
	var x OCIAccess
	texts := map[string]*string{"username": &x.Username, "password": &x.Password, "access_token": &x.AccessToken, "refresh_token": &x.RefreshToken, "docker_credentials_helper": &x.Helper}
	ok := true
	for name, a := range attrs {
		if texts[name] == nil {
			bag.Add(diag.Errorf("Invalid CLI configuration", "An oci_credentials block takes the arguments %s, not %q.", ways, name).At(a.NameRange))
			ok = false
			continue
		}
		var good bool
		*texts[name], good = textOf(a, bag)
		ok = ok && good
	}
	name := b.Labels[0]
	host, path, deep := strings.Cut(name, "/")
	_, err := addr.Host(host)
	basic, token, helper := x.Username+x.Password != "", x.AccessToken+x.RefreshToken != "", x.Helper != ""
	report := func(format string, args ...any) {
		bag.Add(diag.Errorf("Invalid CLI configuration", format, args...).At(b.DefRange))
		ok = false
	}
	switch {
	case err != nil || deep && path == "" || strings.Contains(name, "://"):
		report("The label of an oci_credentials block is a host, or a host and the beginning of a repository, such as \"registry.example.com/providers\", not %q.", name)
	case !ok:
	case !basic && !token && !helper, basic && token, basic && helper, token && helper:
		report("The oci_credentials block for %q needs exactly one of these: %s.", name, ways)
	case basic && (x.Username == "" || x.Password == ""):
		report("The oci_credentials block for %q needs both username and password.", name)
	case helper && deep:
		report("A credential helper of Docker supports hosts, not repositories. Set docker_credentials_helper in a block for the whole host, %q.", host)
	}
	put(&s.OCI.Access, name, x)
	return ok
}

// ociDefaults reads the oci_default_credentials block. It returns false if it has reported an error.
func (s *Settings) ociDefaults(attrs hcl.Attributes, bag *diag.Bag) bool {
	ok := true
	for name, a := range attrs {
		good := false
		switch name {
		case "discover_ambient_credentials":
			var yes bool
			if yes, good = flagOf(a, bag); good {
				s.OCI.Defaults.Discover = &yes
			}
		case "docker_style_config_files":
			var files []string
			files, good = listOf(a, bag)
			s.OCI.Defaults.Files = append([]string{}, files...)
			for _, f := range files {
				if !exists(f) {
					bag.Add(diag.Warningf("Invalid CLI configuration", "The file %q for credentials of OCI registries does not exist.", f).At(a.Expr.Range()))
				}
			}
		case "default_docker_credential_helper":
			s.OCI.Defaults.Helper, good = textOf(a, bag)
		default:
			bag.Add(diag.Errorf("Invalid CLI configuration", "An oci_default_credentials block takes the arguments discover_ambient_credentials, docker_style_config_files and default_docker_credential_helper, not %q.", name).At(a.NameRange))
		}
		ok = ok && good
	}
	return ok
}
