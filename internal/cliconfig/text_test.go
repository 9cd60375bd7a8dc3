package cliconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// TestMasked: of a file that is shown nothing can be read that may be a secret, whatever is wrong with it; names, and what
// is no secret, stay, each where it was.
func TestMasked(t *testing.T) {
	for text, want := range map[string]string{
		`credentials "x.com" { token = "canary" tokn = "canary" }`:            `credentials "x.com" { token = ******** tokn = ******** }`,
		"credentials \"x.com\" {\n  token = \"canary\n}\nhost \"a.com\" {\n}": "credentials \"x.com\" {\n  token = *******\n}\nhost \"a.com\" {\n}",
		"token = \"can\nary\"\n": "token = ****\n****\n",
		"credentials \"x.com\" {\n  token = canary-1.2\n  path = \"p\"\n}":                    "credentials \"x.com\" {\n  token = **********\n  path = \"p\"\n}",
		"credentials x { tokn : 'canary canary', url = 'x' }":                                 "credentials x { tokn : ******* *******, url = 'x' }",
		"credentials_helper \"h\" {\n  args = [\"--secret\",\n    \"canary\"]\n}\n":           "credentials_helper \"h\" {\n  args = [**********,\n    ********]\n}\n",
		"token = <<EOT\ncanary\nEOT\n":                                                        "token = *****\n******\n***\n",
		"token =\n\"canary\"\n":                                                               "token =\n********\n",
		`plugin_cach_dir = "/x"`:                                                              `plugin_cach_dir = ****`,
		"provider_installation {\n  dev_overrides { \"a/b\" = \"/d\" }\n  direct {} }\nx = 1": "provider_installation {\n  dev_overrides { \"a/b\" = \"/d\" }\n  direct {} }\nx = *",
		`{"credentials": {"x.com": {"token": "can\"ary", "path": "p"}}, "host": {"a": {"services": {"modules.v1": "u"}}}}`: `{"credentials": {"x.com": {"token": **********, "path": "p"}}, "host": {"a": {"services": {"modules.v1": "u"}}}}`,
		`{"credentials": {"x.com": {"token": canary}}}`:                                                                    `{"credentials": {"x.com": {"token": ******}}}`,
		`} ] "`: `} ] "`,
	} {
		if got := string(masked([]byte(text))); got != want {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
	}
}

// TestOlderSyntax: what Terraform's older parser takes in one line is taken, and a mistake is told where it stands.
func TestOlderSyntax(t *testing.T) {
	src := `disable_checkpoint = true plugin_cache_dir = "/c"
credentials "x.com" { token = "a", }
host "a.com" { services { "modules.v1" = "https://m/" "providers.v1" = "https://p/" } } credentials "y.com" {token="b"}
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
		Credentials: map[string]string{"x.com": "a", "y.com": "b"},
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

// TestNoSecretInMessages: nor is what the parser says of a secret.
func TestNoSecretInMessages(t *testing.T) {
	var bag diag.Bag
	(&Settings{}).Parse([]byte(`{"credentials": {"x.com": {"token": canary}}}`), "x.tfrc.json", limits.Limits{}, &bag)
	if list := bag.List(); len(list) != 1 || strings.Contains(list[0].Detail, "canary") {
		t.Errorf("%v", list)
	}
}
