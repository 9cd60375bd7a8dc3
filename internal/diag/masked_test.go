package diag

import (
	"strings"
	"testing"
)

// TestMasked checks that a masked file shows no secret, whatever mistakes it contains, and that names and harmless
// values keep their places.
func TestMasked(t *testing.T) {
	for text, want := range map[string]string{
		`credentials "x.com" { token = "canary" tokn = "canary" }`:            `credentials "x.com" { token = ******** tokn = ******** }`,
		"credentials \"x.com\" {\n  token = \"canary\n}\nhost \"a.com\" {\n}": "credentials \"x.com\" {\n  token = *******\n}\nhost \"a.com\" {\n}",
		"token = \"can\nary\"\n": "token = ****\n****\n",
		"credentials \"x.com\" {\n  token = canary-1.2\n  path = \"p\"\n}":                    "credentials \"x.com\" {\n  token = **********\n  path = \"p\"\n}",
		"credentials x { tokn : 'canary canary', url = 'x' }":                                 "credentials x { tokn : ******* *******, url = 'x' }",
		"credentials_helper \"h\" {\n  args = [\"--secret\",\n    \"canary\"]\n}\n":           "credentials_helper \"h\" {\n  args = [**********,\n    ********]\n}\n",
		"token = <<EOT\ncanary\nEOT\n":                                                        "token = *****\n******\n***\n",
		"credentials \"x.com\" {\n  token \"canary\"\n}\n":                                    "credentials \"x.com\" {\n  token ********\n}\n",
		"credentials \"x.com\" { path = \"p\" token canary }\n":                               "credentials \"x.com\" { path = \"p\" ***** ****** }\n",
		"credentials \"x.com\"\n  \"canary\"\n":                                               "credentials *******\n  ********\n",
		"include = [\n  \"a/b\", \"c/d\",\n]\n\"canary\"":                                     "include = [\n  *****, *****,\n]\n********",
		"url = [\n  \"a/b\", \"c/d\",\n]\n\"canary\"":                                         "url = [\n  \"a/b\", \"c/d\",\n]\n********",
		"token\n= \"canary\"\n":                                                               "token\n= ********\n",
		"token =\n\"canary\"\n":                                                               "token =\n********\n",
		`plugin_cach_dir = "/x"`:                                                              `plugin_cach_dir = ****`,
		"provider_installation {\n  dev_overrides { \"a/b\" = \"/d\" }\n  direct {} }\nx = 1": "provider_installation {\n  dev_overrides { \"a/b\" = \"/d\" }\n  direct {} }\nx = *",
		`{"credentials": {"x.com": {"token": "can\"ary", "path": "p"}}, "host": {"a": {"services": {"modules.v1": "u"}}}}`: `{"credentials": {"x.com": {"token": **********, "path": "p"}}, "host": {"a": {"services": {"modules.v1": "u"}}}}`,
		`{"credentials": {"x.com": {"token": canary}}}`:                                                                    `{"credentials": {"x.com": {"token": ******}}}`,
		`url = "https://joe:canary@x.com/"`:                                                                                `url = ***************************`,
		"canary":                                                                                                           "******",
		"canary two\n":                                                                                                     "****** ***\n",
		"credentials x {\n} canary\n":                                                                                      "credentials x {\n} ******\n",
		"x \"a\" {\n  token\n  canary\n}":                                                                                  "x *** {\n  *****\n  ******\n}",
		"x \"canary\" {\n  y \"canary\" \"p\" {\n  }\n}":                                                                   "x ******** {\n  y ******** *** {\n  }\n}",
		"credentials \"services\" {\n  token = \"canary\"\n  dev_overrides \"path\" { token = \"p\" }\n}": "credentials \"services\" {\n  token = ********\n  dev_overrides ****** { token = \"p\" }\n}",
		"token = services { x = \"canary\" }": "token = ******** { x = ******** }",
		"path = {\n  x = \"canary\"\n}":       "path = {\n  x = ********\n}",
		`} ] "`:                               `} ] *`,
	} {
		if got := string(Masked([]byte(text), Harmless{Values: []string{"path", "url"}, Braces: []string{"dev_overrides", "services"}, Labels: []string{"credentials", "credentials_helper", "host", "provider_installation"}})); got != want {
			t.Errorf("%q:\n%q, want\n%q", text, got, want)
		}
	}
}

// TestMaskedWithoutACharacter checks that no secret is shown if any one character is missing.
func TestMaskedWithoutACharacter(t *testing.T) {
	for _, text := range []string{
		"credentials \"x.com\" {\n  token = \"canary\"\n}\nhost \"y.com\" {\n  services = {\n    \"a.v1\" = \"u\"\n  }\n}\ncredentials \"z.com\" { token = \"canary\" }\n",
		"{\n  \"credentials\": {\n    \"x.com\": {\"token\": \"canary\"}\n  },\n  \"path\": \"p\",\n  \"oci\": {\"password\": \"canary\", \"path\": \"p\"}\n}\n",
	} {
		shown := Harmless{Values: []string{"path"}, Braces: []string{"services"}, Labels: []string{"credentials", "host"}}
		for i := range text {
			without := text[:i] + text[i+1:]
			if strings.Count(without, "canary") == 2 && strings.Contains(string(Masked([]byte(without), shown)), "canary") {
				t.Errorf("%q: %q", without, Masked([]byte(without), shown))
			}
		}
	}
}
