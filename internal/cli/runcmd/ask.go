package runcmd

import (
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/plan"
)

// laterNote is the part of the first question about later rounds.
const laterNote = "\nLater rounds create the objects that are decided later, and invoke the actions that are listed with them. Other changes are asked about again.\nThe state stays locked until the last round has ended."

// approve asks the user to approve a plan.
func approve(c *base.Call, pl *plan.Plan) bool {
	if !c.UI.MayAsk() { // like Terraform, read an answer on standard input even with -input=false
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
		mode = plan.Normal // the plan is about an action
	}
	switch mode {
	case plan.Destroy:
		title, note = "Do you really want to destroy all resources"+where+"?", c.Product()+" will destroy all your managed infrastructure, as shown above.\nThere is no undo."
	case plan.RefreshOnly:
		title, note = "Would you like to update the "+c.Product()+" state to reflect these detected changes?", c.Product()+" will write these changes to the state without modifying any real infrastructure.\nThere is no undo."
	default:
		if what = "approve"; len(pl.Deferred) > 0 {
			note += laterNote
		}
		if where != "" {
			title = "Do you want to perform these actions" + where + "?"
		}
	}
	c.UI.Diagnostics(c.Bag.List()) // print them before the user answers
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
