package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// TestDependenciesArePatched checks that the compiler and all linked modules are the newest patch releases, which
// contain the security fixes. It queries the module proxy, and runs only with LETHE_LONG.
func TestDependenciesArePatched(t *testing.T) {
	if os.Getenv("LETHE_LONG") == "" {
		t.Skip("set LETHE_LONG to ask the module proxy")
	}
	file := goMod(t)
	have := map[string]string{"go": strings.TrimPrefix(file.Toolchain.Name, "go")}
	args := []string{"list", "-m", "-versions", "-json", "go"}
	for _, r := range file.Require {
		if !r.Indirect {
			have[r.Mod.Path] = r.Mod.Version
			args = append(args, r.Mod.Path)
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct {
			Path     string
			Versions []string
		}
		if err := list.Decode(&m); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if newer := patch(have[m.Path], m.Versions); newer != "" {
			t.Errorf("%s is %s, and there is %s: run \"go get %s@%s\" in each module, or set the toolchain", m.Path, have[m.Path], newer, m.Path, newer)
		}
	}
}

func goMod(t *testing.T) *modfile.File {
	t.Helper()
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil || file.Toolchain == nil {
		t.Fatalf("go.mod names no toolchain: %v", err)
	}
	return file
}

// patch returns the newest patch release of a version in all, or "" if all has no newer one. A patch release has the
// same major and minor version. Below version 1 it has only the same major version, because those modules have their
// fixes in minor releases.
func patch(have string, all []string) string {
	series := func(v string) string {
		if v = canonical(v); semver.Major(v) == "v0" {
			return "v0"
		}
		return semver.MajorMinor(v)
	}
	newest := have
	for _, v := range all {
		if series(v) == series(have) && semver.Prerelease(canonical(v)) == "" && semver.Compare(canonical(v), canonical(newest)) > 0 {
			newest = v
		}
	}
	if newest == have {
		return ""
	}
	return newest
}

// canonical returns a version with a leading "v", which versions of Go lack.
func canonical(v string) string { return "v" + strings.TrimPrefix(v, "v") }

func TestPatch(t *testing.T) {
	all := []string{"v0.9.0", "v0.10.0", "v1.2.0", "v1.2.9", "v1.2.10", "v1.2.11-rc1", "v1.3.0"}
	for have, want := range map[string]string{"v1.2.0": "v1.2.10", "v1.2.10": "", "v1.3.0": "", "v0.9.0": "v0.10.0", "v0.10.0": "", "v2.0.0": ""} {
		if got := patch(have, all); got != want {
			t.Errorf("%s: %q", have, got)
		}
	}
	if got := patch("1.26.8", []string{"1.26.8", "1.26.11", "1.26rc1", "1.27.0"}); got != "1.26.11" {
		t.Errorf("%q", got)
	}
}

// TestToolchain checks that a release is compiled by the toolchain of go.mod, whichever toolchain is installed.
func TestToolchain(t *testing.T) {
	want := "GOTOOLCHAIN=" + goMod(t).Toolchain.Name
	env, err := environment("..")
	if err != nil || !slices.Contains(env, want) {
		t.Errorf("%v, %v", env, err)
	}
	if _, err := environment(t.TempDir()); err == nil {
		t.Error("a release of no module is made")
	}
}
