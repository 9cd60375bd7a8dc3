package stores

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// transferKept is the configuration of an object that stays in its state.
const transferKept = "resource \"terraform_data\" \"kept\" {\n}\n"

// transferMoved is the configuration of the three objects that move between states.
const transferMoved = `
resource "terraform_data" "a" {
  for_each = toset(["x", "y"])
  input    = each.key
}
module "m" {
  source = "./m"
}
`

// TestTransfer moves objects between states in rows, and between rows and a file. It kills transfers at random moments:
// the next command, which may share the state with others, finishes or undoes them.
func TestTransfer(t *testing.T) {
	t.Parallel()
	ours, err := lethe()
	check(t, err)
	port := startPostgres(t)
	for n := range 8 {
		source, target := rowsPlace(port, fmt.Sprintf("source_%d", n)), rowsPlace(port, fmt.Sprintf("target_%d", n))
		switch n % 4 {
		case 2:
			target = place{"", target.env}
		case 3:
			source = place{"", source.env}
		}
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			a, b := newDirectory(t, ours, source), newDirectory(t, ours, target)
			for _, d := range []*directory{a, b} {
				check(t, writeModule(d.dir))
			}
			a.configure(transferMoved + transferKept + source.backend)
			b.configure(transferKept + target.backend)
			for _, d := range []*directory{a, b} {
				d.run(0, "init")
				d.run(0, "apply", "-auto-approve")
			}
			a.configure(transferKept + source.backend)
			b.configure(transferMoved + transferKept + target.backend)
			a.run(0, "init")
			b.run(0, "init")
			args := []string{"state", "transfer", "-auto-approve", "-to=" + b.dir, "terraform_data.a", "module.m"}
			if n > 3 {
				cmd := a.cmd(args...)
				check(t, cmd.Start())
				time.Sleep(rand.N(600 * time.Millisecond)) // a random pause, because the test is about the moment of the kill
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			} else if out := a.run(0, args...); !strings.Contains(out, "Moved 3 objects") {
				t.Error(out)
			}
			once := func(when string) {
				t.Helper()
				x, y := a.run(0, "state", "list"), b.run(0, "state", "list")
				for _, name := range []string{`terraform_data.a["x"]`, `terraform_data.a["y"]`, "module.m.terraform_data.in"} {
					if strings.Contains(x, name) == strings.Contains(y, name) {
						t.Errorf("%s: %s is in both states or in none:\n%s\n%s", when, name, x, y)
					}
				}
			}
			once("at once")
			d := []*directory{a, b}[rand.N(2)]
			d.run(0, "apply", "-refresh-only", "-auto-approve", "-lock-timeout=1m")
			once("after a command")
			a.run(0, "apply", "-target=terraform_data.kept", "-auto-approve", "-lock-timeout=1m") // this command shares the state with the killed transfer
			once("after a shared command")
			if n < 4 {
				a.run(0, "plan", "-detailed-exitcode")
				b.run(0, "plan", "-detailed-exitcode")
			}
		})
	}
}

// writeModule writes the module m into the subdirectory m of a directory.
func writeModule(dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "m"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "m", "main.tf"), []byte("resource \"terraform_data\" \"in\" {\n}\n"), 0o600)
}

// TestTransferEverywhere moves objects from a local state into each store and back.
func TestTransferEverywhere(t *testing.T) {
	t.Parallel()
	ours, err := lethe()
	check(t, err)
	for name, p := range places(t) {
		t.Run(name, func(t *testing.T) {
			a, b := newDirectory(t, ours, place{"", p.env}), newDirectory(t, ours, p)
			here, there := transferKept, transferKept+p.backend
			for _, d := range []*directory{a, b} {
				check(t, writeModule(d.dir))
			}
			a.configure(transferMoved + here)
			b.configure(there)
			for _, d := range []*directory{a, b} {
				d.run(0, "init")
				d.run(0, "apply", "-auto-approve")
			}
			move := func(from, to *directory) {
				t.Helper()
				from.run(0, "init")
				to.run(0, "init")
				if out := from.run(0, "state", "transfer", "-auto-approve", "-to="+to.dir, "terraform_data.a", "module.m"); !strings.Contains(out, "Moved 3 objects") {
					t.Error(out)
				}
				from.run(0, "plan", "-detailed-exitcode")
				to.run(0, "plan", "-detailed-exitcode")
			}
			a.configure(here)
			b.configure(transferMoved + there)
			move(a, b)
			a.configure(transferMoved + here)
			b.configure(there)
			move(b, a)
			if list := strings.Fields(a.run(0, "state", "list")); len(list) != 4 {
				t.Errorf("the local state has %s", list)
			}
		})
	}
}
