package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Account ensures that every failure of the walk is reported. It is called once, at the end of the walk and before its
// result counts as complete. failed names the parts of the walk that failed.
//
// It reports the errors that prevented a session or a lease from opening, unless they were reported: an evaluation
// whose diagnostics are dropped may have found them. If a part failed and there is still no error, the reason was lost,
// which is a bug. A part that depends on a failed part fails without a message, so if the bag has an error, Account
// cannot detect a lost reason.
func (r *Run) Account(failed ...string) {
	shared := r.Sessions.Failures()
	for _, x := range r.Leases.Failures() {
		if shared = append(shared, x.Diagnostics...); !r.Bag.HasAsides() { // otherwise only a check block needed it
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

// few returns up to three addresses, and the number of the others.
func few(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > 3 {
		return fmt.Sprintf("%s, %s and %d more", names[0], names[1], len(names)-2)
	}
	return strings.Join(names, ", ")
}
