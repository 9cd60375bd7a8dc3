package cliconfig

import (
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/limits"
)

// user returns the Credentials of a user with an environment and a home directory that contains files.
func user(t *testing.T, s *Settings, files map[string]string, environ ...string) *Credentials {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return &Credentials{Settings: s, Environ: append(environ, "PATH="+os.Getenv("PATH")), Getenv: func(name string) string {
		if name == "HOME" || name == homeVariable {
			return home
		}
		return ""
	}}
}

func TestAuthorize(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the helper is a shell script")
	}
	const netrc = "# machine no.example login a password b\nmachine files.example\n  login me password secret-1\nmacdef init\n  machine x login y password z\n\ndefault login d password secret-2\n"
	s := &Settings{Helper: []string{"vault", "--strict"}}
	var bag diag.Bag
	if !s.Parse([]byte("credentials \"a.example:443\" {\n  token = \"from-file\"\n}\ncredentials \"b-C.example\" {\n  token = \"from-file\"\n}\ncredentials \"BÜCHER.example\" {\n  token = \"named\"\n}\n"), "x.tfrc", limits.Limits{}, &bag) {
		t.Fatal(bag.List())
	}
	helper := map[string]string{".terraform.d/plugins/terraform-credentials-vault": "#!/bin/sh\n[ \"$*\" = '--strict get helped.example' ] && echo '{\"token\":\"from-helper\"}' && exit\n[ \"$3\" = broken.example ] && echo sealed >&2 && exit 1\necho '{}'\n", ".netrc": netrc, ".terraform.d/credentials.tfrc.json": `{"credentials": {"Kept.example": {"token": "kept"}}}`}
	c := user(t, s, helper,
		"TF_TOKEN_b__c_example=from-env", "TF_TOKEN_xn____n3h_example=punycode")
	learned := map[string]bool{}
	c.Learned = func(secret, _ string) { learned[secret] = true }
	for url, want := range map[string]string{
		"https://a.example/x":            "Bearer from-file",
		"https://A.Example/x":            "Bearer from-file",
		"https://bücher.example/x":       "Bearer named",
		"https://xn--bcher-kva.example/": "Bearer named",
		"https://kept.example/":          "Bearer kept",
		"https://a.example:443/x":        "Bearer from-file",
		"https://a.example:8443/x":       "",
		"https://sub.a.example/x":        "",
		"https://b-c.example/":           "Bearer from-env",
		"https://xn--n3h.example/":       "Bearer punycode",
		"https://helped.example/":        "Bearer from-helper", // the helper is asked for hosts of registry services
		"https://helped.example/file":    "Bearer from-helper", // the helper's answer is known from the previous request
		"https://broken.example/file":    "",
		"https://other.example/":         "",
		"https://files.example/":         "Basic bWU6c2VjcmV0LTE=",
		"https://files.example:99/":      "Basic bWU6c2VjcmV0LTE=",
		"https://u:secret-3@in.example/": "Basic dTpzZWNyZXQtMw==",
		"https://u:secret-3@a.example/":  "Basic dTpzZWNyZXQtMw==", // credentials in an address have precedence over the token for the host
		"https://no.example/":            "",
		"https://x/":                     "",
	} {
		r, _ := http.NewRequest("GET", url, nil)
		ctx := t.Context()
		if strings.HasPrefix(url, "https://helped.example/") {
			ctx = download.OnBehalf(ctx, "helped.example", "helped.example")
		}
		if err := c.Authorize(ctx, r); err != nil || r.Header.Get("Authorization") != want {
			t.Errorf("%s: %v, %q", url, err, r.Header.Get("Authorization"))
		}
	}
	for _, secret := range []string{"from-file", "from-env", "from-helper", "secret-1", "secret-3"} {
		if !learned[secret] {
			t.Errorf("%q was not learned", secret)
		}
	}
	if _, err := c.Token(t.Context(), "broken.example"); err == nil || !strings.Contains(err.Error(), "sealed") {
		t.Error(err)
	}
	c.Settings.Helper = []string{"none"}
	if _, err := c.Token(t.Context(), "other2.example"); err == nil || !strings.Contains(err.Error(), "terraform-credentials-none") {
		t.Error(err)
	}
}

// TestNetrc checks that a .netrc file that cannot be read is an error, and that a missing file is empty.
func TestNetrc(t *testing.T) {
	r, _ := http.NewRequest("GET", "https://a.example/", nil)
	for path, want := range map[string]bool{t.TempDir(): true, filepath.Join(t.TempDir(), "none"): false, os.DevNull: false} {
		c := &Credentials{Settings: &Settings{}, Getenv: func(name string) string { return map[string]string{"NETRC": path, "HOME": t.TempDir()}[name] }}
		for range 2 {
			if err := c.Authorize(t.Context(), r); (err != nil) != want {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

// TestKeptWrong checks that errors about an invalid file of tokens do not contain its content, and that Forget removes
// an invalid entry.
func TestKeptWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"credentials": {"a.example": {"token": 17}}}`:      `for a.example must have the form {"token": "TOKEN"}`,
		`{"credentials": {"a.example": "canary"}}`:           `for a.example must have the form {"token": "TOKEN"}`,
		`{"credentials": {"b.example": {"token": 17}}}`:      "",
		`{"credentials": ["canary"]}`:                        `"credentials" in `,
		`["canary"]`:                                         "is not a JSON object: the array at byte 1 is not the kind of JSON value that belongs there",
		`{"credentials": {"a.example": {"token": "canary"}}`: "line 1 is not a JSON object: unexpected end",
		"{\n  \"credentials\": }\n":                          "credentials.tfrc.json line 2 is not a JSON object: invalid character '}'",
		`null`:                                               "is not a JSON object",
		`{}`:                                                 "",
	} {
		c := user(t, &Settings{}, map[string]string{userDirName + "/credentials.tfrc.json": text})
		_, err := c.Token(t.Context(), "a.example")
		said := ""
		if err != nil {
			said = err.Error()
		}
		if (want == "") != (err == nil) || !strings.Contains(said, want) || strings.Contains(said, "canary") {
			t.Errorf("%s: %q, want %q", text, said, want)
		}
		if found, err := c.Forget(t.Context(), "a.example"); found != strings.Contains(want, "the form") || found && err != nil {
			t.Errorf("%s: forgotten: %t, %v", text, found, err)
		}
	}
}
