package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestManySensitiveElements compares the processor time of each command for 10,000 sensitive elements with its time for
// the same elements without marks. It allows six times this time and half a second more.
func TestManySensitiveElements(t *testing.T) {
	if raced {
		t.Skip("the race detector changes what is compared")
	}
	const config = `
locals {
  base = flatten([for i in range(%d) : [for j in range(1000) : "x${i}-${j}"]])
}
resource "terraform_data" "a" {
  input = %s
}
resource "terraform_data" "b" {
  input = terraform_data.a.output
}
module "m" {
  source = "./m"
  x      = terraform_data.a.output
}
output "o" {
  value     = module.m.x
  sensitive = true
}
`
	const plain = `[for x in local.base : upper(x)]`
	shapes := map[string]string{
		"list": `[for x in local.base : sensitive(upper(x))]`,
		"map":  `tomap({ for x in local.base : x => sensitive(x) })`,
		"loop": `[for x in sensitive(local.base) : upper(x)]`,
	}
	commands := [][]string{{"plan"}, {"apply", "-auto-approve"}, {"plan", "-out=p"}, {"show", "p"}, {"destroy", "-auto-approve"}}
	spent := func(value string) []time.Duration {
		p := newProcess(t, "")
		if err := os.MkdirAll(filepath.Join(p.dir, "m"), 0o755); err != nil {
			t.Fatal(err)
		}
		p.write("m/main.tf", "variable \"x\" {}\noutput \"x\" {\n  value     = var.x\n  sensitive = true\n}\n")
		p.write("main.tf", fmt.Sprintf(config, 10, value))
		if code, out := p.run("init"); code != 0 {
			t.Fatal(out)
		}
		var out []time.Duration
		for _, args := range commands {
			s := p.start(args...)
			if code, text := s.wait(); code != 0 {
				t.Fatalf("%q: exit code %d:\n%.2000s", args, code, text)
			}
			out = append(out, s.cmd.ProcessState.UserTime())
		}
		return out
	}
	want := spent(plain)
	for name, value := range shapes {
		for i, got := range spent(value) {
			// Work that grows with the square of the number of elements would take more than twenty times as long.
			if most := 6*want[i] + 500*time.Millisecond; got > most {
				t.Errorf("%s: %q takes %v of processor time, and %v without marks", name, commands[i], got, want[i])
			}
		}
	}
}
