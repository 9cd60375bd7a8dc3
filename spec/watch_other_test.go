//go:build !linux

package spec

import "os/exec"

// watched runs a command. How much memory it had is not known here.
func watched(cmd *exec.Cmd) (int64, error) { return 0, cmd.Run() }
