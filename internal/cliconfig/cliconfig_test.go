package cliconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/state"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFilesOfAnEnvironment checks that TF_CLI_CONFIG_FILE names the only file. Without it, the first file in the home
// directory is read, and the files with the suffixes .tfrc and .tfrc.json in the user's directory.
func TestFilesOfAnEnvironment(t *testing.T) {
	home, xdg := t.TempDir(), t.TempDir()
	for _, f := range append(slices.Clone(names), userDirName+"/b.tfrc", userDirName+"/a.tfrc.json", userDirName+"/other") {
		write(t, filepath.Join(home, f), "")
	}
	write(t, filepath.Join(xdg, "opentofu/tofurc"), "")
	write(t, filepath.Join(xdg, "opentofu/c.tfrc"), "")
	in := func(dir string, files ...string) []string {
		for i := range files {
			files[i] = filepath.Join(dir, files[i])
		}
		return files
	}
	for _, tt := range []struct {
		env  map[string]string
		want []string
	}{
		{map[string]string{}, nil},
		{map[string]string{homeVariable: home, "TF_CLI_CONFIG_FILE": "/x"}, []string{"/x"}},
		{map[string]string{homeVariable: home, "XDG_CONFIG_HOME": xdg}, in(home, names[0], userDirName+"/b.tfrc", userDirName+"/a.tfrc.json")},
		{map[string]string{"XDG_CONFIG_HOME": xdg}, in(xdg, "opentofu/tofurc", "opentofu/c.tfrc")},
	} {
		if d := cmp.Diff(tt.want, Files(func(name string) string { return tt.env[name] })); d != "" {
			t.Errorf("%v: %s", tt.env, d)
		}
	}
}

// TestLoad checks that both syntaxes are read, that files that cannot be opened are omitted, and that mistakes are
// reported.
func TestLoad(t *testing.T) {
	home := t.TempDir()
	write(t, filepath.Join(home, names[1]), `
"plugin_cache_dir" = "/cache/${name}"
close_timeout = "30s"
forget_data = "all"
registry_protocols {
  retry_count             = 5
  request_timeout_seconds = 30
}
provider_installation {
  dev_overrides { "lethe/x" = "/dev/x" }
  filesystem_mirror {
    path    = "/mirror"
    include = ["lethe/*"]
  }
  direct { download_retry_count = 4 }
  network_mirror {
    url                  = "https://m.example/"
    trust_all_hashes     = true
  }
}
host "example.com" {
  services = { "modules.v1" = "https://example.com/m" }
}
credentials "example.com" { token = "t" }
`)
	if err := os.Mkdir(filepath.Join(home, userDirName), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, userDirName, "x.tfrc.json"), `{"close_timeout": "1m", "credentials_helper": {"h": {"args": ["a"]}}}`)
	if err := os.Mkdir(filepath.Join(home, userDirName, "y.tfrc"), 0o755); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{homeVariable: home}[name] }
	var bag diag.Bag
	var skipped []string
	s, ok := Load(getenv, limits.Limits{}, &diag.Sources{}, &bag, func(file string, _ error) { skipped = append(skipped, filepath.Base(file)) })
	if !ok || bag.Len() > 0 {
		t.Fatalf("%t, %v", ok, bag.List())
	}
	x, err := addr.ParseProvider("lethe/x")
	if err != nil {
		t.Fatal(err)
	}
	four, five := 4, 5
	want := &Settings{
		PluginCacheDir: "/cache/${name}", CloseTimeout: time.Minute, ForgetData: state.ForgetAll, Installs: true,
		Overrides:   map[addr.Provider]string{x: "/dev/x"},
		Sources:     []Installation{{Method: "filesystem_mirror", Path: "/mirror", Include: []string{"lethe/*"}}, {Method: "direct", Retries: &four}, {Method: "network_mirror", Path: "https://m.example/", Trusted: true}},
		Registries:  Registries{Retries: &five, Timeout: 30 * time.Second},
		Hosts:       map[string]map[string]string{"example.com": {"modules.v1": "https://example.com/m"}},
		Credentials: map[string]string{"example.com": "t"}, Helper: []string{"h", "a"},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"y.tfrc"}, skipped); d != "" {
		t.Error(d)
	}
	if (&Settings{}).Parse([]byte("defer_ephemerals = [\n"), "x.tfrc", limits.Limits{}, &bag); !bag.HasErrors() {
		t.Error("a mistake is not reported")
	}
}

