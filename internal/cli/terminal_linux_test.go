package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a new terminal: what a user has, and what a program does.
func terminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	fd := int(user.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return user, program
}

// A terminal that goes away while something is applied is an interrupt: nothing new is begun, what was open is closed, and
// nothing of it is unknown afterwards.
func TestTerminalGoesAway(t *testing.T) {
	t.Parallel()
	p := newProcess(t, lease+consumer("2s")+`
resource "playground_thing" "next" {
  name = playground_secret.a.name
}
`)
	user, program := terminal(t)
	path, err := exec.LookPath("lethe")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "apply", "-auto-approve")
	cmd.Dir, cmd.Env = p.dir, append(p.env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	seen := make(chan bool)
	go func() {
		defer close(seen)
		var text strings.Builder
		for b := make([]byte, 4096); !strings.Contains(text.String(), "playground_secret.a: Creating"); {
			n, err := user.Read(b)
			if err != nil {
				return
			}
			text.Write(b[:n])
		}
	}()
	<-seen
	p.seen("ApplyResourceChange", `"phase":"begin"`)
	user.Close()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("ended with %v", err)
	}
	if n := p.count("CloseEphemeralResource"); n < 2 {
		t.Errorf("%d leases were closed, not those of plan and apply", n)
	}
	if code, out := p.run("plan"); code != 0 || strings.Contains(out, "earlier run") {
		t.Errorf("the next plan ends with %d:\n%s", code, out)
	}
	if n := p.count("ApplyResourceChange", "playground_thing"); n > 0 {
		t.Error("something new was begun afterwards")
	}
}
