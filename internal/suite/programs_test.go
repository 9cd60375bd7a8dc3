package suite

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/mock"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
)

func inDirectory(dir string) *config.Tree {
	return &config.Tree{Root: &config.Node{Module: &config.Module{Dir: dir}}}
}

// Runs that test the module of one directory share the tree of the module. If their test files make the same changes to
// the module, they also share its program.
func TestProgramsAreSharedByRunsThatAgree(t *testing.T) {
	var p programs
	p.reset(inDirectory("."))
	load := func(dir string) *config.Tree {
		tree, source, ok := p.tree(func() (*config.Tree, bool) { return inDirectory(dir), true })
		if !ok || source != dir {
			t.Fatalf("%s: %v, %v", dir, source, ok)
		}
		return tree
	}
	if a := load("a"); a != load("a") || a == load("b") {
		t.Error("a directory has one tree")
	}
	if _, _, ok := p.tree(func() (*config.Tree, bool) { return nil, false }); ok {
		t.Error("a module that cannot be loaded has no tree")
	}
	made := 0
	for _, key := range []programKey{{module: "a"}, {module: "a"}, {module: "a", file: "x", providers: "p"}, {module: "b"}, {module: "a"}} {
		p.program(key, func() *compiled { made++; return &compiled{} })
	}
	if made != 3 {
		t.Errorf("%d programs", made)
	}
	p.reset(inDirectory("."))
	p.program(programKey{module: "a"}, func() *compiled { made++; return &compiled{} })
	if made != 4 {
		t.Error("a reset keeps no program")
	}
}

// A mocked configuration uses its mock; other configurations use their processes. The calls for leases are always
// recorded.
func TestDoublesAreSubstitutes(t *testing.T) {
	imitated := addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("t"), Alias: "m"}}
	genuine := addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("t")}}
	m := &mocked{provider: &mock.Provider{}}
	var d provider.Substitutes = &doubles{mocks: map[addr.ProviderConfig]*mocked{imitated.ProviderConfig: m}, leases: &leaseLog{}}
	if d.Configuration(imitated) != provider.Provider(m.provider) || d.Configuration(genuine) != nil {
		t.Error("the mock serves its own configuration and no other")
	}
	p := &providertest.Fake{}
	managed := addr.Instance{Mode: addr.Managed, Type: "t_item", Name: "a"}
	if d.Object(managed, p) != provider.Provider(p) {
		t.Error("an object of a real provider has another one")
	}
	if got, is := d.Object(managed, m.provider).(*mock.Object); !is || got.Of != managed {
		t.Errorf("%T serves an object of the mock", d.Object(managed, m.provider))
	}
	lease := managed
	lease.Mode = addr.Ephemeral
	if _, is := d.Object(lease, p).(*watched); !is {
		t.Errorf("%T serves a lease", d.Object(lease, p))
	}
}
