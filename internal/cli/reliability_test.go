//go:build linux

package cli_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deeds are the faults of a provider in a call: the provider ends, does not answer, or returns an invalid answer.
var deeds = []string{
	"panic", "exit:3", "kill", "hang", "error:no", "after-panic", "after-exit:3", "after-kill", "after-hang", "nil",
	"malformed", "empty", "truncated", "trailing", "big-map", "big-string", "deep", "missing", "null",
}

// abused are the calls in which the provider has a fault.
var abused = []string{"Validate", "Configure", "Upgrade", "Read", "Plan", "Apply", "Open", "Renew", "Close", "Stop"}

// TestAbuse tests each fault in each call of an apply: 190 combinations, and one in ten of them without LETHE_LONG. The
// program must end with exit code 0 or 1. Leases (ephemeral resources) of other providers must be closed, and a lease
// of the faulty provider must be closed or reported. Each created object must be in the state or be reported.
func TestAbuse(t *testing.T) {
	secondLane(t, drawsRandom)
	t.Parallel()
	for n, call := range abused {
		for m, deed := range deeds {
			if !whole() && (n*len(deeds)+m)%10 != 3 {
				continue
			}
			t.Run(call+"="+deed, func(t *testing.T) {
				t.Parallel()
				abuse(t, call, deed)
			})
		}
	}
}

// abuse applies a configuration, and then applies a change while the provider has a fault in each call of one kind. The
// parameter call names the kind, and deed is the fault.
func abuse(t *testing.T, call, deed string) {
	p := newProcess(t, `
variable "n" { default = 1 }
variable "wait" { default = "0s" }
ephemeral "playground_lease" "l" {
  name = "l"
}
ephemeral "rogue_lease" "h" {
  name      = "h"
  misbehave = "Open=renew:-1h"
}
resource "playground_thing" "slow" {
  name  = "slow-${var.n}"
  delay = var.wait
}
resource "rogue_thing" "a" {
  count     = var.n
  name      = "a-${count.index}-${playground_thing.slow.value == "" ? "" : "x"}"
  secret_wo = "${ephemeral.playground_lease.l.token}${ephemeral.rogue_lease.h.token}"
}
`, "LETHE_DEADLINES=configure=2s,open=2s,renew=2s,close=2s,stop=500ms,change=3s")
	if code, out := p.run("apply", "-auto-approve"); code != 0 {
		t.Fatalf("before it:\n%s", out)
	}
	args := []string{"apply", "-auto-approve", "-no-color", "-var=n=2"}
	if call == "Renew" || call == "Stop" {
		args = append(args, "-var=wait=3s")
	}
	plain := p.env
	p.env = append(plain[:len(plain):len(plain)], "PLAYGROUND_ROGUE="+call+"="+deed)
	began := time.Now()
	s := p.start(args...)
	limit := 8 * time.Second
	ended := make(chan struct{})
	go func() {
		for n := 0; ; n++ { // calls without a deadline never end, so send interrupts to the program, as a user would
			select {
			case <-ended:
				return
			case <-time.After(limit):
				s.cmd.Process.Signal(syscall.SIGINT)
				limit = time.Second
			}
		}
	}()
	code, out := s.wait()
	close(ended)
	if took := time.Since(began); code != 0 && code != 1 || took > 30*time.Second || strings.Contains(out, "Internal error") || strings.Contains(out, "LETHE CRASH") {
		t.Errorf("exit code %d after %s:\n%s", code, took, out)
	}
	p.env = plain
	_, next := p.run("plan", "-no-color", "-var=n=2", "-refresh=false")
	leases, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases"))
	for _, l := range leases {
		text, _ := os.ReadFile(filepath.Join(p.dir, ".cloud/leases", l.Name()))
		named := strings.Contains(string(text), `"rogue_lease"`) && strings.Contains(out+next, "ephemeral.rogue_lease.h")
		slow := strings.Contains(string(text), `"playground_lease"`) && strings.Contains(out, "ephemeral.playground_lease.l") &&
			strings.Contains(out, "OpenEphemeralResource of provider registry.opentofu.org/lethe/playground was not answered within") // the opening was too slow, on a busy machine
		if !named && !slow {
			t.Errorf("the lease %s is open: %s\n%s\n%s", l.Name(), text, out, next)
		}
	}
	_, state := p.run("state", "pull")
	made, _ := filepath.Glob(filepath.Join(p.dir, ".cloud/rogue_thing.*.json"))
	for _, name := range made {
		text, _ := os.ReadFile(name)
		for n := range 2 {
			address := fmt.Sprintf("rogue_thing.a[%d]", n)
			if strings.Contains(string(text), fmt.Sprintf(`"a-%d-x"`, n)) && !strings.Contains(state, fmt.Sprintf(`"a-%d-x"`, n)) && !strings.Contains(out+next, address) {
				t.Errorf("%s exists and is named nowhere:\n%s\n%s", address, out, next)
			}
		}
	}
	p.forgotten(out + next)
}

