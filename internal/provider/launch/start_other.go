//go:build !unix

package launch

func busy(error) bool { return false }

// foreign returns false, because this system does not report that a file is not a program for it.
func foreign(error) bool { return false }
