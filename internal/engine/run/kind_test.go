package run

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/plan"
)

// Kind.DecidesNothing depends on the mode and the operation of a walk. Kind.Destroys depends only on the mode.
func TestKindFollowsModeAndOperation(t *testing.T) {
	for _, c := range []struct {
		kind                     Kind
		decidesNothing, destroys bool
	}{
		{Kind{}, false, false},
		{Kind{operation.Apply, plan.Normal}, false, false},
		{Kind{operation.Plan, plan.RefreshOnly}, true, false},
		{Kind{operation.Plan, plan.Destroy}, false, true},
		{Kind{operation.Import, plan.Normal}, true, false},
		{Kind{operation.TearDown, plan.Destroy}, false, true},
	} {
		if got := c.kind.DecidesNothing(); got != c.decidesNothing {
			t.Errorf("%+v decides nothing: %v", c.kind, got)
		}
		if got := c.kind.Destroys(); got != c.destroys {
			t.Errorf("%+v destroys: %v", c.kind, got)
		}
	}
}
