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

// Hide keeps the user's other processes out of our memory and environment, and our memory out of files: no debugger can
// be attached, and there is no image of it after a crash. Programs that we start are not meant.
func Hide() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// NoCore has no image of a program's memory made after a crash.
func NoCore(p *os.Process) { _ = unix.Prlimit(p.Pid, unix.RLIMIT_CORE, &unix.Rlimit{}, nil) }

// Lock keeps our memory from being written to swap, where the system lets us lock as much as there will ever be: with a
// limit, the runtime would be refused memory at some time.
func Lock() {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err == nil && (limit.Cur == unix.RLIM_INFINITY || mayLockAll()) {
		_ = unix.Mlockall(unix.MCL_CURRENT | unix.MCL_FUTURE | unix.MCL_ONFAULT) // what is never touched takes no memory
	}
}

// mayLockAll reports whether limits of locked memory do not hold for us.
func mayLockAll() bool {
	var have [2]unix.CapUserData // sets of 32 capabilities each
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &have[0])
	return err == nil && have[0].Effective&(1<<unix.CAP_IPC_LOCK) != 0
}

// Attributes are what a program is started with. The signal it gets when we die is one that
// cannot be ignored: what is left then has lost the process that it works for, and holds our secrets.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// OnTerminal returns the attributes of a program that shares our terminal and our process group, so that it can ask its
// own questions there. It gets the signal death when we die.
func OnTerminal(death syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: death}
}

// Start starts cmd from a thread that lives as long as we do: the kernel sends the signal when
// the thread that started the process ends, not when the process does, and Go may end threads.
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

// processes lists the processes of the machine by ID.
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
		if fields := strings.Fields(rest); len(fields) > 19 { // from the third field of proc(5): the state, the parent …
			parent, _ := strconv.Atoi(fields[1])
			out[pid] = process{parent, fields[19]}
		}
	}
	return out
}
