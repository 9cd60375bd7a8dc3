package states

import (
	"github.com/lethe-iac/lethe/internal/cli/plugins"
	"github.com/lethe-iac/lethe/internal/provider"
)

// storePlugins starts the providers of state stores. Their processes are separate from the provider processes of the
// configuration. Lethe starts them without its keeper (the process that starts the other providers). They end after all
// states are unlocked, even after an interrupt.
type storePlugins struct {
	*plugins.Installation
	pool *provider.Pool // nil before the first use
}

// Pool returns the pool that starts each provider at its first use. The first call creates the pool.
func (p *storePlugins) Pool() *provider.Pool {
	if p.pool == nil {
		p.pool = provider.NewPool(p.Processes())
	}
	return p.pool
}

func (p *storePlugins) close() {
	if p.pool != nil {
		_ = p.pool.Close() // at the end of the command, the error has no consequence
	}
}
