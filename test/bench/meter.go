package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// meterVariable makes the program run its arguments as a command and print the figures, instead of a benchmark.
//
// The command needs a small parent: the kernel counts the memory of the process that starts a program as the
// program's own.
const meterVariable = "BENCH_METER"

// found is the exit code of the command secrets if it has found stored secrets.
const found = 2

// meter runs a command, waits for its orphaned child processes, and writes its figures as JSON to standard output. The
// output of the command is written to standard error. It returns an error if the command fails.
func meter(arguments []string) error {
	adopt()
	cmd := exec.Command(arguments[0], arguments[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	own := watch(cmd.Process.Pid)
	err := cmd.Wait()
	f := figures{Wall: time.Since(begin).Seconds()}
	f.use(cmd.ProcessState.SysUsage().(*syscall.Rusage))
	if peak := own(); peak > 0 {
		f.Peak = peak
	}
	orphans(&f)
	if err != nil && !(cmd.ProcessState.ExitCode() == found && arguments[1] == string(secrets)) {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// use adds the CPU time of a process and of the children that it has waited for, and raises the peak to that of the
// process.
func (f *figures) use(u *syscall.Rusage) {
	f.User += time.Duration(u.Utime.Nano()).Seconds()
	f.Sys += time.Duration(u.Stime.Nano()).Seconds()
	f.Peak = max(f.Peak, float64(u.Maxrss)/1024)
}
