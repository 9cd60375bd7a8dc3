package suite

import (
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// programs holds the modules under test and their compiled variants. Each module is loaded once, and each variant is
// compiled once.
type programs struct {
	mu    sync.Mutex // locked while a module is loaded or compiled
	trees map[string]*config.Tree
	of    map[programKey]*compiled
}

// reset forgets all modules except the configuration of the working directory.
func (p *programs) reset(root *config.Tree) {
	p.trees, p.of = map[string]*config.Tree{"": root}, map[programKey]*compiled{}
}

// tree calls load and returns the module with its directory. If a module of the same directory was loaded before, tree
// returns the earlier module instead, so that runs share it. It returns false if load fails.
func (p *programs) tree(load func() (*config.Tree, bool)) (*config.Tree, string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tree, ok := load()
	if !ok {
		return nil, "", false
	}
	source := tree.Root.Module.Dir
	if have := p.trees[source]; have != nil {
		return have, source, true
	}
	p.trees[source] = tree
	return tree, source, true
}

// program returns the compiled variant of a module. At the first call for a key it compiles the variant with compile.
func (p *programs) program(key programKey, compile func() *compiled) *compiled {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.of[key]
	if c == nil {
		c = compile()
		p.of[key] = c
	}
	return c
}

// programKey identifies a program: by its module, and by the changes that a test file makes to the module. Without
// changes, file and providers are empty.
type programKey struct{ module, file, providers string }

// compiled is a program, or the reasons why it could not be compiled.
type compiled struct {
	program *program.Program
	tree    *config.Tree
	mocks   map[addr.ProviderConfig]*testfile.Mock
	diags   []diag.Diagnostic
	ok      bool
}
