package runcmd

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// mayCreate asks whether a plan may create objects that a lost run may have created already: the provider did not
// answer that run. Without a user to ask, it refuses.
func (o *operation) mayCreate(pl *plan.Plan) bool {
	bag := o.p.Bag
	list := mayExist(pl, o.ws)
	if list == "" {
		return true
	}
	const advice = "Check whether the objects exist, and record the result with: lethe state resolve"
	if !o.p.MayAsk() {
		bag.Add(diag.Errorf("Object may exist already", "The plan creates objects that an earlier run may have created already. That run was lost before the provider answered these calls:\n%s\n%s. To create the objects again regardless, use -unknown=create.", list, advice))
		return false
	}
	o.p.UI.Diagnostics(bag.List()) // so that users know of them when they answer
	bag.Clear()
	yes, answered := o.p.UI.Confirm("Do you want to create objects that may exist already?", "An earlier run was lost before the provider answered these calls:\n"+list+advice+".", "create them again")
	if !yes && (answered || !o.p.Call.CutShort()) {
		o.p.UI.Print("\nApply cancelled.\n")
	}
	return yes
}

// mayExist lists the unanswered creations at addresses where a plan creates an object, a line each.
func mayExist(pl *plan.Plan, ws *workspace.State) string {
	creates := map[addr.Instance]bool{}
	for _, ch := range pl.Changes {
		if ch.Action == plan.Create || ch.Action.Replaces() {
			creates[ch.Object.Instance] = true
		}
	}
	var b strings.Builder
	for _, u := range ws.Notes().Unknown {
		if u.MayExist() && creates[u.Object.Instance] {
			b.WriteString("  " + u.String() + "\n")
		}
	}
	return b.String()
}

// imported settles the calls about an object that was imported: its outcome is known.
func imported(ws *workspace.State, i addr.Instance) {
	notes := ws.Notes()
	_, notes.Unknown = callsTo(i, notes.Unknown)
	ws.Note(notes)
}

// callsTo divides calls into those about an instance, and others.
func callsTo(to addr.Instance, all []journal.Unknown) (calls, others []journal.Unknown) {
	for _, u := range all {
		if u.Object.Instance == to {
			calls = append(calls, u)
		} else {
			others = append(others, u)
		}
	}
	return calls, others
}
