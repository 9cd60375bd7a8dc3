package program

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// TestASecondUseAddsItsReason checks that two references of a Def to the same instances become one use with both
// reasons, at the place of the first.
func TestASecondUseAddsItsReason(t *testing.T) {
	var r references
	first := diag.Range{Filename: "a.tf"}
	r.add(use{local: 1, why: ByValue, at: first})
	r.add(use{local: 1, why: ByDepends, at: diag.Range{Filename: "b.tf"}})
	if len(r.uses) != 1 || r.uses[0].why != ByValue|ByDepends || r.uses[0].at != first {
		t.Errorf("%+v", r.uses)
	}
}

// TestUsesOfOtherInstancesStayApart checks that uses of one target differ by the output, the kind of key and the key.
func TestUsesOfOtherInstancesStayApart(t *testing.T) {
	var r references
	all := []use{
		{local: 1, hint: AllKeys}, {local: 1, hint: Same}, {local: 1, hint: Fixed, fixed: addr.IntKey(0)}, {local: 1, hint: Fixed, fixed: addr.IntKey(1)},
		{local: 1, output: "a"}, {local: 2},
	}
	for _, u := range all {
		r.add(u)
	}
	if len(r.uses) != len(all) {
		t.Errorf("%d uses became %d: %+v", len(all), len(r.uses), r.uses)
	}
}
