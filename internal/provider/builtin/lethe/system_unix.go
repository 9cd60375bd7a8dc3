//go:build unix

package lethe

import "syscall"

const (
	modesCount = true               // the mode of a file says who may read it
	noWait     = syscall.O_NONBLOCK // a pipe in the place of a file is opened at once
)
