package guard

import (
	"context"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
)

// Provider calls a provider process about objects. Each call returns an Answer, which only Admit can read.
//
// Two Providers are equal if they call the same process. The zero value has no process.
type Provider struct{ to provider.Provider }

// Of returns the Provider of a process.
func Of(p provider.Provider) Provider { return Provider{p} }

// Addr returns the provider's address.
func (p Provider) Addr() addr.Provider { return p.to.Addr() }

// Process returns the process itself. The ledger of leases needs it to renew and close leases: these calls return no
// values of objects. TestOnlyTheGuardReadsAnswers lists the packages that may call providers directly.
func (p Provider) Process() provider.Provider { return p.to }

// Crashed reports whether the process has crashed during a call.
func (p Provider) Crashed() bool {
	c, ok := p.to.(provider.Crasher)
	return ok && c.Crashed()
}

// Validate checks a configuration. Its answer is only diagnostics.
func (p Provider) Validate(ctx context.Context, mode addr.Mode, typ string, config provider.Dynamic) provider.Diags {
	return p.to.Validate(ctx, mode, typ, config)
}
