//go:build !windows

package provision

import "os/exec"

// verbatim does nothing: on this system programs receive their arguments one by one.
func verbatim(*exec.Cmd) {}
