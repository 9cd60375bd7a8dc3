package initcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
)

// module creates a module in the directory m.
func module(d *basetest.Dir) {
	d.Helper()
	if err := os.Mkdir(filepath.Join(d.Path, "m"), 0o777); err != nil {
		d.Fatal(err)
	}
	d.Write("m/main.tf", basetest.TestObject("a"))
}

const calls = "module \"m\" {\n  source = \"./m\"\n}\n"

func TestInitOfAnEmptyDirectorySaysThatItIsEmpty(t *testing.T) {
	d := &basetest.Dir{T: t, Path: t.TempDir()}
	d.Ends(0, "initialized in an empty directory", Init)
}

func TestInitNeedsNoServerForBuiltinProviders(t *testing.T) {
	d := basetest.New(t, basetest.TestObject("a"))
	d.Ends(0, "successfully initialized", Init, "-offline")
	if strings.Contains(d.Read(".terraform.lock.hcl"), "provider") {
		t.Error("a builtin provider is locked")
	}
}

func TestInitRecordsModules(t *testing.T) {
	d := basetest.New(t, calls)
	module(d)
	d.Ends(0, "- m in m", Init)
	if text := d.Read(".terraform/modules/modules.json"); !strings.Contains(text, `"./m"`) {
		t.Error(text)
	}
}

func TestInitReportsAModuleThatIsNotThere(t *testing.T) {
	basetest.New(t, calls).Ends(1, "Unreadable module directory", Init)
}

func TestInitRecordsTheBackend(t *testing.T) {
	d := basetest.New(t, "terraform {\n  backend \"local\" {\n    path = \"x.tfstate\"\n  }\n}\n")
	d.Ends(0, "successfully initialized", Init)
	if text := d.Read(".terraform/terraform.tfstate"); !strings.Contains(text, "x.tfstate") {
		t.Error(text)
	}
}

func TestChangedBackendNeedsADecision(t *testing.T) {
	d := basetest.New(t, "terraform {\n  backend \"local\" {\n    path = \"x.tfstate\"\n  }\n}\n")
	d.Ends(0, "", Init)
	d.Write("main.tf", "terraform {\n  backend \"local\" {\n    path = \"y.tfstate\"\n  }\n}\n")
	d.Ends(1, "Backend configuration changed", Init)
	d.Ends(0, "", Init, "-reconfigure")
}

func TestMigrateAndReconfigureExcludeEachOther(t *testing.T) {
	basetest.New(t, "").Ends(1, "", Init, "-migrate-state", "-reconfigure")
}

func TestGetInstallsModulesAlone(t *testing.T) {
	d := basetest.New(t, calls)
	module(d)
	d.Ends(0, "", Get)
	if d.Read(".terraform/modules/modules.json") == "" {
		t.Error("no modules are recorded")
	}
}
