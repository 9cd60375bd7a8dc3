package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

const childSubreaper = 36 // PR_SET_CHILD_SUBREAPER

// adopt makes orphans of the command children of this process.
func adopt() {
	_, _, _ = syscall.Syscall(syscall.SYS_PRCTL, childSubreaper, 1, 0)
}

// orphans waits for the processes that the command left and adds their CPU time. It does not change the peak.
func orphans(f *figures) {
	for {
		var usage syscall.Rusage
		if _, err := syscall.Wait4(-1, nil, 0, &usage); err != nil {
			if err == syscall.EINTR {
				continue
			}
			return
		}
		peak := f.Peak
		f.use(&usage)
		f.Peak = peak
	}
}

// watch samples the peak memory of a process while it runs, because the usage that the kernel reports at the end
// contains the memory of the providers. It returns a function that ends the sampling and returns the peak in MiB, or 0
// if the process ended before the first sample. The function must be called once.
func watch(pid int) func() float64 {
	stop, done := make(chan struct{}), make(chan float64)
	go func() {
		peak := 0.0
		ticks := time.NewTicker(20 * time.Millisecond)
		defer ticks.Stop()
		for {
			select {
			case <-stop:
				done <- peak
				return
			case <-ticks.C:
				peak = max(peak, resident(pid))
			}
		}
	}()
	return func() float64 {
		close(stop)
		return <-done
	}
}

// resident returns the largest resident memory that a process has had, in MiB, or 0 if it is not known.
func resident(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	number, _, _ := bytes.Cut(bytes.TrimLeft(rest, " \t"), []byte(" "))
	kb, _ := strconv.ParseFloat(string(number), 64)
	return kb / 1024
}

// end makes the end of the command's context kill its child processes, too. It must be called before the start.
func end(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
