package subprocess

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Hide keeps the user's other processes out of our memory and environment, and our memory out of files: no debugger can
// be attached, and there is no image of it after a crash. Programs that we start are not meant.
func Hide() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// Attributes are what a program is started with. The signal it gets when we die is one that
// cannot be ignored: what is left then has lost the process that it works for, and holds our secrets.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
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
