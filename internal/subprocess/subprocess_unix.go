//go:build unix

package subprocess

import (
	"os"
	"syscall"
)

// Terminate asks a program, and what it started, to end.
func Terminate(p *os.Process) { signal(p, syscall.SIGTERM) }

// Ask asks a program to end, and leaves it to the program to end what it started.
func Ask(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// Kill ends them.
func Kill(p *os.Process) {
	signal(p, syscall.SIGKILL)
	_ = p.Kill() // where it has no group of its own
}

func signal(p *os.Process, s syscall.Signal) {
	if p.Pid > 1 {
		_ = syscall.Kill(-p.Pid, s)
	}
}

// HasTerminal reports whether we have a controlling terminal.
func HasTerminal() bool {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// Family is a program in our process group, and what it started. The group cannot be ended, because we are in it.
// Processes that the program left before the first signal, whose parent has ended, do not belong to it any more.
type Family struct {
	Root *os.Process

	known map[int]process
}

// Terminate asks all of them to end.
func (f *Family) Terminate() { f.signal(syscall.SIGTERM) }

// Kill ends all of them, those that were asked before as well.
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
		if now[pid].began == p.began && pid > 1 { // its parent may be another one by now
			_ = syscall.Kill(pid, s)
		}
	}
}
