package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Account ensures that every failure of the walk (the run of the graph) is reported. The caller calls it once, at the
// end of the walk. failed has the names of the parts of the walk that failed, such as addresses of objects.
//
// If a provider could not be configured or an ephemeral resource could not be opened, Account reports the errors,
// unless they are in the bag: the code that received the errors may have dropped them. If a part failed and the bag
// still has no error, the reason was lost, and Account reports a bug in Lethe. If the bag has any error, Account cannot
// detect a lost reason, because a part that depends on a failed part fails without a message.
func (r *Run) Account(failed ...string) {
	shared := r.Sessions.Failures()
	for _, x := range r.Leases.Failures() {
		if shared = append(shared, x.Diagnostics...); !r.Bag.HasAsides() { // if the bag has errors of check blocks, which count as warnings, perhaps only a check block needed the ephemeral resource
			failed = append(failed, x.Instance.String())
		}
	}
	for _, d := range shared {
		if d.Severity == diag.Error && !r.Bag.Reported(d) {
			r.Bag.Add(d)
		}
	}
	if len(failed) == 0 || r.Bag.HasErrors() || r.Budget.Interrupted() {
		return
	}
	r.Bag.Add(diag.Errorf("Internal error", "%s failed without a message, so do not rely on the result. This is a bug in Lethe: please report it. The log (TF_LOG=debug) may show the provider's answer.", few(failed)))
}

// few returns the sorted names, without duplicates, as a text. If there are more than three names, the text has two
// names and the number of the other names.
func few(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > 3 {
		return fmt.Sprintf("%s, %s and %d more", names[0], names[1], len(names)-2)
	}
	return strings.Join(names, ", ")
}
