package lethe

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// Options are the settings of the provider.
type Options struct {
	// Address is the address of the provider. The zero value means terraform.io/builtin/lethe.
	Address addr.Provider
	// Dir is the absolute path from which relative paths start.
	Dir string
	// Env is the environment for the programs of lethe_exec, which receive it without the values of input variables. It
	// also has the variable that names the SSH agent. nil means the environment of the process.
	Env []string
	// Now returns the current time; nil means time.Now.
	Now func() time.Time

	run string // identifies this process; all sessions of the provider have the same value
}

// Provider is the built-in provider lethe with its settings and open leases.
type Provider struct {
	*builtin.Provider
	o       Options
	tunnels tunnels
	keys    versionKeys // the keys for digests of secrets; Configure sets them

	mu     sync.Mutex
	life   context.Context // ends with Stop; calls that open or renew leases end with it
	giveUp context.CancelFunc
}

// until returns a context that ends with ctx or at the next call of Stop, and a function that releases the context.
func (p *Provider) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	stop := context.AfterFunc(p.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// path returns the absolute path for a path in the configuration. An empty path means p.o.Dir.
func (p *Provider) path(s string) string {
	return cmp.Or(paths.In(p.o.Dir, s), p.o.Dir)
}

// getenv returns the value of an environment variable, or "" if it is not set.
func (p *Provider) getenv(name string) string { return subprocess.Getenv(p.o.Env, name) }
