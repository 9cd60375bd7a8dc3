// Package programtest compiles programs from texts, for tests of packages that use programs.
package programtest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Compile compiles a root module. root is the text of the root module. called is the text of a second module, which may
// be empty. Each module call leads to the second module, with any source. The test fails if the configuration
// cannot be loaded or compiled.
func Compile(t *testing.T, root, called string) *program.Program {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.tf": root, "m/main.tf": called} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	resolve := func(addr.Module, *config.Call, *config.Node, *diag.Bag) (string, string, string, bool) {
		return filepath.Join(dir, "m"), "./m", "", true
	}
	var bag diag.Bag
	tree, ok := config.LoadTree(dir, config.Options{}, resolve, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	p, ok := program.Compile(tree, &bag)
	if !ok {
		t.Fatal(bag.List())
	}
	return p
}
