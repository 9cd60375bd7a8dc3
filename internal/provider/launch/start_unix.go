//go:build unix

package launch

import (
	"errors"
	"syscall"
)

// busy reports that the program's file is open for writing.
func busy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// foreign reports that the file is no program that can run here.
func foreign(err error) bool { return errors.Is(err, syscall.ENOEXEC) }
