package runcmd

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// mayCreate asks the user before an apply creates objects that an interrupted run may have created already, because the
// provider did not answer that run. It returns true if the user agrees, or if the plan creates no such object. If no
// user can be asked, mayCreate reports an error and returns false.
func (o *execution) mayCreate(pl *plan.Plan) bool {
	bag := &o.c.Bag
	list := mayExist(pl, o.ws)
	if list == "" {
		return true
	}
	const advice = "Check whether the objects exist, and record the result with: lethe state resolve"
	if !o.s.Dir.MayAsk() {
		bag.Add(diag.Errorf("Object may exist already", "The plan creates objects that an earlier run may have created already. That run was interrupted before the provider answered these calls:\n%s\n%s. To create the objects again anyway, use -unknown=create.", list, advice))
		return false
	}
	o.c.UI.Diagnostics(bag.List()) // print the diagnostics before the user answers
	bag.Clear()
	yes, answered := o.c.UI.Confirm("Do you want to create objects that may exist already?", "An earlier run was interrupted before the provider answered these calls:\n"+list+advice+".", "create them again")
	if !yes && (answered || !o.c.Interrupted()) {
		o.c.UI.Print("\nApply cancelled.\n")
	}
	return yes
}

// mayExist lists the unanswered creations (provider calls of interrupted runs) at addresses where a plan creates an
// object, one on each line. It returns "" without such creations.
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

// unanswered returns the addresses of the objects that an interrupted run may have created, because the provider did
// not answer.
func unanswered(ws *workspace.State) []addr.Instance {
	var out []addr.Instance
	for _, u := range ws.Unanswered() {
		if u.MayExist() {
			out = append(out, u.Object.Instance)
		}
	}
	return out
}

// imported removes the notes about unanswered provider calls for the imported instance i, because i exists.
func imported(ws *workspace.State, i addr.Instance) {
	notes := ws.Notes()
	_, notes.Unknown = callsTo(i, notes.Unknown)
	ws.Note(notes)
}

// callsTo divides unanswered provider calls into the calls for one instance and the other calls.
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
