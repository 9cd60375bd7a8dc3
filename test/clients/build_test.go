// Package clients runs Lethe with the libraries that other tools are built on.
package clients

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/test/providers/source"
)

// lethe returns the path of the program: the program in LETHE_BIN if that is set, and otherwise a build, which it makes
// once.
var lethe = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("LETHE_BIN"); bin != "" {
		return bin, nil
	}
	return build("../..", "./cmd/lethe", "lethe")
})

// playground builds the playground provider once, and returns its path.
var playground = sync.OnceValues(func() (string, error) {
	return build("../providers", "./cmd/terraform-provider-playground", "terraform-provider-playground")
})

// dir returns the directory for built programs, which TestMain removes.
var dir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "clients") })

// build builds a package of the module in a directory, and returns the path of the program.
func build(in, pkg, name string) (string, error) {
	d, err := dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(d, name)
	return path, source.Build(in, pkg, path)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if d, err := dir(); err == nil {
		os.RemoveAll(d)
	}
	os.Exit(code)
}

// binary returns the path of the program that f builds, or ends the test.
func binary(t *testing.T, f func() (string, error)) string {
	t.Helper()
	path, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// workspace returns a new directory with files, which are given by relative path.
func workspace(t *testing.T, files map[string]string) string {
	t.Helper()
	d := t.TempDir()
	for name, text := range files {
		path := filepath.Join(d, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return d
}
