package statecmd

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/states"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/view/stateview"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Check is the command `state check`.
var Check = &base.Command{
	Name: "state check", Short: "Check the state, its journals and its backups",
	Long: "Checks the state, its journals, its backups and its former states. It lists changes\nthat only a journal has, provider calls with an unknown outcome, leases that were left\nopen, and the newest usable backup. It changes nothing. It fails if the state needs a\nrepair.",
	Examples: [][2]string{
		{"lethe state check", "Check for remains of an interrupted run"},
		{"lethe state check -json", "Print the result as JSON"},
	},
	Setup: base.Flags(func(c *base.Call, f *workdir.Options) {
		c.JSONFlag()
		f.VarFlags(c)
		f.StateFlag(c)
	}, runCheck),
	Result: true,
}

func runCheck(ctx context.Context, c *base.Call, f *workdir.Options) int {
	at, ok := selected(ctx, c, f)
	if !ok {
		return c.UI.Fail()
	}
	x, ok := at.Examine(ctx)
	if !ok {
		return c.UI.Fail()
	}
	var err error
	if c.View.JSON {
		err = stateview.ExaminationJSON(c.Stdout, x)
	} else {
		err = stateview.ExaminationText(c.Stdout, x)
	}
	switch {
	case err != nil:
		c.Bag.Add(diag.Errorf("Failed to show the state", "%s.", err))
	case c.View.JSON && !x.Whole():
		return base.ExitError
	case !x.Whole():
		c.Bag.Add(diag.Errorf("State not whole", "Some of the files above cannot be read or belong to another state. To repair the state, run: lethe state repair"))
	}
	return c.UI.DoneDocument()
}

// Repair is the command `state repair`.
var Repair = &base.Command{
	Name: "state repair", Short: "Repair a damaged state",
	Long: "Recovers the changes in the journal of an interrupted run. If the state cannot be read,\nit first restores the backup that matches the journal, or else the newest usable\nbackup, and keeps the unreadable state in a file. It lists these steps and asks before\nit starts.\n\nReal objects are not touched. Run \"lethe plan\" afterwards.",
	Examples: [][2]string{
		{"lethe state repair", "Repair the state, after approval"},
	},
	Setup: base.Flags(func(c *base.Call, f *repairFlags) {
		c.Flags.BoolVar(&f.autoApprove, "auto-approve", false, "Skip interactive approval.")
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlag(c)
	}, runRepair),
}

type repairFlags struct {
	workdir.Options
	autoApprove bool
}

func runRepair(ctx context.Context, c *base.Call, f *repairFlags) int {
	at, ok := selected(ctx, c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	r, ok := at.BeginRepair(ctx)
	if !ok {
		return c.UI.Fail()
	}
	switch {
	case !r.Nothing():
	case r.State.Locked:
		c.Bag.Add(diag.Errorf("State cannot be repaired", "The state cannot be decrypted, so Lethe cannot tell whether it is damaged: %s", r.State.Problem))
		return c.UI.Fail()
	case r.State.Problem != "":
		replace := "To replace the state with a state in a file, run: lethe state push -force FILE"
		if f.State != "" { // with -state, the state is in the file f.State, and "state push" would replace the state of the workspace
			replace = fmt.Sprintf("To use another state, replace the file %s.", f.State)
		}
		c.Bag.Add(diag.Errorf("State cannot be repaired", "Neither the state nor a backup can be read: %s\n\n%s", r.State.Problem, replace))
		return c.UI.Fail()
	default:
		c.UI.Print("The state needs no repair.\n")
		return c.UI.Done(base.ExitOK)
	}
	if !mended(c, at, r.Repair, f.autoApprove) || !r.Do(ctx) {
		return c.UI.Fail()
	}
	c.UI.Print("The state is repaired.\n")
	return c.UI.Done(base.ExitOK)
}

// mended prints the steps of a repair, asks for approval, and reports whether the user approved. approved is true with
// -auto-approve: then mended does not ask.
func mended(c *base.Call, at states.Selected, r workspace.Repair, approved bool) bool {
	c.UI.Print("Lethe will repair the state:\n\n")
	if b := r.PutBack; b != nil {
		c.UI.Print(fmt.Sprintf("  - put back %s (serial %d, %s)\n", b.Where, b.Snapshot.Serial, diag.Counted(b.Snapshot.Len(), "object", "objects")))
	}
	if r.Aside != "" {
		c.UI.Print(fmt.Sprintf("  - keep the unreadable state as %s\n", at.Display(r.Aside)))
	}
	if r.Replay {
		c.UI.Print("  - recover the changes in the journal\n")
	}
	return c.Approve(base.Approval{Given: approved, Title: "Do you want to repair this state?", Use: "-auto-approve", Refused: "Nothing was done."})
}
