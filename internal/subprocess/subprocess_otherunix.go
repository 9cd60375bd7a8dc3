//go:build unix && !linux

package subprocess

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Hide has no image of our memory made after a crash. Who may look into it while we run is the system's affair.
func Hide() {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &l) == nil {
		l.Cur = 0
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &l)
	}
}

// NoCore does nothing: programs inherit the limit that Hide has set.
func NoCore(*os.Process) {}

// Lock does nothing here.
func Lock() {}

// Attributes are what a program is started with. Nothing ends it when we die without ending it.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// OnTerminal returns the attributes of a program that shares our terminal and our process group, so that it can ask its
// own questions there.
func OnTerminal(syscall.Signal) *syscall.SysProcAttr { return nil }

// processes lists the processes of the machine by ID.
func processes() map[int]process {
	out := map[int]process{}
	text, _ := exec.Command("ps", "-A", "-o", "pid=,ppid=,lstart=").Output()
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		parent, err1 := strconv.Atoi(fields[1])
		if err == nil && err1 == nil {
			out[pid] = process{parent, strings.Join(fields[2:], " ")}
		}
	}
	return out
}

// Start starts cmd.
func Start(cmd *exec.Cmd) error { return cmd.Start() }
