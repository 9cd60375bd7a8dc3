package cliconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// TestOlderSyntax checks that the one-line forms of Terraform's older parser are read, and that errors have the line in
// the file.
func TestOlderSyntax(t *testing.T) {
	src := `disable_checkpoint = true plugin_cache_dir = "/c"
credentials "x.com" { token = "a", }
host "a.com" { services { "modules.v1" = "https://m/" "providers.v1" = "https://p/" } } credentials y.my-host.com {token="b"}
provider_installation { direct { exclude = ["a.com/*/*"] include = ["*/*"] } "network_mirror" { "url" = "https://x/", include = ["b/c"] } }
oci_credentials "é.com" { usernam = "x" password = "y" }
`
	var bag diag.Bag
	s := &Settings{}
	s.Parse([]byte(src), "x.tfrc", limits.Limits{}, &bag)
	want := &Settings{
		PluginCacheDir: "/c", Installs: true, OCI: s.OCI,
		Sources: []Installation{
			{Method: "direct", Exclude: []string{"a.com/*/*"}, Include: []string{"*/*"}},
			{Method: "network_mirror", Path: "https://x/", Include: []string{"b/c"}},
		},
		Hosts:       map[string]map[string]string{"a.com": {"modules.v1": "https://m/", "providers.v1": "https://p/"}},
		Credentials: map[string]string{"x.com": "a", "y.my-host.com": "b"},
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	if list := bag.List(); len(list) != 1 || list[0].Subject.String() != "x.tfrc:5,27-34" {
		t.Errorf("%v", list)
	}
	for _, broken := range []string{`"`, `"abc`, `a = "`, `}}]`, `a {`, "a = <<E\n", `"a" {`, `x = "${`} {
		(&Settings{}).Parse([]byte(broken), "x.tfrc", limits.Limits{}, &diag.Bag{})
	}
}

// TestNoSecretInMessages checks that messages of the parser contain no secrets.
func TestNoSecretInMessages(t *testing.T) {
	var bag diag.Bag
	(&Settings{}).Parse([]byte(`{"credentials": {"x.com": {"token": canary}}}`), "x.tfrc.json", limits.Limits{}, &bag)
	if list := bag.List(); len(list) != 1 || strings.Contains(list[0].Detail, "canary") {
		t.Errorf("%v", list)
	}
}
