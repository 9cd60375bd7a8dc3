package spec

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// watched runs a command and returns its peak memory in bytes and its error. It kills a command that uses more than
// bombStopped bytes. It samples the memory every few milliseconds, because the peak from getrusage at the end includes
// the memory of this process at the start.
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

// resident returns the peak memory of a process so far in bytes, or 0 if it is not known.
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
