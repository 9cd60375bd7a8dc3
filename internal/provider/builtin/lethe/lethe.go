// Package lethe is the built-in provider terraform.io/builtin/lethe. It handles common cases of secrets without a
// plugin and without a server.
//
//	ephemeral "lethe_random"       a password, or random bytes
//	ephemeral "lethe_file"         the content of a secret file
//	ephemeral "lethe_exec"         a lease that a program issues
//	ephemeral "lethe_ssh_tunnel"   a local address that is forwarded through an SSH server
//	resource  "lethe_secret_file"  a secret file; its content is write-only
//	resource  "lethe_secret_version" a number that increases when a secret changes
//	data      "lethe_null"         returns its arguments, for experiments
//	function  deepmerge            merges objects and maps at all levels
//
// The provider runs in Lethe's process and receives values without their marks. Therefore, a diagnostic does not
// contain values of the configuration, of a file or of a program. A diagnostic about an argument has the path of the
// attribute, so that the user sees its line.
package lethe

import (
	"context"
	"crypto/rand"
	"os"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
)

// New creates the provider.
func New(o Options) *Provider {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Address.IsZero() {
		o.Address = addr.Builtin("lethe")
	}
	if o.run == "" {
		o.run = rand.Text()
	}
	p := &Provider{o: o}
	p.life, p.giveUp = context.WithCancel(context.Background())
	p.Provider = &builtin.Provider{
		Address:  o.Address,
		Settings: p.settings(),
		Resources: map[string]*builtin.Resource{
			"lethe_secret_file":    p.secretFile(),
			"lethe_secret_version": p.secretVersion(),
		},
		Data: map[string]*builtin.Data{"lethe_null": null()},
		Ephemerals: map[string]*builtin.Ephemeral{
			"lethe_exec":       p.exec(),
			"lethe_file":       p.file(),
			"lethe_random":     random(),
			"lethe_ssh_tunnel": p.tunnel(),
		},
		Functions: map[string]*builtin.Function{"deepmerge": deepmerge()},
	}
	return p
}

// Session returns a provider with the same options, but with separate settings and leases. Each provider configuration
// uses one.
func (p *Provider) Session() provider.Provider { return New(p.o) }

// Stop cancels the running calls that open or renew leases. Open leases remain open: they can be renewed and must be
// closed.
func (p *Provider) Stop(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveUp()
	p.life, p.giveUp = context.WithCancel(context.Background())
	return nil
}

// Shutdown closes all tunnels that are still open in this process. At this time, no resource or provider uses them.
func (p *Provider) Shutdown() error {
	_ = p.Stop(context.Background())
	p.tunnels.closeAll()
	return nil
}
