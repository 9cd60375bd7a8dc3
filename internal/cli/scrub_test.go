package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"github.com/lethe-iac/lethe/internal/state"
)

// scrubCanary is the value that scrubbing must remove.
const scrubCanary = "canary-7be1d-first"

// copiesOfSecret prepares a directory with a backup, former states, a state that could not be stored, and a plan, of
// which several contain scrubCanary. The state itself does not contain this text.
func copiesOfSecret(t *testing.T) *site {
	s := newSite(t, `
variable "password" {
  sensitive = true
}
resource "terraform_data" "a" {
  input = var.password
}
`)
	s.must("apply", "-auto-approve", "-var=password=other-value-1")
	s.must("apply", "-auto-approve", "-var=password="+scrubCanary)
	s.must("plan", "-out=stale", "-var=password="+scrubCanary)
	s.write("errored.tfstate", s.read("terraform.tfstate"))
	s.write("main.tf", "resource \"terraform_data\" \"a\" {\n  input = \"none\"\n}\n")
	s.must("apply", "-auto-approve")
	return s
}

func (s *site) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// copyOf returns another directory with the same files.
func (s *site) copyOf(t *testing.T) *site {
	t.Helper()
	out := newSite(t, "")
	if err := os.CopyFS(filepath.Join(out.dir, "x"), os.DirFS(s.dir)); err != nil {
		t.Fatal(err)
	}
	out.dir = filepath.Join(out.dir, "x")
	return out
}

// withCanary returns the files that contain scrubCanary. It also checks that each file with a state is complete.
func (s *site) withCanary() []string {
	s.Helper()
	var out []string
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), scrubCanary) {
			out = append(out, path)
		}
		name := e.Name()
		if strings.HasSuffix(name, ".tfstate") || strings.HasSuffix(name, ".backup") {
			var bag diag.Bag
			if _, ok := state.Read(data, &bag); !ok {
				s.Errorf("%s is torn: %v", path, bag.List())
			}
		}
		return err
	})
	if err != nil {
		s.Error(err)
	}
	return out
}

// TestScrubKilled makes one call of the file system fail during "secrets scrub", for each call in turn, or without
// LETHE_LONG for every third call. Either only this call fails, or also all later calls, as if the process was killed.
// Afterwards each copy is unchanged or completely changed, and the next run finishes the work.
func TestScrubKilled(t *testing.T) {
	t.Parallel()
	from := copiesOfSecret(t)
	if n := len(from.withCanary()); n < 3 {
		t.Fatalf("%d files have the secret", n)
	}
	scrub := []string{"secrets", "scrub", "-auto-approve", "-last-copy"}
	all := &disktest.Faults{FS: disk.OS}
	whole := from.copyOf(t)
	if code, out := whole.run(all, scrub...); code != 0 || strings.Contains(out, scrubCanary) {
		t.Fatal(out)
	}
	if left := whole.withCanary(); len(left) > 0 {
		t.Fatalf("%v have the secret", left)
	}
	step := 1
	if os.Getenv("LETHE_LONG") == "" {
		step = 3
	}
	for _, dead := range []bool{true, false} {
		for at := 1; at <= all.Calls(); at += step {
			s := from.copyOf(t)
			faults := &disktest.Faults{FS: disk.OS, At: at, Err: errors.New("the disk failed"), Dead: dead, Half: true}
			code, out := s.run(faults, scrub...)
			if strings.Contains(out, scrubCanary) {
				t.Errorf("call %d: the output has the secret", at)
			}
			if left := s.withCanary(); code == 0 && len(left) > 0 {
				t.Errorf("call %d (%s): success, although %v have the secret", at, faults.Last(), left)
			}
			s.must(scrub...)
			if s.read("stale") != "" {
				t.Errorf("call %d (%s): the plan is left", at, faults.Last())
			}
			if left := s.withCanary(); len(left) > 0 {
				t.Errorf("call %d (%s): %v have the secret after the next run", at, faults.Last(), left)
			}
			s.must("state", "restore", "-auto-approve", "1")
		}
	}
}

// TestMoveInterrupted interrupts "secrets move" while the provider plans. Then no file is edited.
func TestMoveInterrupted(t *testing.T) {
	t.Parallel()
	const main = `
variable "password" {
  sensitive = true
  default   = "moved-7be1d"
}
module "m" {
  source   = "./m"
  password = var.password
}
`
	const module = `
terraform {
  required_providers {
    rogue = { source = "lethe/rogue" }
  }
}
variable "password" {}
variable "misbehave" {
  default = "Plan=hang"
}
resource "lethe_secret_version" "v" {
  value_wo = var.password
}
resource "rogue_thing" "h" {
  name      = "h"
  misbehave = var.misbehave
}
`
	p := newProcess(t, main, "LETHE_VERSION_KEY=0123456789abcdef")
	if err := os.Mkdir(filepath.Join(p.dir, "m"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("m/main.tf", module)
	s := p.start("secrets", "move", "var.password")
	p.seen("PlanResourceChange", `"phase":"begin"`)
	ended := make(chan struct{})
	go func() { // two signals at the same moment may arrive as one
		for s.cmd.Process.Signal(os.Interrupt) == nil {
			select {
			case <-ended:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	code, out := s.wait()
	close(ended)
	if code != 1 || strings.Contains(out, "edited") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	for name, want := range map[string]string{"main.tf": main, "m/main.tf": module} {
		if data, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || !strings.Contains(string(data), strings.TrimSpace(want)) {
			t.Errorf("%s was edited: %v\n%s", name, err, data)
		}
	}
}

// TestMoveFails makes one call of the file system fail during "secrets move", for each call in turn. After an error,
// either all files are edited or none.
func TestMoveFails(t *testing.T) {
	t.Parallel()
	const main = "variable \"password\" {\n  sensitive = true\n  default   = \"moved-7be1d\"\n}\nmodule \"m\" {\n  source   = \"./m\"\n  password = var.password\n}\n"
	const module = "variable \"password\" {}\nresource \"terraform_data\" \"v\" {\n  provisioner \"local-exec\" {\n    command     = \"true\"\n    environment = { P = var.password }\n  }\n}\n"
	begin := func() *site {
		s := newSite(t, main)
		if err := os.Mkdir(filepath.Join(s.dir, "m"), 0o755); err != nil {
			t.Fatal(err)
		}
		s.write("m/main.tf", module)
		return s
	}
	move := []string{"secrets", "move", "var.password"}
	all := &disktest.Faults{FS: disk.OS}
	if code, out := begin().run(all, move...); code != 0 || !strings.Contains(out, "2 files were edited") {
		t.Fatal(out)
	}
	for at := 1; at <= all.Calls(); at++ {
		s := begin()
		faults := &disktest.Faults{FS: disk.OS, At: at, Err: errors.New("the disk failed"), Half: true}
		code, out := s.run(faults, move...)
		edited := 0
		for name, before := range map[string]string{"main.tf": main, "m/main.tf": module} {
			if s.read(name) != before {
				edited++
			}
		}
		if edited == 1 || code == 0 && edited != 2 {
			t.Errorf("call %d (%s): %d files are edited, exit code %d\n%s", at, faults.Last(), edited, code, out)
		}
	}
}
