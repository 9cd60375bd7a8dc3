//go:build !linux

package spec

import "os/exec"

// watched runs a command. This platform has no measurement of its memory.
func watched(cmd *exec.Cmd) (int64, error) { return 0, cmd.Run() }
