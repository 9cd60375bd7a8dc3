//go:build unix

package lethe

import "syscall"

const (
	modesCount = true               // the mode shows which users may read a file
	noWait     = syscall.O_NONBLOCK // opening does not block if the path is a pipe
)
