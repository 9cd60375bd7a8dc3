package cliconfig

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// TestOCIFiles checks that the entry with the longest matching address has precedence among the files of other
// programs.
func TestOCIFiles(t *testing.T) {
	file := func(entries ...string) string {
		var out []string
		for _, e := range entries {
			key, name, _ := strings.Cut(e, " ")
			access := "{}"
			if name != "" {
				access = fmt.Sprintf(`{"auth": %q}`, base64.StdEncoding.EncodeToString([]byte(name+":secret")))
			}
			out = append(out, fmt.Sprintf("%q: %s", key, access))
		}
		return `{"auths": {` + strings.Join(out, ", ") + "}}"
	}
	c := user(t, &Settings{}, map[string]string{
		".config/containers/auth.json": file("a.example/team one", "a.example/team/net two", "b.example/x three", "c.example ", "d.example/x/y four"),
		".docker/config.json":          file("a.example host", "https://b.example/v1/ old", "c.example five", "docker.io/me six", "https://index.docker.io/v1/ hub", "d.example/x seven"),
	})
	for repository, want := range map[string]string{
		"a.example/team/net":     "two",
		"a.example/team/net/sub": "two",
		"a.example/team/other":   "one",
		"a.example/teams":        "host",
		"b.example/y":            "old", // the entry for b.example/x does not apply
		"b.example/x":            "three",
		"c.example/any":          "five", // an empty entry for a repository is ignored
		"d.example/x/y":          "four",
		"d.example/x/z":          "seven",
		"d.example/z":            "",
		"docker.io/me/net":       "six",
		"docker.io/you/net":      "hub",
		"e.example/x":            "",
	} {
		host, path, _ := strings.Cut(repository, "/")
		got, err := c.OCI(t.Context(), host, path)
		if err != nil || got.Username != want {
			t.Errorf("%s: %q, %v; want %q", repository, got.Username, err, want)
		}
	}
	c = user(t, &Settings{}, map[string]string{".docker/config.json": `{"auths": []}`})
	if _, err := c.OCI(t.Context(), "a.example", "x"); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("%v does not name the file", err)
	}
}
