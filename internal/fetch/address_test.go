package fetch

import (
	"runtime"
	"strings"
	"testing"
)

// TestParseSource checks that source addresses are parsed and recorded as in Terraform and OpenTofu.
func TestParseSource(t *testing.T) {
	for text, want := range map[string]string{
		"acme/net/aws":                         "registry registry.opentofu.org/acme/net/aws",
		"acme/net/aws//sub/dir":                "registry registry.opentofu.org/acme/net/aws sub sub/dir",
		"example.com/acme/net/aws":             "registry example.com/acme/net/aws",
		"localhost:99/acme/net/aws":            "registry localhost:99/acme/net/aws",
		"github.com/acme/net":                  "git https://github.com/acme/net.git",
		"github.com/acme/net/":                 "git https://github.com/acme/net.git",
		"github.com/acme/net/a/b?ref=v1":       "git https://github.com/acme/net.git ref v1 sub a/b",
		"github.com/acme/net.git/a//b/":        "git https://github.com/acme/net.git sub a/b",
		"github.com/acme/net//a/../b":          "git https://github.com/acme/net.git sub b",
		"git::github.com/acme/net//a?ref=v1":   "git https://github.com/acme/net.git ref v1 sub a",
		"git::github.com/acme/net/a":           "git https://github.com/acme/net.git sub a",
		"git::bitbucket.org/acme/net":          "git https://bitbucket.org/acme/net.git",
		"git::/srv/x//a?ref=v1":                "git file:///srv/x ref v1 sub a",
		"git::HTTPS://example.com/net.git":     "git https://example.com/net.git",
		"git://example.com/net.git//a":         "git git://example.com/net.git sub a",
		"git::https://example.com/x?depth=0":   "git https://example.com/x",
		"HTTPS://example.com/m.zip":            "archive https://example.com/m.zip",
		"github.com/acme/net.git//a?ref=v1":    "git https://github.com/acme/net.git ref v1 sub a",
		"bitbucket.org/acme/net":               "git https://bitbucket.org/acme/net.git",
		"git@example.com:acme/net.git":         "git ssh://git@example.com/acme/net.git",
		"git@example.com:acme/net.git//a":      "git ssh://git@example.com/acme/net.git sub a",
		"git@example.com:/srv/net.git":         "git ssh://git@example.com/srv/net.git",
		"git@my_alias:acme/net.git?ref=v1":     "git ssh://git@my_alias/acme/net.git ref v1",
		"git::example.com:net.git//a?ref=v1":   "git example.com:net.git ref v1 sub a",
		"git::example.com:/srv/net.git":        "git example.com:/srv/net.git",
		"git::https://example.com/net.git":     "git https://example.com/net.git",
		"git::ssh://git@example.com:22/x//y/z": "git ssh://git@example.com:22/x sub y/z",
		"git::git@example.com:net?ref=a/b":     "git ssh://git@example.com/net ref a/b",
		"git::file:///srv/x.git?depth=1&ref=v": "git file:///srv/x.git ref v depth 1",
		"https://example.com/m.zip":            "archive https://example.com/m.zip",
		"https://example.com/m.tgz//a?token=x": "archive https://example.com/m.tgz?token=x sub a",
		"/srv/modules/x":                       "local /srv/modules/x",
		"file:///srv/modules/x":                "local /srv/modules/x",

		"hg::https://example.com/x":             "error Mercurial",
		"s3::https://s3.amazonaws.com/b/x.zip":  "s3 https://s3.amazonaws.com/b/x.zip",
		"s3-eu-west-1.amazonaws.com/b/x.zip//a": "s3 https://s3-eu-west-1.amazonaws.com/b/x.zip sub a",
		"b.s3.amazonaws.com/x.zip?version=1":    "s3 https://b.s3.amazonaws.com/x.zip?version=1",
		"https://s3.amazonaws.com/b/x.zip":      "archive https://s3.amazonaws.com/b/x.zip",
		"www.googleapis.com/storage/v1/b/x.zip": "gcs https://www.googleapis.com/storage/v1/b/x.zip",
		"oci://example.com/x//a?tag=v1":         "image example.com/x v1 sub a",
		"oci://example.com/x?tag=a&digest=b":    "error only a tag or a digest",
		"oci://example.com":                     "error tag or a digest",
		"svn::https://example.com/x":            "error not a known kind of source",
		"git::ext::sh -c true":                  "error ",
		"git::ext://x":                          "error not ext",
		"git::file:x":                           "error no git repository",
		"https:/example.com/m.zip":              "error not the address of a module",
		"git::-oProxyCommand=x:y":               "error no git repository",
		"git::https://example.com/x?ref=--help": "error not the name of a revision",
		"git::https://example.com/x?depth=x":    "error number of commits",
		"github.com/acme/net/../x":              "error github.com/OWNER/REPOSITORY",
		"github.com/acme":                       "error github.com/OWNER/REPOSITORY",
		"github.com//acme/net":                  "error not the address of a module",
		"bitbucket.org/acme/net/a":              "error bitbucket.org/OWNER/REPOSITORY",
		"git::gitlab.com/acme/net":              "error no git repository",
		"git::ssh://example.com/x?sshkey=a":     "error sshkey must be",
		"git::ssh://example.com/x?sshkey=S0VZ":  "git ssh://example.com/x key KEY",
		"git::https://example.com/x?foo=bar":    "error not \"foo\"",
		"acme/net/aws//../up":                   "error ",
		"https://example.com/m.zip//../..":      "error leads out",
		"acme/net":                              "error not the address of a module",
		"":                                      "error not the address of a module",
	} {
		if runtime.GOOS == "windows" && strings.Contains(text, "/srv/") {
			continue // TestParseSourceOfWindows
		}
		s, err := parseSource(text, "registry.opentofu.org")
		if problem, ok := strings.CutPrefix(want, "error "); ok {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := describe(s); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func describe(s *moduleSource) string {
	out := ""
	switch {
	case s.registry != nil:
		out = "registry " + s.registry.String()
	case s.git != nil:
		out = "git " + s.git.url
		if s.git.ref != "" {
			out += " ref " + s.git.ref
		}
		if s.git.depth != 0 {
			out += " depth " + string(rune('0'+s.git.depth))
		}
		if s.git.key != "" {
			out += " key " + s.git.key
		}
	case s.bucket != "":
		out = s.bucket + " " + s.archive.String()
	case s.archive != nil:
		out = "archive " + s.archive.String()
	case s.image != nil:
		out = "image " + s.image.repository + " " + s.image.reference
	default:
		out = "local " + s.local
	}
	if s.sub != "" {
		out += " sub " + s.sub
	}
	return out
}

func TestRecorded(t *testing.T) {
	for text, want := range map[string]string{
		"acme/net/aws//sub":                "registry.opentofu.org/acme/net/aws//sub",
		"github.com/acme/net//a?ref=v1":    "git::https://github.com/acme/net.git//a?ref=v1",
		"git@example.com:acme/net.git":     "git::ssh://git@example.com/acme/net.git",
		"git::example.com:net.git//a":      "git::example.com:net.git//a",
		"https://example.com/m.zip//a?x=1": "https://example.com/m.zip//a?x=1",
		"/srv/modules/x":                   "file:///srv/modules/x",
		"github.com/acme/net/a?ref=v1":     "git::https://github.com/acme/net.git//a?ref=v1",
		"git::/srv/x":                      "git::file:///srv/x",
	} {
		if runtime.GOOS == "windows" && strings.Contains(text, "/srv/") {
			continue
		}
		if s, err := parseSource(text, "registry.opentofu.org"); err != nil || s.recorded() != want {
			t.Errorf("%s: %v, %s", text, err, s.recorded())
		}
	}
}

// TestDisplay checks that credentials are not shown. User names of SSH are shown.
func TestDisplay(t *testing.T) {
	for text, want := range map[string]string{
		"git::ssh://git@example.com/net.git":     "git::ssh://git@example.com/net.git",
		"git::ssh://me:canary@example.com/x":     "git::ssh://example.com/x",
		"git::https://canary@example.com/x":      "git::https://example.com/x",
		"HTTPS://me:canary@example.com/x":        "HTTPS://example.com/x",
		"https://example.com/x?token=canary&a=b": "https://example.com/x?token=…&a=b",
	} {
		if got := Display(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	if got := SecretsIn("git::HTTPS://canary@example.com/x"); len(got) != 1 || got[0] != "canary" {
		t.Error(got)
	}
}

func FuzzParseSource(f *testing.F) {
	f.Add("git::ssh://git@example.com:22/x//y/z?ref=v1")
	f.Add("acme/net/aws//sub")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSource(text, "registry.opentofu.org")
		if err == nil && !clean(s.sub) {
			t.Errorf("%q leads out: %q", text, s.sub)
		}
	})
}

// TestPackageName checks that the name of a package in the lock file does not depend on credentials or on the way to
// fetch it.
func TestPackageName(t *testing.T) {
	for text, want := range map[string]string{
		"acme/net/aws//sub":                                        "registry.opentofu.org/acme/net/aws",
		"github.com/acme/net//a?ref=v1":                            "git::https://github.com/acme/net.git?ref=v1",
		"git::https://you:canary@example.com/x//a?depth=1&ref=v1":  "git::https://example.com/x?ref=v1",
		"git@example.com:acme/net.git":                             "git::ssh://git@example.com/acme/net.git",
		"git::ssh://git:canary@example.com/net.git":                "git::ssh://git@example.com/net.git",
		"https://you:canary@example.com/x.zip//a?v=1&token=canary": "https://example.com/x.zip?v=1",
		"s3::https://s3.amazonaws.com/b/x.zip?aws_access_key_id=canary&aws_access_key_secret=canary&version=1": "s3::https://s3.amazonaws.com/b/x.zip?version=1",
		"https://b.s3.amazonaws.com/x.zip?X-Amz-Signature=canary&X-Amz-Credential=canary":                      "https://b.s3.amazonaws.com/x.zip",
		"oci://example.com/x//a?tag=v1": "oci://example.com/x?tag=v1",
		"file:///srv/modules/x":         "",
	} {
		s, err := parseSource(text, "registry.opentofu.org")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.name(); got != want {
			t.Errorf("%s: %s", text, got)
		}
		if got := display(text); strings.Contains(got, "canary") {
			t.Errorf("shown as %s", got)
		}
	}
}
