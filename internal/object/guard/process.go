package guard

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
)

// Provider calls a provider process about objects. Each call returns an Answer, which only Admit can read.
//
// Two Providers are equal (==) if they call the same process. The zero value has no process, and its methods panic,
// except Crashed and Process.
type Provider struct{ to provider.Provider }

// Of returns the Provider of a process.
func Of(p provider.Provider) Provider { return Provider{p} }

// Addr returns the provider's address.
func (p Provider) Addr() addr.Provider { return p.to.Addr() }

// Process returns the process itself, whose answers no code checks. Package lease needs the process to renew and close
// ephemeral resources: these calls return no values of objects. The test TestOnlyTheGuardReadsAnswers lists the
// packages that may call providers directly.
func (p Provider) Process() provider.Provider { return p.to }

// Crashed reports whether the process has crashed during a call. It returns false if the provider cannot tell.
func (p Provider) Crashed() bool {
	c, ok := p.to.(provider.Crasher)
	return ok && c.Crashed()
}

// Validate makes the call that validates a configuration of the type typ. The answer has only diagnostics, so it needs
// no check by Admit.
func (p Provider) Validate(ctx context.Context, mode addr.Mode, typ string, config provider.Dynamic) provider.Diags {
	return p.to.Validate(ctx, mode, typ, config)
}
