//go:build unix

package lethe

import "syscall"

const (
	modesCount = true               // true: the mode of a file shows which users may read it
	noWait     = syscall.O_NONBLOCK // a flag for opening a file: if the file is a pipe, opening it does not block
)
