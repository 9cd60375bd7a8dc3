package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Account ensures that every failure of the walk is reported. It is called once, at the end of the walk, before the
// result counts as complete. failed names the parts of the walk that failed.
//
// Account reports the errors that prevented a session or a lease from opening, if they were not reported: the code that
// met them may have dropped its diagnostics. If a part failed and the bag still has no error, the reason was lost, and
// Account reports a bug. If the bag has any error, Account cannot detect a lost reason, because a part that depends on
// a failed part fails without a message.
func (r *Run) Account(failed ...string) {
	shared := r.Sessions.Failures()
	for _, x := range r.Leases.Failures() {
		if shared = append(shared, x.Diagnostics...); !r.Bag.HasAsides() { // otherwise, only a check block needed the lease
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

// few returns up to three names, sorted and each once. If there are more, it returns two names and the number of the
// others.
func few(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > 3 {
		return fmt.Sprintf("%s, %s and %d more", names[0], names[1], len(names)-2)
	}
	return strings.Join(names, ", ")
}
