package statecmd

import (
	"context"
	"fmt"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/view/stateview"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Check is `state check`.
var Check = &base.Command{
	Name: "state check", Short: "Find out whether the state is whole",
	Long: "Looks at the state, at journals beside it and in the backend, and at backups and former\nstates, and says which of them are whole: what a journal has that the state lacks,\nwhich calls have no known outcome, which leases were left open, which backup is the\nnewest whole one. It changes nothing. If something has to be repaired, it fails.",
	Examples: [][2]string{
		{"lethe state check", "See whether anything is left of a run that was lost"},
		{"lethe state check -json", "The same for a program"},
	},
	Setup: base.Flags(func(c *base.Call, f *project.Options) {
		c.JSONFlag()
		f.VarFlags(c)
		f.StateFlag(c)
	}, runCheck),
	Result: true,
}

func runCheck(ctx context.Context, c *base.Call, f *project.Options) int {
	_, at, ok := selected(ctx, c, f)
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
		c.Bag.Add(diag.Errorf("State not whole", "Some of the files above cannot be read, or do not belong to the same state. To repair that, run: lethe state repair"))
	}
	return c.UI.DoneQuiet()
}

// Repair is `state repair`.
var Repair = &base.Command{
	Name: "state repair", Short: "Repair a state that is not whole",
	Long: "Recovers what the journal of a lost run has and, where the state cannot be read, puts\nback the backup that the journal is about, or else the newest whole one. What could\nnot be read is kept in a file. It says first what it is going to do, and asks.\n\nReal objects are not touched. Run \"lethe plan\" afterwards.",
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
	project.Options
	autoApprove bool
}

func runRepair(ctx context.Context, c *base.Call, f *repairFlags) int {
	p, at, ok := selected(ctx, c, &f.Options)
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
		c.Bag.Add(diag.Errorf("State cannot be repaired", "The state cannot be decrypted, and it may be whole: %s", r.State.Problem))
		return c.UI.Fail()
	case r.State.Problem != "":
		c.Bag.Add(diag.Errorf("State cannot be repaired", "The state cannot be read, and there is no backup that can: %s\n\nTo replace it by a state that you have in a file, run: lethe state push -force FILE", r.State.Problem))
		return c.UI.Fail()
	default:
		c.UI.Print("There is nothing to repair.\n")
		return c.UI.Done(base.ExitOK)
	}
	if !mended(p, r.Repair, f.autoApprove) || !r.Do(ctx) {
		return c.UI.Fail()
	}
	c.UI.Print("The state is repaired.\n")
	return c.UI.Done(base.ExitOK)
}

// mended says what is about to happen, and asks.
func mended(p *project.Project, r workspace.Repair, approved bool) bool {
	c := p.Call
	c.UI.Print("Lethe will repair the state:\n\n")
	if b := r.PutBack; b != nil {
		c.UI.Print(fmt.Sprintf("  - put back %s (serial %d, %s)\n", b.Where, b.Snapshot.Serial, diag.Counted(b.Snapshot.Len(), "object", "objects")))
	}
	if r.Aside != "" {
		c.UI.Print(fmt.Sprintf("  - keep what cannot be read as %s\n", p.Display(r.Aside)))
	}
	if r.TakeIn {
		c.UI.Print("  - recover what the journal has\n")
	}
	return c.Approve(base.Approval{Given: approved, Title: "Do you want to repair this state?", Use: "-auto-approve", Refused: "Nothing was done."})
}
