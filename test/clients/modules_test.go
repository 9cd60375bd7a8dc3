package clients

import (
	"path/filepath"
	"sync"

	"github.com/lethe-iac/lethe/test/providers/source"
)

// timeProvider and randomProvider build published providers once, and return their paths.
var (
	timeProvider   = built(source.Module{Path: "github.com/hashicorp/terraform-provider-time", Version: "v0.14.2"})
	randomProvider = built(source.Module{Path: "github.com/terraform-providers/terraform-provider-random", Version: "v1.3.2-0.20260513075824-f8d869dc98d9"})
)

// built returns a function that builds the program of a module at its first call, and returns the path.
func built(m source.Module) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		base, err := dir()
		if err != nil {
			return "", err
		}
		src, err := m.Copy(base)
		if err != nil {
			return "", err
		}
		path := filepath.Join(base, filepath.Base(m.Path))
		return path, source.Go(src, "build", "-o", path, ".")
	})
}

// nullProvider builds the replacement of the null provider once, and returns its path.
var nullProvider = sync.OnceValues(func() (string, error) {
	return build(".", "./cmd/terraform-provider-null", "terraform-provider-null")
})
