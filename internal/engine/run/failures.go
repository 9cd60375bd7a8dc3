package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Account makes sure that no failure of the walk is passed over. It is called once, when all is done and before anything is
// called complete. failed names the parts of the walk that failed.
//
// What kept a session or a lease from being opened is an error, unless it was reported: it may have been found by an
// evaluation whose diagnostics are dropped. If something failed after that and there is no error at all, the reason was
// lost, which is a bug. What depends on a part that failed fails without a message of its own, so that with an error in the
// bag nothing more can be said.
func (r *Run) Account(failed ...string) {
	shared := r.Sessions.Failures()
	for _, x := range r.Leases.Failures() {
		if shared = append(shared, x.Said...); !r.Bag.HasAsides() { // else it failed in a check block, or with what one needs
			failed = append(failed, x.Instance.String())
		}
	}
	for _, d := range shared {
		if d.Severity == diag.Error && !r.Bag.Reported(d) {
			r.Bag.Add(d)
		}
	}
	if len(failed) == 0 || r.Bag.HasErrors() || r.Cut.Load() {
		return
	}
	r.Bag.Add(diag.Errorf("Internal error", "%s failed without a message. This is a bug in Lethe, please report it. The result cannot be relied on; the log (TF_LOG=debug) may show what the provider answered.", few(failed)))
}

// few names some addresses.
func few(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > 3 {
		return fmt.Sprintf("%s, %s and %d more", names[0], names[1], len(names)-2)
	}
	return strings.Join(names, ", ")
}
