package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/registry/registrytest"
	"github.com/rogpeppe/go-internal/testscript"
)

// registries are those of the scripts that run, by working directory.
var registries sync.Map

// registryOf gives the command that runs a registry for a script, with https, its own authority, acme/toy (playground,
// as a provider of its own) and the module acme/net/test, whose package is a zip file:
//
//	registry                starts it: $REGISTRY is its host, and what the script runs trusts it
//	registry requests FILE  writes down what it was asked for since the last time
func registryOf(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		dir := ts.MkAbs(".")
		if len(args) == 0 {
			s := registrytest.New(t)
			registries.Store(dir, s)
			ts.Defer(func() { registries.Delete(dir) })
			ts.Setenv("REGISTRY", s.Host)
			ts.Setenv("SSL_CERT_FILE", s.CA)
			ts.Setenv("KEY", s.Key())
			ts.Setenv("HOME", filepath.Join(dir, ".home"))
			ts.Check(os.MkdirAll(filepath.Join(dir, ".home"), 0o755))
			bin, err := playground()
			ts.Check(err)
			program, err := os.ReadFile(filepath.Join(bin, "terraform-provider-playground"))
			ts.Check(err)
			for _, v := range []string{"1.0.0", "1.1.0"} {
				s.Provider(t, "lethe/playground", v, map[string][]byte{
					runtime.GOOS + "_" + runtime.GOARCH: registrytest.Zip(map[string]string{"terraform-provider-playground_v" + v: string(program), "README.md": v}),
					"plan9_386":                         registrytest.Zip(map[string]string{"terraform-provider-playground_v" + v: "plan 9"}),
				})
			}
			for _, v := range []string{"1.0.0", "1.1.0"} {
				text := "output \"version\" {\n  value = \"" + v + "\"\n}\n"
				s.Module("acme/net/test", v, s.Put("/modules/"+v+".zip", registrytest.Zip(map[string]string{"main.tf": text, "sub/main.tf": text})))
			}
			return
		}
		found, ok := registries.Load(dir)
		if !ok || neg {
			ts.Fatalf("there is no registry")
		}
		s := found.(*registrytest.Server)
		switch {
		case args[0] == "requests" && len(args) == 2:
			ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(append(s.Requests(), ""), "\n")), 0o644))
		default:
			ts.Fatalf("usage: registry [requests FILE]")
		}
	}
}

// git makes a repository of a directory, on the branch main, with a tag: git DIR TAG. What is there already gets
// another commit, and the tag moves.
func git(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: git DIR TAG")
	}
	for _, line := range []string{"init -q -b main", "add -A", "commit -q -m change", "tag -f " + args[1]} {
		cmd := exec.Command("git", strings.Fields(line)...)
		cmd.Dir = ts.MkAbs(args[0])
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("git %s: %v\n%s", line, err, out)
		}
	}
}
