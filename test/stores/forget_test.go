package stores

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// forgotten is a configuration with a data source whose result is not stored, and resources that use it.
const forgotten = `
terraform {
  required_providers {
    playground = {
      source = "lethe/playground"
    }
  }
}
variable "size" {
  default = 1
}
data "playground_credential" "c" {
  name = "c"
}
resource "playground_thing" "a" {
  name = data.playground_credential.c.login
  size = var.size
}
resource "playground_thing" "b" {
  name = "b"
}
`

// TestForgottenDataInRows checks that no table has a result of a data source that is not stored. Plans of changed
// resources read it again if they need it, and report that.
func TestForgottenDataInRows(t *testing.T) {
	port := startPostgres(t)
	f := newFleet(t, rowsPlace(port, "forgotten"))
	u := f.machine()
	u.env = append(u.env, "PLAYGROUND_CANARY=canary-8d01")
	u.configure(forgotten + f.p.backend)
	stored := func(want string) {
		t.Helper()
		if got := query(t, port, `SELECT count(*) FROM forgotten.states_objects WHERE until IS NULL AND mode = 'data'`); got != want {
			t.Errorf("%s results are stored, not %s", got, want)
		}
	}
	u.run(0, "apply", "-auto-approve")
	stored("1")
	u.env = append(u.env, "LETHE_FORGET_DATA=sensitive")
	if out := u.run(0, "apply", "-auto-approve"); !strings.Contains(out, "1 stored result of a data source will be removed from the state (forget_data).") {
		t.Errorf("the removal is not reported:\n%s", out)
	}
	stored("0")
	again := "Reading data sources although -refresh=false is set"
	if out := u.run(0, "plan", "-refresh=false"); strings.Contains(out, again) || !strings.Contains(out, "No changes") {
		t.Errorf("nothing has changed, and nothing need be read:\n%s", out)
	}
	if out := u.run(0, "plan", "-refresh=false", "-changed=false"); strings.Count(out, again) != 1 || !strings.Contains(out, "No changes") {
		t.Errorf("a plan of everything needs the result:\n%s", out)
	}
	if out := u.run(0, "apply", "-auto-approve", "-refresh=false", "-var=size=2"); strings.Count(out, again) != 1 || !strings.Contains(out, "0 added, 1 changed, 0 destroyed") || !strings.Contains(out, "Planning changed resources only") {
		t.Errorf("a plan of the changed resource needs the result:\n%s", out)
	}
	stored("0")
	u.run(0, "plan", "-changed", "-var=size=3", "-out=p")
	if out := u.run(0, "apply", "p"); strings.Count(out, "Reading data sources again, because the plan file does not contain their results") != 1 || !strings.Contains(out, "0 added, 1 changed, 0 destroyed") {
		t.Errorf("the saved plan needs the result:\n%s", out)
	}
	stored("0")

	// A saved plan removes results that another run stored before.
	kept := *u
	kept.env = append(kept.env[:len(kept.env):len(kept.env)], "LETHE_FORGET_DATA=none")
	kept.run(0, "apply", "-auto-approve", "-var=size=3")
	stored("1")
	u.run(0, "plan", "-var=size=4", "-out=p")
	u.run(0, "apply", "p")
	stored("0")
	u.run(0, "plan", "-detailed-exitcode", "-var=size=4")

	for _, table := range []string{"objects", "outputs", "checks"} {
		if n := query(t, port, `SELECT count(*) FROM forgotten.states_`+table+` x WHERE until IS NULL AND x::text LIKE '%canary-8d01%'`); n != "0" {
			t.Errorf("%s rows of %s have the secret", n, table)
		}
	}
	check(t, filepath.WalkDir(u.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "canary-8d01") {
			t.Errorf("%s has the secret", path)
		}
		return err
	}))
}
