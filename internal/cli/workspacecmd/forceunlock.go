package workspacecmd

import (
	"context"
	"errors"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state/store"
)

// ForceUnlock is `force-unlock`.
var ForceUnlock = &base.Command{
	Name: "force-unlock", Args: "LOCK_ID", Short: "Release a stuck lock on the current workspace",
	Long: "Manually unlock the state for the defined configuration. This will not modify\nyour infrastructure. It removes the lock on the state; do this only if you are\nsure that no other user works on it.",
	Examples: [][2]string{
		{"lethe force-unlock 7f3a9c1e-5b2d-4e8f-9a6b-1c2d3e4f5a6b", "Release a lock by the ID that the error names"},
	},
	Setup: base.Flags(func(c *base.Call, f *unlockFlags) {
		c.Flags.BoolVar(&f.force, "force", false, "Don't ask for input for unlock confirmation.")
		f.VarFlags(c)
	}, runForceUnlock),
}

type unlockFlags struct {
	project.Options
	force bool
}

func runForceUnlock(ctx context.Context, c *base.Call, f *unlockFlags) int {
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	stores, ok := p.OpenStores(ctx)
	if !ok {
		return c.UI.Fail()
	}
	if !c.Approve(base.Approval{
		Given: f.force, Title: "Do you really want to force-unlock?", For: "confirm", Use: "-force", Refused: "force-unlock cancelled.",
		Note: "Lethe will remove the lock on the remote state.\nThis will allow local Lethe commands to modify this state, even though it\nmay still be in use.",
	}) {
		return c.UI.Fail()
	}
	if err := unlock(ctx, stores, project.Workspaces(c).Selected(), c.Operands[0]); errors.Is(err, errNoLocks) {
		c.Bag.Add(diag.Errorf("Local state cannot be unlocked by another process", "%s.", store.Sentence(err)))
		return c.UI.Fail()
	} else if err != nil {
		c.Bag.Add(diag.Errorf("Failed to unlock state", "Nothing was unlocked: %s.", err))
		return c.UI.Fail()
	}
	c.UI.Print(c.Renamed("Lethe state has been successfully unlocked!\n\nThe state has been unlocked, and Lethe commands should now be able to\nobtain a new lock on the remote state.\n"))
	return c.UI.Done(base.ExitOK)
}

var errNoLocks = errors.New("this backend has no locks that another process could release")

// unlock takes a lock away, in whichever of the stores it is.
func unlock(ctx context.Context, stores []store.Store, name, id string) error {
	why := errNoLocks
	for _, st := range stores {
		breaker, ok := store.As[store.Breaker](st)
		if !ok {
			continue
		}
		err := breaker.Break(ctx, name, id)
		if err == nil {
			return nil
		}
		if why == errNoLocks {
			why = err // what is wrong in the former store says more than that the lock is not in the next one
		}
	}
	return why
}
