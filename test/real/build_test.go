// Package real runs Lethe with published providers, unchanged.
package real

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/test/providers/source"
)

var long = os.Getenv("LETHE_LONG") != ""

// lethe returns the path of the program: the program in LETHE_BIN if that is set, and otherwise a build, which it makes
// once.
var lethe = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("LETHE_BIN"); bin != "" {
		return bin, nil
	}
	d, err := dir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(d, "lethe")
	return path, source.Build("../..", "./cmd/lethe", path)
})

// dir returns the directory for built programs, which TestMain removes.
var dir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "real") })

func TestMain(m *testing.M) {
	code := m.Run()
	if d, err := dir(); err == nil {
		os.RemoveAll(d)
	}
	os.Exit(code)
}

// must returns a function that returns v, or ends the test if err is not nil.
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// product is one published provider in one version.
type product struct {
	name    string // the type in the provider's address, such as random
	owner   string // the namespace; "": hashicorp
	version string // the version that its authors assigned
	source.Module
	tests string // the Go package with the acceptance tests

	from func() (string, error) // returns the directory of the source
	exec func() (string, error) // returns the path of the built program
}

// newProduct returns a product that downloads its source and builds its program when they are first needed. If the
// directory LETHE_PROVIDER_SOURCES has the source, it copies that instead.
func newProduct(p product) *product {
	if p.owner == "" {
		p.owner = "hashicorp"
	}
	p.from = sync.OnceValues(func() (string, error) {
		base, err := dir()
		if err != nil {
			return "", err
		}
		if at := os.Getenv("LETHE_PROVIDER_SOURCES"); at != "" {
			from, to := filepath.Join(at, "terraform-provider-"+p.name), filepath.Join(base, p.name)
			if _, err := os.Stat(from); err == nil {
				return to, os.CopyFS(to, os.DirFS(from))
			}
		}
		return p.Copy(base)
	})
	p.exec = sync.OnceValues(func() (string, error) {
		src, err := p.from()
		if err != nil {
			return "", err
		}
		path := filepath.Join(src, "terraform-provider-"+p.name)
		return path, source.Go(src, "build", "-o", path, ".")
	})
	return &p
}

// offer adds the provider with the versions to the mirror of a home directory, where programs search by default. All
// versions have the same program. Without versions it does not build the program.
func (p *product) offer(t *testing.T, home string, versions ...string) {
	t.Helper()
	if len(versions) == 0 {
		return
	}
	program := must(p.exec())(t)
	for _, v := range versions {
		at := filepath.Join(home, ".terraform.d/plugins/registry.terraform.io", p.owner, p.name, v, runtime.GOOS+"_"+runtime.GOARCH)
		check(t, os.MkdirAll(at, 0o755))
		check(t, os.Symlink(program, filepath.Join(at, "terraform-provider-"+p.name+"_v"+v)))
	}
}
