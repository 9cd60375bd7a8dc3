package workspacecmd

import (
	"context"
	"errors"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store"
)

// ForceUnlock is the command `force-unlock`.
var ForceUnlock = &base.Command{
	Name: "force-unlock", Args: "LOCK_ID", Short: "Release a stuck lock on the current workspace",
	Long: "Removes the lock on the state of the current workspace. Use it only if you are\nsure that no other process uses the state. It does not change infrastructure.",
	Examples: [][2]string{
		{"lethe force-unlock 7f3a9c1e-5b2d-4e8f-9a6b-1c2d3e4f5a6b", "Release a lock by the ID that the error names"},
	},
	Setup: base.Flags(func(c *base.Call, f *unlockFlags) {
		c.Flags.BoolVar(&f.force, "force", false, "Don't ask for input for unlock confirmation.")
		f.VarFlags(c)
	}, runForceUnlock),
}

type unlockFlags struct {
	workdir.Options
	force bool
}

func runForceUnlock(ctx context.Context, c *base.Call, f *unlockFlags) int {
	st, ok := states.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	stores, ok := st.OpenAll(ctx)
	if !ok {
		return c.UI.Fail()
	}
	if !c.Approve(base.Approval{
		Given: f.force, Title: "Do you really want to force-unlock?", For: "confirm", Use: "-force", Refused: "force-unlock cancelled.",
		Note: "Lethe will remove the lock on the remote state.\nThis will allow local Lethe commands to modify this state, even though it\nmay still be in use.",
	}) {
		return c.UI.Fail()
	}
	if err := unlock(ctx, stores, workdir.Workspaces(c).Selected(), c.Operands[0]); errors.Is(err, errNoLocks) {
		c.Bag.Add(diag.Errorf("Local state cannot be unlocked by another process", "%s.", store.Sentence(err)))
		return c.UI.Fail()
	} else if err != nil {
		why := strings.TrimSpace(err.Error())
		if !strings.Contains(why, "\n") { // a text of several lines ends with the description of another lock
			why += "."
		}
		c.Bag.Add(diag.Errorf("Failed to unlock state", "Nothing was unlocked: %s", why))
		return c.UI.Fail()
	}
	c.UI.Print(c.Renamed("Lethe state has been successfully unlocked!\n\nThe state has been unlocked, and Lethe commands should now be able to\nobtain a new lock on the remote state.\n"))
	return c.UI.Done(base.ExitOK)
}

var errNoLocks = errors.New("this backend has no locks that another process can release")

// unlock releases the lock with the given ID of the named workspace, in the first store that has this lock. If all
// stores fail, it returns the error of the first store that supports releasing, or errNoLocks if no store supports it.
func unlock(ctx context.Context, stores []store.Store, name, id string) error {
	why := errNoLocks
	for _, st := range stores {
		breaker := st.Capabilities().Breaker
		if breaker == nil {
			continue
		}
		err := breaker.Break(ctx, name, id)
		if err == nil {
			return nil
		}
		if why == errNoLocks {
			why = err // the lock is most likely in the first store, so the error of this store is the most useful
		}
	}
	return why
}
