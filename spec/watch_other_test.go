//go:build !linux

package spec

import "os/exec"

// watched runs a command and returns its error. The memory is always 0, because this platform does not measure it.
func watched(cmd *exec.Cmd) (int64, error) { return 0, cmd.Run() }
