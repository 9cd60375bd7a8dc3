//go:build unix

package subprocess

import (
	"os"
	"syscall"
)

// Terminate sends SIGTERM to a program and its process group.
func Terminate(p *os.Process) { signal(p, syscall.SIGTERM) }

// Ask sends SIGTERM to the program, but not to its child processes. The program must end them.
func Ask(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// Kill kills a program and its process group.
func Kill(p *os.Process) {
	signal(p, syscall.SIGKILL)
	_ = p.Kill() // the program may have been started without a separate process group
}

func signal(p *os.Process, s syscall.Signal) {
	if p.Pid > 1 {
		_ = syscall.Kill(-p.Pid, s)
	}
}

// HasTerminal reports whether this process has a controlling terminal.
func HasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// Family is a program in this process group, with its descendants. The group cannot be signalled, because it contains
// this process. Descendants whose parent ended before the first signal no longer belong to the family.
type Family struct {
	Root *os.Process

	known map[int]process
}

// Terminate sends SIGTERM to all processes of the family.
func (f *Family) Terminate() { f.signal(syscall.SIGTERM) }

// Kill kills all processes of the family, including the processes that Terminate found.
func (f *Family) Kill() { f.signal(syscall.SIGKILL) }

func (f *Family) signal(s syscall.Signal) {
	now := processes()
	if f.known == nil {
		f.known = map[int]process{}
	}
	if root, ok := now[f.Root.Pid]; ok {
		f.known[f.Root.Pid] = root
	}
	for found := true; found; {
		found = false
		for pid, p := range now {
			parent, ok := f.known[p.parent]
			if ok && parent.began == now[p.parent].began && f.known[pid].began != p.began {
				f.known[pid], found = p, true
			}
		}
	}
	for pid, p := range f.known {
		if now[pid].began == p.began && pid > 1 { // check the start time, because the ID may belong to another process now
			_ = syscall.Kill(pid, s)
		}
	}
}
