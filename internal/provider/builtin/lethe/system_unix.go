//go:build unix

package lethe

import "syscall"

const (
	modesCount = true               // the mode shows who may read a file
	noWait     = syscall.O_NONBLOCK // opening a pipe in place of the file does not block
)
