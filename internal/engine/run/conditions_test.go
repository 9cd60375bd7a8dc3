package run

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
)

const impossible = `
variable "no" {
  default = false
}
resource "t_item" "r" {
  lifecycle {
    precondition {
      condition     = var.no
      error_message = "No."
    }
  }
}
`

// A failed precondition stops a walk (a run of the graph) that plans or applies changes of objects. In other walks,
// such as a destroy, the failure is a warning. The check results for the state have the failure in both cases.
func TestFailedPreconditionStopsOnlyWalksThatDecide(t *testing.T) {
	for _, c := range []struct {
		kind  Kind
		holds bool
	}{{Kind{}, false}, {Kind{Mode: plan.Destroy}, false}, {Kind{Mode: plan.RefreshOnly}, true}} {
		p := enginetest.Program(t, map[string]string{"main.tf": impossible})
		f := enginetest.Frame(t, p, frame.Options{})
		conditions := &Conditions{kind: c.kind, program: p, frame: f, Checks: newChecks(&secret.Set{})}
		d := enginetest.Declaration(t, p, "t_item.r")
		var bag diag.Bag
		conditions.Expect(d, "t_item.r")
		if got := conditions.Pre(&bag, d, f, addr.NoKey, enginetest.Instance(t, "t_item.r")); got != c.holds {
			t.Errorf("%+v: %v", c.kind, got)
		}
		if bag.Len() != 1 || bag.HasErrors() == c.holds {
			t.Errorf("%+v: %v", c.kind, bag.List())
		}
		if got := conditions.Checks.Results(nil); len(got) != 1 || got[0].Status != state.Fail {
			t.Errorf("%+v: %v", c.kind, got)
		}
	}
}
