package operation

import "testing"

// TestPolicies: what is read only overwrites nothing, only runs share a state, and each operation has a name in locks.
func TestPolicies(t *testing.T) {
	if len(policies) != int(TearDown)+1 {
		t.Fatalf("%d policies", len(policies))
	}
	for o := None; o <= TearDown; o++ {
		p := o.Policy()
		if (p.Lock == "") != (o == None) {
			t.Errorf("operation %d has the name %q in locks", o, p.Lock)
		}
		if p.ReadOnly && (p.Overwrites || p.Forces) || p.Forces && !p.Overwrites || p.Concurrent && !p.Runs || p.Refresh && !p.Runs {
			t.Errorf("%s: %+v", p.Lock, p)
		}
	}
}

// Only the command that imports decides nothing else, and only the end of a test destroys protected objects.
func TestPlanningPolicies(t *testing.T) {
	for o := None; o <= TearDown; o++ {
		p := o.Policy()
		if p.ImportsOnly != (o == Import) || p.DestroysProtected != (o == TearDown) {
			t.Errorf("operation %d: %+v", o, p)
		}
	}
}
