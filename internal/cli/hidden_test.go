//go:build linux

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHidden checks the protection of secrets in memory. While Lethe has a secret in memory, other processes of the
// user cannot read the memory and the environment of Lethe and its keeper (a second process). A crash writes no core
// dump, and the output of the crash has no secret.
func TestHidden(t *testing.T) {
	t.Parallel()
	idle := exec.Command("sleep", "600")
	if err := unprivileged(idle.Start); err != nil {
		t.Fatal(err)
	}
	defer idle.Wait()
	defer idle.Process.Kill()
	for _, file := range []string{"mem", "environ"} {
		if err := peek(idle.Process.Pid, file); err != nil {
			t.Fatalf("another program's %s cannot be read here, so that nothing can be found out: %s", file, err)
		}
	}
	for _, keeps := range []string{"on", "off"} {
		t.Run("keeper "+keeps, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, lease+`
variable "early" { # is known before a keeper is started
  type      = string
  ephemeral = true
}
resource "rogue_thing" "a" {
  name      = "a"
  secret_wo = "${ephemeral.playground_lease.l.token}${var.early}"
  misbehave = "Apply=wait:4s"
}
`, "LETHE_KEEPER="+keeps, "GOTRACEBACK=crash", "TF_VAR_early=early-"+canary)
			s := p.command()
			s.cmd.Path, s.cmd.Args = "/bin/sh", []string{"sh", "-c", "ulimit -c unlimited 2>/dev/null; exec lethe apply -auto-approve"}
			if err := unprivileged(s.cmd.Start); err != nil {
				t.Fatal(err)
			}
			p.seen("ApplyResourceChange", "rogue", `"phase":"begin"`)
			pids := []int{s.cmd.Process.Pid}
			if keeps == "on" {
				pids = append(pids, s.keeper(t))
			}
			for n, pid := range pids {
				for _, file := range []string{"mem", "environ"} {
					if err := peek(pid, file); err == nil {
						t.Errorf("process %d: %s can be read", n, file)
					}
				}
			}
			s.cmd.Process.Signal(syscall.SIGABRT)
			_, out := s.wait()
			if status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.CoreDump() {
				t.Errorf("an image was written: %v", s.cmd.ProcessState)
			}
			_, next := p.run("plan", "-lock-timeout=1m")
			p.forgotten(out + next)
		})
	}
}

// peek opens and reads a file of a process in /proc without the privileges of root.
func peek(pid int, file string) error {
	return unprivileged(func() error {
		f, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err == nil {
			f.Close()
		}
		return err
	})
}

// unprivileged calls the function do without the privileges of root. Programs that do starts also lack these
// privileges.
func unprivileged(do func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		const noRoot, locked = 1, 2
		if os.Geteuid() == 0 {
			if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot|locked, 0, 0, 0); err != nil {
				result <- fmt.Errorf("root cannot do without privileges: %w", err)
				return
			}
		}
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var caps [2]unix.CapUserData
		if err := unix.Capset(&head, &caps[0]); err != nil {
			result <- fmt.Errorf("privileges cannot be given up: %w", err)
			return
		}
		result <- do()
	}()
	return <-result
}
