package statecmd

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
)

// has fails the test unless the state in the directory d contains exactly the objects with these names.
func has(d *basetest.Dir, names ...string) {
	d.Helper()
	text := d.Read("terraform.tfstate")
	if n := strings.Count(text, `"id":`); n != len(names) {
		d.Errorf("%d objects:\n%s", n, text)
	}
	for _, n := range names {
		if !strings.Contains(text, `"name": "`+n+`"`) && !strings.Contains(text, `"name":"`+n+`"`) {
			d.Errorf("no %s:\n%s", n, text)
		}
	}
}

func with(t *testing.T, names ...string) *basetest.Dir {
	d := basetest.New(t, "")
	d.State(names...)
	return d
}

func TestListNamesEveryObject(t *testing.T) {
	with(t, "a", "b").Ends(0, "terraform_data.a\nterraform_data.b\n", List)
}

func TestRmForgetsOnlyWhatItNames(t *testing.T) {
	d := with(t, "a", "b")
	d.Ends(0, "Removed terraform_data.a", Rm, "terraform_data.a")
	has(d, "b")
}

func TestDryRunChangesNoState(t *testing.T) {
	d := with(t, "a")
	was := d.Read("terraform.tfstate")
	d.Ends(0, "Would remove terraform_data.a", Rm, "-dry-run", "terraform_data.a")
	d.Ends(0, "Would move", Mv, "-dry-run", "terraform_data.a", "terraform_data.b")
	if d.Read("terraform.tfstate") != was {
		t.Error("changed")
	}
}

func TestMvKeepsTheObject(t *testing.T) {
	d := with(t, "a")
	d.Ends(0, "Successfully moved 1 object(s)", Mv, "terraform_data.a", "terraform_data.b")
	has(d, "b")
	if !strings.Contains(d.Read("terraform.tfstate"), "id-a") {
		t.Error("another object")
	}
}

func TestMvDoesNotOverwrite(t *testing.T) {
	d := with(t, "a", "b")
	d.Ends(1, "", Mv, "terraform_data.a", "terraform_data.b")
	has(d, "a", "b")
}

func TestStateCommandsNeedAState(t *testing.T) {
	d := basetest.New(t, "")
	d.Ends(1, "No state file was found!", List)
	d.Ends(1, "No state file was found!", Rm, "terraform_data.a")
	d.Ends(1, "No state file was found!", Mv, "terraform_data.a", "terraform_data.b")
}
