package view

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/plan"
)

// TestDeferralTextHasReason checks that the text of a deferral names an object or the reason of the provider.
func TestDeferralTextHasReason(t *testing.T) {
	for _, c := range []struct {
		reason string
		after  []string
		want   string
	}{
		{plan.ResourceConfigUnknown, nil, "is decided in a later round (its provider deferred it: resource_config_unknown)"},
		{plan.ResourceConfigUnknown, []string{"a.b"}, "is decided after a.b exists"},
		{plan.ResourceConfigUnknown, []string{"data.a.b"}, "is decided after data.a.b is read"},
		{"absent_prereq", nil, "is decided in a later round (its provider deferred it: absent_prereq)"},
		{plan.ProviderConfigUnknown, nil, "is decided in a later round (its provider needs the values)"},
	} {
		if got := DeferralText(&plan.Change{Deferral: &plan.Deferral{Reason: c.reason, After: c.after}}); got != c.want {
			t.Errorf("%s after %v: %s", c.reason, c.after, got)
		}
	}
}
