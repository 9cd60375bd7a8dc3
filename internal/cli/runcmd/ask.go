package runcmd

import (
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/plan"
)

// laterNotes has the texts about later rounds in the question for approval, by the value of -rounds. A round is one
// plan and its apply; one command may run several rounds.
var laterNotes = map[string]string{
	"":        "\nLater rounds create the objects that are decided later, and invoke the actions that are listed with them. Other changes are asked about again." + lockNote,
	roundsOne: "\nThe objects that are decided later are left to another command.",
	roundsAsk: "\nEach later round asks again." + lockNote,
	roundsAll: "\nLater rounds make all their changes without another question, and may also update and destroy objects." + lockNote,
}

const lockNote = "\nThe state stays locked until the last round has ended."

// approve asks the user to approve a plan, and returns true if the user does. If the command may not ask, or standard
// input ends without an answer, approve reports an error and returns false. Before the question, it prints the
// diagnostics of the command and removes them. rounds is the value of -rounds, which selects the hint about later
// rounds (ADR 52).
func approve(c *base.Call, pl *plan.Plan, rounds string) bool {
	if !c.UI.MayAsk() { // MayAsk ignores -input=false, as Terraform does: an answer may come from standard input
		c.Bag.Add(base.NotApproved("-auto-approve, or apply a saved plan"))
		return false
	}
	defer c.Times.Question("wait for the approval")()
	title, note := "Do you want to perform these actions?", c.Product()+" will perform the actions described above."
	what, where := "confirm", ""
	if pl.Workspace != "default" {
		where = " in workspace \"" + pl.Workspace + "\""
	}
	mode := pl.Mode
	if pl.Requested() {
		mode = plan.Normal // an action changes no objects, so its refresh-only mode does not matter
	}
	switch mode {
	case plan.Destroy:
		title, note = "Do you really want to destroy all resources"+where+"?", c.Product()+" will destroy all your managed infrastructure, as shown above.\nThere is no undo."
	case plan.RefreshOnly:
		title, note = "Would you like to update the "+c.Product()+" state to reflect these detected changes?", c.Product()+" will write these changes to the state without modifying any real infrastructure.\nThere is no undo."
	default:
		if what = "approve"; len(pl.Deferred) > 0 {
			note += laterNotes[rounds]
		}
		if where != "" {
			title = "Do you want to perform these actions" + where + "?"
		}
	}
	c.UI.Diagnostics(c.Bag.List()) // print the diagnostics before the user answers
	c.Bag.Clear()
	yes, answered := c.UI.Confirm(title, note, what)
	if yes {
		return true
	}
	if !answered && !c.Interrupted() {
		c.Bag.Add(base.NotApproved("-auto-approve, or apply a saved plan"))
	}
	word := "Apply"
	if pl.Mode == plan.Destroy {
		word = "Destroy"
	}
	c.UI.Print("\n" + word + " cancelled.\n")
	return false
}
