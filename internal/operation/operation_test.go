package operation

import "testing"

// TestPolicies checks all policies: a policy with ReadOnly has neither Overwrites nor Forces, a policy with Forces also
// has Overwrites, only policies with Runs have Concurrent or Refresh, and each operation except None has a name for
// locks.
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

// TestPlanningPolicies checks that only plans of Import are limited to the imported objects, and that only plans of
// TearDown destroy protected objects.
func TestPlanningPolicies(t *testing.T) {
	for o := None; o <= TearDown; o++ {
		p := o.Policy()
		if p.ImportsOnly != (o == Import) || p.DestroysProtected != (o == TearDown) {
			t.Errorf("operation %d: %+v", o, p)
		}
	}
}
