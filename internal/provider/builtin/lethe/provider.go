package lethe

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// Options are where the provider finds itself.
type Options struct {
	// Dir is what relative paths start from; "": the directory of the process.
	Dir string
	// Env is the environment: the programs of lethe_exec get it, without the values of variables,
	// and the SSH agent is found in it. nil: that of the process.
	Env []string
	// Now is the wall clock; nil: time.Now.
	Now func() time.Time
}

// Provider is the table of types, with what it holds open.
type Provider struct {
	*builtin.Provider
	o       Options
	tunnels tunnels

	mu     sync.Mutex
	life   context.Context // ends when we are asked to give up what we are doing
	giveUp context.CancelFunc
}

// until gives a context that also ends with Stop.
func (p *Provider) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	stop := context.AfterFunc(p.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// path is a path of the configuration as the system wants it.
func (p *Provider) path(s string) string {
	return cmp.Or(paths.In(p.o.Dir, s), p.o.Dir)
}

// getenv looks a variable up, "" if it is not set.
func (p *Provider) getenv(name string) string { return subprocess.Getenv(p.o.Env, name) }
