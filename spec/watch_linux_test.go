package spec

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// watched runs a command and returns the most memory it had. One that takes too much is ended. It
// looks every few milliseconds instead of asking at the end (getrusage), because the most that a
// process had there includes what this one had when it started it.
func watched(cmd *exec.Cmd) (int64, error) {
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	most := int64(0)
	for {
		select {
		case err := <-done:
			return most, err
		case <-time.After(5 * time.Millisecond):
			most = max(most, resident(cmd.Process.Pid))
			if most > bombStopped {
				_ = cmd.Process.Kill()
				return most, <-done
			}
		}
	}
}

// resident is the most memory that a process had so far.
func resident(pid int) int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(raw, []byte("VmHWM:"))
	parts := bytes.Fields(rest)
	if len(parts) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseInt(string(parts[0]), 10, 64)
	return kilobytes << 10
}
