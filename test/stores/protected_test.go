package stores

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// guarded is a configuration of .lethe files with protection and destruction for each instance, and for a module.
const guarded = `
variable "keys" {
  type    = list(string)
  default = ["db", "web"]
}
variable "number" {
  default = 2
}
resource "terraform_data" "keyed" {
  for_each = toset(var.keys)
  lifecycle {
    prevent_destroy = each.key == "db"
  }
}
resource "terraform_data" "counted" {
  count = var.number
  lifecycle {
    destroy = count.index > 0
  }
}
module "m" {
  source = "./m"
  lifecycle {
    prevent_destroy = true
  }
}
`

// TestProtectionInRows checks protection and destruction for each instance on a state in rows, from plans of changed
// resources, targeted plans and saved plans.
func TestProtectionInRows(t *testing.T) {
	ours, err := lethe()
	check(t, err)
	p := rowsPlace(startPostgres(t), "protection")
	u := newDirectory(t, ours, p)
	check(t, os.Remove(filepath.Join(u.dir, "main.tf")))
	check(t, os.WriteFile(filepath.Join(u.dir, "main.lethe"), []byte(guarded+p.backend), 0o600))
	check(t, os.Mkdir(filepath.Join(u.dir, "m"), 0o700))
	check(t, os.WriteFile(filepath.Join(u.dir, "m", "main.tf"), []byte(`resource "terraform_data" "in" {}`), 0o600))
	u.run(0, "init")
	u.run(0, "apply", "-auto-approve", "-changed")
	refused := func(object string, args ...string) {
		t.Helper()
		if out := u.run(1, args...); !strings.Contains(out, object+" has lifecycle.prevent_destroy") {
			t.Errorf("%s: %s is not named:\n%s", args, object, out)
		}
	}
	const db = `terraform_data.keyed["db"]`
	refused(db, "plan", "-no-color", "-changed", "-var", `keys=["web"]`)
	refused(db, "plan", "-no-color", "-target=terraform_data.keyed", "-var", `keys=["web"]`)
	refused("module.m.terraform_data.in", "plan", "-no-color", "-replace=module.m.terraform_data.in")
	u.run(0, "plan", "-var", `keys=["web"]`, "-allow-destroy="+db, "-out=p")
	u.run(0, "apply", "p")
	if out := u.run(0, "state", "history"); !strings.Contains(out, "-allow-destroy="+db) {
		t.Errorf("the history does not name the protected object:\n%s", out)
	}
	u.run(0, "apply", "-auto-approve", "-changed", "-var", `keys=["web"]`, "-var", "number=0")
	if got, want := strings.Join(strings.Fields(u.run(0, "state", "list")), " "), `terraform_data.keyed["web"] module.m.terraform_data.in`; got != want {
		t.Errorf("the state has %s", got)
	}
	u.run(0, "plan", "-detailed-exitcode", "-var", `keys=["web"]`, "-var", "number=0")
}
