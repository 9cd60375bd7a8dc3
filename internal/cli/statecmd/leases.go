package statecmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/view/stateview"
)

// LeasesList is `leases list`.
var LeasesList = &base.Command{
	Name: "leases list", Short: "List leases that were left open",
	Long: "Lists the leases of ephemeral resources that runs of this workspace opened here and,\nas far as is known, did not live to close: address, provider, when each was opened\nand by which run. Leases that a run has open at this moment are marked.",
	Examples: [][2]string{
		{"lethe leases list", "List what may still be open"},
		{"lethe leases list -json", "The same for a program"},
	},
	Setup: base.Flags(func(c *base.Call, f *project.Options) {
		c.JSONFlag()
		f.VarFlags(c)
		f.StateFlag(c)
	}, runLeasesList),
	Result: true,
}

func runLeasesList(ctx context.Context, c *base.Call, f *project.Options) int {
	_, at, ok := selected(ctx, c, f)
	if !ok {
		return c.UI.Fail()
	}
	left, ok := at.ReadNotes(ctx)
	if !ok {
		return c.UI.Fail()
	}
	var err error
	switch {
	case c.View.JSON:
		err = stateview.LeasesJSON(c.Stdout, left.Leases, left.Running)
	case len(left.Leases) == 0:
		c.UI.Print("No lease was left open, as far as is known here.\n")
	default:
		err = stateview.LeasesText(c.Stdout, left.Leases, left.Running)
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the leases", "%s.", err))
	}
	return c.UI.DoneQuiet()
}

// LeasesClose is `leases close`.
var LeasesClose = &base.Command{
	Name: "leases close", Args: "ADDRESS...", Short: "Take leases off the list that are closed by now",
	Long: "Settles leases that runs left open. A provider needs data to close a lease that only\nthe run had that opened it: they are secret, and never stored. So Lethe cannot close\nthem any more; it says what to revoke, and takes off the list what you say is over.",
	Examples: [][2]string{
		{"lethe leases close ephemeral.vault_token.ci", "Settle a lease that was revoked by hand"},
	},
	Setup: base.Flags(func(c *base.Call, f *leasesFlags) {
		c.Flags.BoolVar(&f.autoApprove, "auto-approve", false, "Skip interactive approval: the leases are over.")
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlag(c)
	}, runLeasesClose),
}

type leasesFlags struct {
	project.Options
	autoApprove bool
}

func runLeasesClose(ctx context.Context, c *base.Call, f *leasesFlags) int {
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	ws, ok := p.LockState(ctx, "", "leases-close")
	if !ok {
		return c.UI.Fail()
	}
	notes := ws.Notes()
	var over, left []journal.Lease
	for _, l := range notes.Leases {
		if slices.Contains(c.Operands, l.Object) {
			over = append(over, l)
		} else {
			left = append(left, l)
		}
	}
	for _, address := range c.Operands {
		if !slices.ContainsFunc(over, func(l journal.Lease) bool { return l.Object == address }) {
			c.Bag.Add(diag.Errorf("No such lease", "No lease %s was left open by a run, as far as is known here. To see those that were, run: lethe leases list", address))
			return c.UI.Fail()
		}
	}
	if !closed(c, over, f.autoApprove) {
		return c.UI.Fail()
	}
	notes.Leases = left
	ws.Note(notes)
	c.UI.Print(diag.Counted(len(over), "lease was", "leases were") + " taken off the list.\n")
	return c.UI.Done(base.ExitOK)
}

// closed says what a user has to do about leases, and asks whether it is done.
func closed(c *base.Call, leases []journal.Lease, approved bool) bool {
	c.UI.Print("Lethe cannot close these leases: what their providers need for that was in the\nmemory of the run alone.\n\n")
	for _, l := range leases {
		c.UI.Print(fmt.Sprintf("  %s\n", l))
	}
	c.UI.Print("\nRevoke them where they were issued, or wait until their time is over.\n")
	return c.Approve(base.Approval{Given: approved, Title: "Are these leases over, so that they can be taken off the list?", Use: "-auto-approve", Refused: "The leases stay on the list."})
}
