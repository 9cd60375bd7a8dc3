package cli_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestInterruptsWithBlockedOutput checks that interrupts end the program even if no program reads standard output, and that
// the open lease (ephemeral resource) is closed.
func TestInterruptsWithBlockedOutput(t *testing.T) {
	t.Parallel()
	p := newProcess(t, `
ephemeral "playground_lease" "l" {
  name = "l"
}
resource "playground_secret" "a" {
  name              = "a"
  secret_wo         = ephemeral.playground_lease.l.token
  secret_wo_version = 1
  provisioner "local-exec" {
    command = "yes 'a long line for a pipe that nobody reads' | head -n 100000; echo ${ephemeral.playground_lease.l.id} > /dev/null"
  }
}
`)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	s := p.command("apply", "-auto-approve", "-defer-ephemerals")
	s.cmd.Stdout = writer
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	t.Cleanup(func() { s.cmd.Process.Kill() })
	p.until("the pipe is full", func() bool {
		n, err := unix.IoctlGetInt(int(reader.Fd()), unix.TIOCINQ)
		return err == nil && n > 60000
	})
	stop := make(chan struct{})
	go func() { // signals that arrive at the same moment count as one signal
		for tick := time.Tick(300 * time.Millisecond); ; {
			s.cmd.Process.Signal(syscall.SIGINT)
			select {
			case <-stop:
				return
			case <-tick:
			}
		}
	}()
	code, _ := s.wait()
	if close(stop); code != 1 {
		t.Errorf("exit code %d", code)
	}
	p.until("the lease is closed", func() bool {
		left, _ := os.ReadDir(filepath.Join(p.dir, ".cloud/leases"))
		return len(left) == 0
	})
}
