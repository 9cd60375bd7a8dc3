//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWall checks the limit of the total time of a command. At the limit the command is interrupted, and after a while
// interrupted again. The command must report the limit, close its leases (ephemeral resources) and record the created
// objects.
func TestWall(t *testing.T) {
	t.Parallel()
	leased := lease + `
resource "playground_secret" "a" {
  name      = "a"
  secret_wo = ephemeral.playground_lease.l.token
}
`
	for name, c := range map[string]struct{ config, rules, want string }{
		"slow": {leased + `
resource "playground_thing" "t" {
  count = 200
  name  = "t-${count.index}-${playground_secret.a.name}"
  delay = "300ms"
}
`, "", "Command takes too long"},
		"hanging": {leased + `
resource "rogue_thing" "h" {
  name = "h-${playground_secret.a.name}"
}
`, "Apply=hang", "opened: rogue_thing.h."},
		"evaluating": {leased + `
locals {
  a = length([for a in range(1000) : length([for b in range(1000) : length([for c in range(1000) : c])]) if playground_secret.a.name != ""])
}
output "a" {
  value = local.a
}
`, "", "main.tf line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, c.config, "LETHE_LIMITS=wall=3,elements=4G", "PLAYGROUND_ROGUE="+c.rules)
			began := time.Now()
			code, out := p.run("apply", "-auto-approve", "-no-color", "-parallelism=4")
			if took := time.Since(began); code != 1 || took > 2*time.Minute || !strings.Contains(out, c.want) || !strings.Contains(out, "wall") && name != "evaluating" {
				t.Errorf("exit code %d after %s:\n%s", code, took, out)
			}
			if name == "evaluating" && !strings.Contains(out, "the whole command takes longer than the limit of 3s") {
				t.Errorf("which limit?\n%s", out)
			}
			if leases, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases")); len(leases) > 0 {
				t.Errorf("%d leases are open:\n%s", len(leases), out)
			}
			made, _ := filepath.Glob(filepath.Join(p.dir, ".cloud/playground_*.json"))
			p.env = append(p.env, "LETHE_LIMITS=")
			if _, list := p.run("state", "list"); strings.Count(list, "playground_") != len(made) {
				t.Errorf("%d objects were made, the state has:\n%s\n%s", len(made), list, out)
			}
			p.forgotten(out)
		})
	}
}
