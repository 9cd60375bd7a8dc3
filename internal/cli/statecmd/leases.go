package statecmd

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/view/stateview"
)

// LeasesList is the command `leases list`.
var LeasesList = &base.Command{
	Name: "leases list", Short: "List leases that were left open",
	Long: "Lists leases of ephemeral resources that runs of this workspace opened and did not close,\nas far as the files beside the state and in this directory show. For each lease it shows\nthe address, the provider, the time and the run. It marks leases of a run that is in\nprogress. Leases of runs in other directories are listed there.",
	Examples: [][2]string{
		{"lethe leases list", "List leases that may still be open"},
		{"lethe leases list -json", "Print the list as JSON"},
	},
	Setup: base.Flags(func(c *base.Call, f *workdir.Options) {
		c.JSONFlag()
		f.VarFlags(c)
		f.StateFlag(c)
	}, runLeasesList),
	Result: true,
}

func runLeasesList(ctx context.Context, c *base.Call, f *workdir.Options) int {
	at, ok := selected(ctx, c, f)
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
		c.UI.Print("No known lease was left open.\n")
	default:
		err = stateview.LeasesText(c.Stdout, left.Leases, left.Running)
	}
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to show the leases", "%s.", err))
	}
	return c.UI.DoneDocument()
}

// LeasesClose is the command `leases close`.
var LeasesClose = &base.Command{
	Name: "leases close", Args: "ADDRESS...", Short: "Remove closed leases from the list",
	Long: "Removes leases that runs left open from the list. Lethe cannot close these leases,\nbecause the data for closing a lease is secret and only in the memory of its run. The\ncommand lists the leases, so that you can revoke them, and asks before it removes them.",
	Examples: [][2]string{
		{"lethe leases close ephemeral.vault_token.ci", "Remove a lease that was revoked by hand"},
	},
	Setup: base.Flags(func(c *base.Call, f *leasesFlags) {
		c.Flags.BoolVar(&f.autoApprove, "auto-approve", false, "Skip interactive approval: the leases have ended.")
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlag(c)
	}, runLeasesClose),
}

type leasesFlags struct {
	workdir.Options
	autoApprove bool
}

func runLeasesClose(ctx context.Context, c *base.Call, f *leasesFlags) int {
	_, ws, ok := locked(ctx, c, &f.Options, operation.CloseLeases)
	if !ok {
		return c.UI.Fail()
	}
	notes := ws.Notes()
	var settled, left []journal.Lease
	for _, l := range notes.Leases {
		if slices.Contains(c.Operands, l.Object) {
			settled = append(settled, l)
		} else {
			left = append(left, l)
		}
	}
	for _, address := range c.Operands {
		if !slices.ContainsFunc(settled, func(l journal.Lease) bool { return l.Object == address }) {
			c.Bag.Add(diag.Errorf("No such lease", "The list of open leases does not contain %s. To see the list, run: lethe leases list", address))
			return c.UI.Fail()
		}
	}
	if !closed(c, settled, f.autoApprove) {
		return c.UI.Fail()
	}
	notes.Leases = left
	ws.Note(notes)
	c.UI.Print(diag.Counted(len(settled), "lease was", "leases were") + " removed from the list.\n")
	return c.UI.Done(base.ExitOK)
}

// closed prints the leases (opened ephemeral resources) that the user must revoke, asks whether the user has done so,
// and reports the answer. approved is true with -auto-approve: then closed does not ask.
func closed(c *base.Call, leases []journal.Lease, approved bool) bool {
	c.UI.Print("Lethe cannot close these leases, because the data for closing them was only in the\nmemory of their run.\n\n")
	for _, l := range leases {
		c.UI.Print(fmt.Sprintf("  %s\n", l))
	}
	c.UI.Print("\nRevoke them in the system that issued them, or wait until they expire.\n")
	return c.Approve(base.Approval{Given: approved, Title: "Have these leases ended, so that they can be removed from the list?", Use: "-auto-approve", Refused: "The list is unchanged."})
}
