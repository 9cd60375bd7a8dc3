package runcmd

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
)

func TestPlanChangesNoState(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	d.Ends(0, "1 to add, 0 to change, 0 to destroy", Plan)
	if d.Read("terraform.tfstate") != "" {
		t.Error("there is a state")
	}
}

func TestDetailedExitCodeTellsWhetherThereAreChanges(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	d.Ends(2, "", Plan, "-detailed-exitcode")
	d.State("a")
	d.Ends(0, "No changes", Plan, "-detailed-exitcode")
	d.Write("main.tf", "nonsense")
	d.Ends(1, "", Plan, "-detailed-exitcode")
}

func TestPlanNeedsConfigurationUnlessItDestroys(t *testing.T) {
	d := basetest.New(t, "")
	d.State("a")
	d.Ends(0, "1 to destroy", Plan)
	empty := &basetest.Dir{T: t, Path: t.TempDir()}
	empty.State("a")
	empty.Ends(1, "the plan would destroy everything", Plan)
	empty.Ends(1, "apply would destroy everything", Apply, "-auto-approve")
	empty.Ends(0, "1 to destroy", Plan, "-destroy")
}

func TestApplyNeedsApproval(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	d.Ends(1, "", Apply, "-input=false")
	if d.Read("terraform.tfstate") != "" {
		t.Error("there is a state")
	}
	d.Ends(0, "1 added, 0 changed, 0 destroyed", Apply, "-auto-approve")
	if !strings.Contains(d.Read("terraform.tfstate"), `"a"`) {
		t.Error("there is no object")
	}
}

func TestJSONApplyNeedsApprovalBeforehand(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	d.Ends(1, "Plan file or auto-approve required", Apply, "-json")
}

func TestSavedPlanIsAppliedWithoutAQuestion(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	d.Ends(0, "", Plan, "-out=p")
	d.Ends(0, "1 added, 0 changed, 0 destroyed", Apply, "p")
}

func TestStalePlanIsRefused(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	d.Ends(0, "", Plan, "-out=p")
	d.Ends(0, "", Apply, "-auto-approve")
	d.Ends(1, "Saved plan is stale", Apply, "p")
}

func TestDestroyLeavesNoObjects(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	d.State("a")
	d.Ends(0, "1 destroyed", Destroy, "-auto-approve")
	if strings.Contains(d.Read("terraform.tfstate"), "id-a") {
		t.Error("there is an object")
	}
}

func TestRefreshOnlyAndDestroyExcludeEachOther(t *testing.T) {
	basetest.New(t, basetest.TestObject("a")).Ends(1, "", Plan, "-refresh-only", "-destroy")
}
