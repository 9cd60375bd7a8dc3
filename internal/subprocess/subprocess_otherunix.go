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

// Hide prevents a core file if this process crashes. It does not restrict access to the memory of the running process.
func Hide() {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_CORE, &l) == nil {
		l.Cur = 0
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &l)
	}
}

// NoCore does nothing, because programs inherit the limit that Hide sets.
func NoCore(*os.Process) {}

// Lock does nothing on this system: memory may be written to swap.
func Lock() {}

// Attributes returns the attributes for starting a program in a separate session. The program continues if this process
// ends.
func Attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// OnTerminal returns nil: without attributes, a program shares this process's terminal and process group, so that it
// can ask questions there.
func OnTerminal(syscall.Signal) *syscall.SysProcAttr { return nil }

// processes returns the processes of the machine by ID.
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
