package states

import (
	"github.com/lethe-iac/lethe/internal/cli/plugins"
	"github.com/lethe-iac/lethe/internal/provider"
)

// storePlugins starts the providers of state stores. Their processes are separate from the provider processes of the
// configuration. They are not started by the keeper, and end after all states are unlocked: an interrupt does not end
// them before.
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
		_ = p.pool.Close() // no caller is left who could act on its error
	}
}
