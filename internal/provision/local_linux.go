package provision

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// attributes: a session of its own, which can be ended as a whole and has no terminal to ask
// questions at; and death when we die, because a command holds what its configuration gave it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// start starts cmd from a thread that lives as long as we do: the kernel sends the signal when
// the thread that started the process ends.
func start(cmd *exec.Cmd) error {
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
