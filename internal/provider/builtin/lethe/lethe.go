// Package lethe is the built-in provider terraform.io/builtin/lethe: what the everyday handling of
// secrets needs, without a plugin and without a server.
//
//	ephemeral "lethe_random"       a password, or random bytes
//	ephemeral "lethe_file"         what a secret file holds
//	ephemeral "lethe_exec"         what a program hands out, as a lease
//	ephemeral "lethe_ssh_tunnel"   an address that leads through an SSH server
//	resource  "lethe_secret_file"  a secret file of our own; its content is write-only
//	data      "lethe_null"         what it was given, for trying things out
//
// Everything here runs in our own process and sees values without their marks. So no diagnostic
// holds a value, neither of the configuration nor of a file or program; those that need a place
// name the attribute, whose line the user sees.
package lethe

import (
	"context"
	"os"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
)

// New makes the provider.
func New(o Options) *Provider {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Provider{o: o}
	p.life, p.giveUp = context.WithCancel(context.Background())
	p.Provider = &builtin.Provider{
		Address:   addr.Builtin("lethe"),
		Resources: map[string]*builtin.Resource{"lethe_secret_file": p.secretFile()},
		Data:      map[string]*builtin.Data{"lethe_null": null()},
		Ephemerals: map[string]*builtin.Ephemeral{
			"lethe_exec":       p.exec(),
			"lethe_file":       p.file(),
			"lethe_random":     random(),
			"lethe_ssh_tunnel": p.tunnel(),
		},
	}
	return p
}

// Stop gives up what is being opened or renewed at this moment. What is open stays open until it is
// closed, is renewed until then, and closing goes on.
func (p *Provider) Stop(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveUp()
	p.life, p.giveUp = context.WithCancel(context.Background())
	return nil
}

// Shutdown takes down what is still open in this process: no user of it is left.
func (p *Provider) Shutdown() error {
	_ = p.Stop(context.Background())
	p.tunnels.closeAll()
	return nil
}
