package statecmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
)

// ReplaceProvider is the command `state replace-provider`.
var ReplaceProvider = &base.Command{
	Name: "state replace-provider", Args: "FROM_PROVIDER_FQN TO_PROVIDER_FQN", Short: "Replace provider in the state",
	Long: "Replace provider for resources in the Lethe state.",
	Examples: [][2]string{
		{"lethe state replace-provider hashicorp/aws registry.acme.corp/acme/aws", "Assign the objects of one provider to another"},
	},
	Setup: base.Flags(func(c *base.Call, f *replaceFlags) {
		c.Flags.BoolVar(&f.autoApprove, "auto-approve", false, "Skip interactive approval.")
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlags(c)
		c.RemoteFlag()
	}, runReplaceProvider),
}

type replaceFlags struct {
	workdir.Options
	autoApprove bool
}

func runReplaceProvider(ctx context.Context, c *base.Call, f *replaceFlags) int {
	var from, to addr.Provider
	for i, p := range []*addr.Provider{&from, &to} {
		var err error
		if *p, err = addr.ParseProvider(c.Operands[i]); err != nil {
			c.Bag.Add(diag.Errorf("Invalid provider source address", "%q is not the source address of a provider: %s.", c.Operands[i], err))
		}
	}
	if c.Bag.HasErrors() {
		return c.UI.Fail()
	}
	return change(ctx, c, &f.Options, operation.Reprovide, func(s *state.Snapshot) (*state.Snapshot, bool) {
		if strings.Count(c.Operands[1], "/") < 2 {
			to = hosted(c, s, from, to)
		}
		next, changed := s.ReplaceProvider(from, to)
		if len(changed) == 0 {
			c.UI.Print("No matching resources found.\n")
			return nil, false
		}
		c.UI.Print(c.Renamed(fmt.Sprintf("Lethe will perform the following actions:\n\n  ~ Updating provider:\n    - %s\n    + %s\n\nChanging %d resources:\n\n", s.Resource(changed[0]).Provider.Provider, to, len(changed))))
		for _, r := range changed {
			c.UI.Print("  " + r.String() + "\n")
		}
		if !c.Approve(base.Approval{Given: f.autoApprove, Title: "Do you want to make these changes?", For: "continue", Use: "-auto-approve", Refused: "Cancelled replacing providers."}) {
			return nil, false
		}
		c.UI.Print(fmt.Sprintf("\nSuccessfully replaced provider for %d resources.\n", len(changed)))
		return next, true
	})
}

// hosted adds a host to the new provider, which the user named without a host: the host that this provider, or else
// most providers, have in the state. It uses the registry of c if the state has neither registry. It also does so if
// the user named the old provider with a host, and the two providers differ only in the host.
func hosted(c *base.Call, s *state.Snapshot, from, to addr.Provider) addr.Provider {
	named := from
	if named.Host = to.Host; named != to || strings.Count(c.Operands[0], "/") < 2 {
		if p, ok := s.HostFor(to); ok {
			return p
		}
	}
	to.Host = c.Registry()
	return to
}
