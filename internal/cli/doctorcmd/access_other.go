//go:build !unix

package doctorcmd

// writable reports whether files can be created in a directory. Without an attempt, this is not known here.
func writable(string) bool { return true }
