//go:build unix

package launch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

func pidOf(t *testing.T, pid string) int {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil || n < 2 {
		t.Fatalf("no process: %q", pid)
	}
	return n
}

func freeze(t *testing.T, pid string) {
	if err := syscall.Kill(pidOf(t, pid), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// alive reports whether a process exists and is not a zombie.
func alive(pid string) bool {
	n, _ := strconv.Atoi(pid)
	if syscall.Kill(n, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// session returns "leader: true" if this process is the leader of its process group, otherwise "leader: false".
func session() string {
	group, _ := syscall.Getpgid(0)
	return fmt.Sprintf("leader: %v", group == os.Getpid())
}

// TestMuteProgram checks that a program that accepts a connection and never answers does not hold up a command.
func TestMuteProgram(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	const want = "it did not answer at its address within 10ms"
	for _, config := range []*tls.Config{{ServerName: host}, nil} {
		if _, err := dialWithin(context.Background(), 10*time.Millisecond, l.Addr(), config); err == nil || err.Error() != want {
			t.Error(err)
		}
	}
	before, further := attachTime, reachTime
	defer func() { attachTime, reachTime = before, further }()
	attachTime, reachTime = 10*time.Millisecond, 10*time.Millisecond
	if _, err := Reach(context.Background(), Address{Network: "unix", Address: l.Addr().String()}); err == nil || err.Error() != want {
		t.Errorf("a further connection: %v", err)
	}
	if _, err := Start(context.Background(), Program{Provider: playground, Running: "unix:" + l.Addr().String(), Protocol: 6}, nil); err == nil || !strings.Contains(err.Error(), "cannot be reached ("+want+")") {
		t.Errorf("a mute process of another program: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := dialWithin(ctx, time.Minute, l.Addr(), &tls.Config{ServerName: host}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestNoTemporaryDirectory checks the message if no directory for the socket can be made.
func TestNoTemporaryDirectory(t *testing.T) {
	ps := processes(t, "protocol 6")
	t.Setenv("TMPDIR", "/nowhere")
	if why := refused(t, context.Background(), ps); !strings.Contains(why, "no directory for its socket can be made in /nowhere, the directory for temporary files (no such file or directory). Check TMPDIR") {
		t.Error(why)
	}
}

// TestOwnSession checks that a provider is not in the process group of Lethe, so that signals of the terminal reach
// only Lethe.
func TestOwnSession(t *testing.T) {
	if got := ask(t, start1(t, processes(t, "protocol 6")), "session"); got != "leader: true" {
		t.Error(got)
	}
}

// parent is a program that starts a provider, prints its process number, and waits.
func parent() {
	ps := processes(&testing.B{}, "protocol 6")
	p, err := ps.Start(context.Background(), playground)
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Validate(context.Background(), addr.Managed, "process", provider.Dynamic{})[0].Detail)
	linger()
}

// TestNoOrphans checks that providers end if Lethe is killed.
func TestNoOrphans(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a process that its parent has died")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	dir, err := os.MkdirTemp("", "launch") // a directory for the files that a killed process leaves
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	cmd.Env = append(os.Environ(), playing+"=parent", "TMPDIR="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid string
	if _, err := fmt.Fscanln(out, &pid); err != nil {
		t.Fatal(err)
	}
	if !alive(pid) {
		t.Fatalf("%s does not run", pid)
	}
	cmd.Process.Kill()
	cmd.Wait()
	waittest.Until(t, "process "+pid+" has ended", func() bool { return !alive(pid) })
}