// TestListsForObjects checks that a list in the place of an object is an error.
func TestListsForObjects(t *testing.T) {
	var bag diag.Bag
	s := &Settings{}
	src := "host \"a\" {\n  services = [\"x\"]\n}\nprovider_installation {\n  dev_overrides = [\"/x\"]\n}\n"
	if s.Parse([]byte(src), "x.tfrc", limits.Limits{}, &bag) || len(s.Overrides) > 0 {
		t.Errorf("%+v, %v", s, bag.List())
	}
}

// TestMistakes checks that unknown and invalid settings are reported with their line and without secrets, and that
// Parse returns false if one of the reports is an error.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`plugin_cach_dir = "x"`:    `1: There is no setting named "plugin_cach_dir", so this has no effect. Did you mean "plugin_cache_dir"?`,
		`plugin_cache = "x"`:       `1: There is no setting named "plugin_cache", so this has no effect. Did you mean "plugin_cache_dir"?`,
		`plugin_cache_directory=1`: `1: There is no setting named "plugin_cache_directory", so this has no effect. Did you mean "plugin_cache_dir"?`,
		`disable_checkpoint = true
providers {}`: "",
		`credential "x" {}`:        `1: There is no setting named "credential", so this has no effect. Did you mean "credentials"?`,
		`other = 1`:                ``,
		`credentials "no host" {}`: `1: The label of a credentials block is the name of a host, such as "registry.example.com", not "no host".`,
		`host "no host" {}`:        `1: The label of a host block is the name of a host, such as "registry.example.com", not "no host".`,
		"credentials_helper \"a\" {}\ncredentials_helper \"b\" {}":                                                       `2: There is already a credentials_helper block, for "a", and Lethe uses only one. Remove one of the blocks.`,
		"provider_installation {}\nprovider_installation {}":                                                             `2: There is already a provider_installation block. Merge the blocks.`,
		`provider_installation = 3`:                                                                                      `1: The setting "provider_installation" must be a block, without an equals sign. Otherwise it has no effect.`,
		"provider_installation {\n  direct {\n    exclude = [\"Registry.Example.com/acme/*\", \"acme/ne*\"]\n  }\n}":     `2: The pattern "acme/ne*" selects no provider. A pattern is an address such as "registry.example.com/acme/net" or "acme/net", in which "*" matches any part.`,
		"provider_installation {\n  direct {\n    exclude = [\"*\"]\n  }\n}":                                             `2: The pattern "*" selects no provider.`,
		"provider_installation {\n  direct {\n    include = [\"*/*\", \"*/*/*\", \"x.com/*/net\"]\n  }\n}":               ``,
		`provider_installation { dev_overrides { "lethe/x" = "/x" } filesystem_mirror { path = "/m" } direct {} }`:       ``,
		"provider_installation {\n  dev_overrides = {\n    \"a/b\" = \"/x\"\n    \"a/ c\" = \"/x\"\n  }\n  direct {}\n}": `4: "a/ c" is not the source address of a provider, such as "acme/net": `,
		"provider_installation {\n  dev_overrides = {\n    \"a/b\" = \"/x\"\n    \"a/c\" = 3\n  }\n  direct {}\n}":       `4: The entry for "a/c" has to be a directory with the executable of the provider.`,
		"provider_installation {\n  dev_overrides {\n    \"a/b\" = \"/x\"\n    a = []\n  }\n  direct {}\n}":              `4: The entry for "a" has to be a directory`,
		"provider_installation {\n  oci_mirror {\n    repository_template = \"x.com/${type\"\n  }\n}":                    `3: There is no closing brace for this interpolation sequence`,
		`host "a.example" { services = { "modules.v1" = "https://b.example/" } }`:                                        ``,
		`close_timeout = "-1s"`: `1: The setting "close_timeout" must be a duration such as "30s" or "5m", not "-1s".`,
		`forget_data = "some"`:  `1: The setting "forget_data" `,
		`vendor_dir = nope`:     `1: Variables may not be used here.`,
		`plugin_cache_dir = []`: `1: The setting "plugin_cache_dir" has to be a string.`,
		"credentials \"x.com\" {\n  token = [\"canary-1d7e\"]\n}":                                                                                  `2: The argument "token" has to be a string.`,
		"credentials \"x.com\" {\n  tokn = \"canary-1d7e\"\n}":                                                                                     `2: A credentials block takes the argument "token", not "tokn".`,
		"credentials \"x.com\" {\n  token = \"canary-1d7e\"\n  note = \"canary-1d7e\"\n}":                                                          `3: A credentials block takes only the argument "token", so "note" has no effect.`,
		"oci_credentials \"x.com\" {\n  pasword = \"canary-1d7e\"\n}":                                                                              `2: An oci_credentials block takes`,
		"credentials_helper \"x\" {\n  args = \"y\"\n}":                                                                                            `2: The argument "args" has to be a list of strings`,
		"host \"x.com\" {\n  services = { a = \"https://y/%{z}\" }\n}":                                                                             `2: The address of the service "a" is not valid`,
		"host \"x.com\" {\n  services = { a = \"ftp://y/\" }\n}":                                                                                   `2: The address of the service "a" is not valid`,
		"host \"x.com\" {\n  services = { a = \"/v1/\", b = \"http://y\" }\n}":                                                                     ``,
		"host \"x.com\" {\n  services = { a = 1 }\n}":                                                                                              `2: The argument "services" has to be an object of strings`,
		"provider_installation {\n  direct {\n    exclude = \"a/b\"\n  }\n}":                                                                       `3: The argument "exclude" has to be a list of strings`,
		"provider_installation {\n  filesystem_mirror {\n    path = []\n  }\n}":                                                                    `3: The argument "path" has to be a string.`,
		"provider_installation {\n  network_mirror {\n  }\n}":                                                                                      `2: A network_mirror block needs the argument url, the location of the providers.`,
		"provider_installation {\n  filesystem_mirror {\n    url = \"x\"\n  }\n}":                                                                  `2: A filesystem_mirror block needs the argument path, the location of the providers.`,
		"registry_protocols {\n  retry_count = -1\n}":                                                                                              `2: The argument "retry_count" has to be a whole number, 0 or more.`,
		"registry_protocols {\n  retries = 1\n}":                                                                                                   `2: A registry_protocols block takes the arguments retry_count and request_timeout_seconds, not "retries".`,
		"registry_protocols {\n  request_timeout_seconds = 0\n}":                                                                                   `2: The argument "request_timeout_seconds" has to be a whole number, 1 or more.`,
		"oci_credentials \"x.com\" {}":                                                                                                             `1: The oci_credentials block for "x.com" needs exactly one of these: username and password, access_token and refresh_token, or docker_credentials_helper.`,
		"oci_credentials \"x.com\" {\n  username = \"a\"\n}":                                                                                       `1: The oci_credentials block for "x.com" needs both`,
		"oci_credentials \"https://x.com\" {\n  username = \"a\"\n}":                                                                               `1: The label of an oci_credentials block is a host`,
		"oci_credentials \"x.com/y\" {\n  docker_credentials_helper = \"a\"\n}":                                                                    `1: A credential helper of Docker supports hosts`,
		"oci_default_credentials {\n  discover_ambient_credentials = 3\n}":                                                                         `2: The argument "discover_ambient_credentials" has to be true or false.`,
		"oci_default_credentials {\n  docker_style_config_files = [\"/none\"]\n}":                                                                  `2: The file "/none"`,
		"provider_installation {\n  oci_mirror {}\n}":                                                                                              `2: An oci_mirror block needs the argument repository_template, the location`,
		"provider_installation {\n  oci_mirror {\n    repository_template = \"x.com/${nam}\"\n  }\n}":                                              `3: The argument repository_template is not valid: There is no variable named "nam". It may name ${hostname}, ${namespace} and ${type}.`,
		"provider_installation {\n  oci_mirror {\n    repository_template = \"https://x.com/${type}\"\n  }\n}":                                     `3: The argument repository_template is not valid: it produces "https://x.com/any"`,
		"provider_installation {\n  oci_mirror {\n    repository_template = \"x.com/${type}\"\n  }\n}":                                             `3: Several providers would share one repository. Add ${namespace}`,
		"provider_installation {\n  oci_mirror {\n    repository_template = \"x.com/${type}\"\n    include = [\"acme/*\", \"a.b/acme/*\"]\n  }\n}": ``,
		"provider_installation {\n  network_mirror {\n    url = \"http://x.com\"\n  }\n}":                                                          `3: The URL of the network mirror is not valid: the address of a network mirror must begin with https://`,
		"registry_protocols {}\nregistry_protocols {}":                                                                                             `2: There is already a registry_protocols block.`,
		"provider_installation {\n  direct {\n    trust_all_hashes = true\n  }\n}":                                                                 `3: The direct block takes no argument "trust_all_hashes".`,
		"provider_installation {\n  filesystem_mirror {\n    path = \"x\"\n    download_retry_count = 2\n  }\n}":                                   `4: The filesystem_mirror block takes no argument "download_retry_count".`,
		"host \"x.com\" {\n  services = { \"login.v1\" = { client = \"terraform\" } }\n}":                                                          ``,
	} {
		var bag diag.Bag
		if ok := (&Settings{}).Parse([]byte(text+"\n"), "x.tfrc", limits.Limits{}, &bag); ok == bag.HasErrors() {
			t.Errorf("%q: Parse returns %t, but reports %v", text, ok, bag.List())
		}
		got := ""
		for _, d := range bag.List() {
			got = fmt.Sprintf("%d: %s", d.Subject.Start.Line, d.Detail)
			if strings.Contains(got, "canary") {
				t.Errorf("%q shows the secret: %s", text, got)
			}
			if strings.HasPrefix(got, want) {
				break
			}
		}
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestOverridesInJSON checks that dev_overrides in JSON may be an object or a list of objects.
func TestOverridesInJSON(t *testing.T) {
	for _, text := range []string{
		`{"provider_installation": {"dev_overrides": {"acme/a": "/a", "acme/b": "/b"}, "direct": {}}}`,
		`{"provider_installation": [{"dev_overrides": [{"acme/a": "/a"}, {"acme/b": "/b"}], "direct": [{}]}]}`,
		`{"provider_installation": {"dev_overrides": [{"acme/a": "/a", "acme/b": "/b"}], "direct": {}}}`,
	} {
		var bag diag.Bag
		s := &Settings{}
		if !s.Parse([]byte(text), "x.tfrc.json", limits.Limits{}, &bag) || len(s.Overrides) != 2 {
			t.Errorf("%s: %v %v", text, s.Overrides, bag.List())
		}
	}
	var bag diag.Bag
	if (&Settings{}).Parse([]byte(`{"provider_installation": {"dev_overrides": ["/x"]}}`), "x.tfrc.json", limits.Limits{}, &bag) {
		t.Error("a list of texts is accepted")
	}
}
