package subprocess

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Hide prevents the user's other processes from reading this process's memory and environment. Debuggers cannot attach,
// and a crash writes no core file. Child processes are not affected.
func Hide() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// NoCore prevents a core file if a program crashes.
func NoCore(p *os.Process) { _ = unix.Prlimit(p.Pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil) }

// Lock prevents the memory of this process from being written to swap. It does so only if the system permits locking
// any amount of memory. With a limit, the runtime would fail to allocate memory later.
func Lock() {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err == nil && (limit.Cur == unix.RLIM_INFINITY || mayLockAll()) {
		_ = unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT) // with MCL_ONFAULT, memory that is not used is not allocated
	}
}

// mayLockAll reports whether this process has the capability to ignore the limit of locked memory.
func mayLockAll() bool {
	var have [2]unix.CapUserData // sets of 32 capabilities each
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &have[0])
	return err == nil && have[0].Effective&(1<<unix.CAP_IPC_LOCK) != 0
}

// Attributes returns the attributes for starting a program. If this process ends, the program receives SIGKILL, which
// it cannot ignore. A program that continued would hold secrets without a purpose.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// OnTerminal returns the attributes of a program that shares this process's terminal and process group, so that it can
// ask questions there. It receives the signal death when this process dies.
func OnTerminal(death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: death}
}

// Start starts cmd from a thread that does not end before this process. The kernel sends the death signal when the
// starting thread ends, and Go may end other threads.
func Start(cmd *exec.Cmd) error {
	result := make(chan error)
	starter() <- func() { result <- cmd.Start() }
	return <-result
}

var starter = sync.OnceValue(func() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
})

// processes returns the processes of the machine by ID.
func processes() map[int]process {
	out := map[int]process{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
		_, rest, _ := strings.Cut(string(text[max(0, bytes.LastIndexByte(text, ')')):]), " ")
		if fields := strings.Fields(rest); len(fields) > 19 { // fields has the fields of proc(5) from the third on: state, parent, …
			parent, _ := strconv.Atoi(fields[1])
			out[pid] = process{parent, fields[19]}
		}
	}
	return out
}
