//go:build !windows

package base

// escapes reports whether a stream understands escape sequences for colours and movements. Outside Windows, it always
// returns true.
func escapes(any) bool { return true }