// TestClosedOutput checks that a run continues to its end if the reader of its output has ended, as with `apply |
// head`.
func TestClosedOutput(t *testing.T) {
	t.Parallel()
	p := newProcess(t, lease+`
resource "playground_secret" "a" {
  name      = "a"
  secret_wo = ephemeral.playground_lease.l.token
}
resource "playground_thing" "t" {
  count      = 30
  name       = "t-${count.index}"
  delay      = "10ms"
  depends_on = [playground_secret.a]
}
`)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := p.command("apply", "-auto-approve")
	s.cmd.Stdout, s.cmd.Stderr = w, w
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := r.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	if code, _ := s.wait(); code != 0 && code != 1 {
		t.Errorf("exit code %d", code)
	}
	leases, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases"))
	made, _ := filepath.Glob(filepath.Join(p.dir, ".cloud/playground_*.json"))
	if _, list := p.run("state", "list"); len(leases) > 0 || len(made) != 31 || strings.Count(list, "\n") != 31 {
		t.Errorf("%d leases are open, %d objects were made, the state has:\n%s", len(leases), len(made), list)
	}
}

// TestModes checks that only the owner can read the written files, with every umask.
func TestModes(t *testing.T) {
	secondLane(t, needsMuch)
	t.Parallel()
	for _, umask := range []string{"000", "022", "077"} {
		t.Run(umask, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, twoLeases, "TF_LOG=debug")
			p.env = append(p.env, "TF_LOG_PATH="+filepath.Join(p.dir, "log"))
			ours := map[string]bool{}
			look := func() {
				t.Helper()
				err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
					name, _ := filepath.Rel(p.dir, path)
					if err != nil || strings.HasPrefix(name, ".c") || name == ".rc" || name == "main.tf" || name == "." {
						return err
					}
					info, err := d.Info()
					if err == nil && d.IsDir() { // below .terraform are executables, which others may read, but not write
						if at := info.Mode().Perm(); at&0o022 != 0 || at&0o077 != 0 && name != ".terraform" {
							t.Errorf("the directory %s has the mode %o", name, at)
						}
						ours[d.Name()] = true
						return nil
					}
					others := fs.FileMode(0o077)
					if name == filepath.Join(".terraform", "environment") { // other users may read the name of the workspace, as in Terraform
						others = 0o022
					}
					if err == nil && info.Mode().Perm()&others != 0 {
						t.Errorf("%s has the mode %o", name, info.Mode().Perm())
					}
					ours[filepath.Base(name)] = true
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
			under := func(args string) *started {
				s := p.command()
				s.cmd.Path, s.cmd.Args = "/bin/sh", []string{"sh", "-c", "umask " + umask + "; exec lethe " + args}
				if err := s.cmd.Start(); err != nil {
					t.Fatal(err)
				}
				return s
			}
			for _, args := range []string{"workspace new other", "workspace select default"} {
				if code, out := under(args).wait(); code != 0 {
					t.Errorf("%s, exit code %d:\n%s", args, code, out)
				}
			}
			s := under("apply -auto-approve")
			p.seen("ApplyResourceChange", "playground_thing", `"end"`)
			look() // the journal exists while the apply runs
			if code, out := s.wait(); code != 0 {
				t.Fatalf("exit code %d:\n%s", code, out)
			}
			for _, args := range []string{"plan -out=saved -destroy", "apply saved", "state pull"} {
				if code, out := under(args).wait(); code != 0 {
					t.Errorf("%s, exit code %d:\n%s", args, code, out)
				}
			}
			look()
			for _, name := range []string{"terraform.tfstate", "terraform.tfstate.backup", "terraform.tfstate.journal", "saved", "log", "plan.key", ".terraform"} {
				if !ours[name] {
					t.Errorf("there was no %s", name)
				}
			}
		})
	}
}

// TestTerraform kills and interrupts Terraform and Lethe, and prints the numbers of lost objects and open leases for
// docs/reliability.md. The test runs only with LETHE_LONG, and if terraform is on PATH.
func TestTerraform(t *testing.T) {
	if _, err := exec.LookPath("terraform"); err != nil || !whole() {
		t.Skip("a long run, beside Terraform")
	}
	for name, do := range map[string]func(s *started){
		"kill -9": func(s *started) { s.cmd.Process.Kill() },
		"one interrupt": func(s *started) {
			s.cmd.Process.Signal(syscall.SIGINT)
		},
		"two interrupts": func(s *started) {
			s.cmd.Process.Signal(syscall.SIGINT)
			time.Sleep(100 * time.Millisecond) // the two programs print different texts about the first interrupt, so wait a fixed time
			s.cmd.Process.Signal(syscall.SIGINT)
		},
		"hangup": func(s *started) { s.cmd.Process.Signal(syscall.SIGHUP) },
	} {
		for _, program := range []string{"terraform", "lethe"} {
			const times = 5
			made, lost, open := 0, 0, 0
			for range times {
				p := newProcess(t, twoLeases)
				p.program = program
				s := p.start("apply", "-auto-approve", "-parallelism=10")
				p.seen("ApplyResourceChange", "playground_thing", `"end"`)
				time.Sleep(rand.N(50 * time.Millisecond)) // the test is about a fault at any moment
				do(s)
				s.wait()
				p.settled() // a keeper process or a provider without its program may still run
				files, _ := filepath.Glob(filepath.Join(p.dir, ".cloud/playground_*.json"))
				if program == "lethe" {
					p.run("plan", "-lock-timeout=1m")
				}
				_, list := p.run("state", "list")
				leases, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases"))
				made, lost, open = made+len(files), lost+len(files)-strings.Count(list, "playground_"), open+len(leases)
			}
			t.Logf("%s, %d times, %s: %d objects made, %d of them lost; %d leases of %d open", name, times, program, made, lost, open, 2*times)
		}
	}
}
