//go:build !unix

package doctorcmd

// writable returns true: on this system, only an attempt would show whether files can be created in a directory.
func writable(string) bool { return true }
