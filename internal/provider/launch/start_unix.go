//go:build unix

package launch

import (
	"errors"
	"syscall"
)

// busy reports whether an error means that the program's file is open for writing.
func busy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// foreign reports whether an error means that the file is not a program for this system.
func foreign(err error) bool { return errors.Is(err, syscall.ENOEXEC) }
