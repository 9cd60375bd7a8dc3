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
	"path/filepath"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/subprocess"
	"github.com/zclconf/go-cty/cty"
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
	if filepath.IsAbs(s) {
		return s
	}
	return filepath.Join(p.o.Dir, s)
}

// getenv looks a variable up, "" if it is not set.
func (p *Provider) getenv(name string) string { return subprocess.Getenv(p.o.Env, name) }

// What follows makes schemas and reads values.

func describe(what string, attrs ...*schema.Attr) *schema.Schema {
	b := schema.Arguments(attrs...)
	b.Description = what
	return &schema.Schema{Block: b}
}

func computed(name string, ty cty.Type, what string) *schema.Attr {
	return &schema.Attr{Name: name, Type: ty, Computed: true, Description: what}
}

func optionalComputed(name string, ty cty.Type, what string) *schema.Attr {
	return &schema.Attr{Name: name, Type: ty, Optional: true, Computed: true, Description: what}
}

// duration is an argument such as "90s" or "5m"; ok is false where it is set, known and none.
func duration(obj cty.Value, name string, usual time.Duration) (d time.Duration, ok bool) {
	v, set := schema.Argument(obj, name)
	if !set {
		return usual, true
	}
	d, err := time.ParseDuration(v.AsString())
	return d, err == nil && d > 0
}

// refused is the error about an argument.
func refused(name, summary, format string, a ...any) diag.Diagnostic {
	return diag.Errorf(summary, format, a...).In(cty.GetAttrPath(name))
}

// badDuration is the error about an argument that is no duration.
func badDuration(name string) diag.Diagnostic {
	return refused(name, "Invalid duration", `%s must be a duration greater than zero, such as "90s", "5m" or "1h30m".`, name)
}

// fails makes diagnostics of one.
func fails(d diag.Diagnostic) provider.Diags { return provider.Diags{d} }
