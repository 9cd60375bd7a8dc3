package frame

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// meterOf returns a meter of an evaluation that may make the given number of elements, and the bag of the evaluation.
func meterOf(elements int) (*meter, *diag.Bag) {
	var bag diag.Bag
	return &meter{env: expr.NewEnv(&bag), budget: newBudget(limits.Limits{Elements: elements})}, &bag
}

func TestALimitOfElementsIsReportedOnce(t *testing.T) {
	m, bag := meterOf(2)
	for i := range 5 {
		if ok := m.Element(diag.Range{}); ok != (i < 2) {
			t.Errorf("element %d: %v", i, ok)
		}
	}
	if list := bag.List(); len(list) != 1 || list[0].Summary != "Too many elements" || !m.Exceeded() || !m.env.Broken {
		t.Error(list, m.Exceeded(), m.env.Broken)
	}
}

func TestFunctionsOutsideOfLoopsCostNothing(t *testing.T) {
	m, bag := meterOf(1)
	list := cty.ListVal([]cty.Value{cty.True, cty.True, cty.True})
	for range 100 {
		if !m.Work(makeCost, list, diag.Range{}) {
			t.Fatal(bag.List())
		}
	}
	m.Element(diag.Range{})
	if m.Work(makeCost, list, diag.Range{}) {
		t.Error("a function in a loop costs nothing")
	}
}

func TestAMarkedElementCountsAsEight(t *testing.T) {
	for marked, want := range map[bool]int{false: 8, true: 1} {
		m, _ := meterOf(8)
		v := cty.True
		if marked {
			v = mark.With(v, mark.Sensitive, nil)
		}
		turns, made := 0, 0
		for m.Element(diag.Range{}) && m.Keep(&made, v, diag.Range{}) {
			turns++
		}
		if turns != want {
			t.Errorf("marked %v: %d turns", marked, turns)
		}
	}
}

func TestALoopKeepsNoMoreElementsThanOneValueMayHave(t *testing.T) {
	m, bag := meterOf(5)
	made, v := 0, cty.ListVal([]cty.Value{cty.True, cty.True, cty.True})
	if !m.Keep(&made, v, diag.Range{}) || m.Keep(&made, v, diag.Range{}) {
		t.Error("a second list of three does not exceed five")
	}
	if list := bag.List(); len(list) != 1 || !strings.Contains(list[0].Detail, "more than 5 elements") {
		t.Error(list)
	}
}
