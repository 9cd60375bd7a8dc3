//go:build !unix && !windows

package disk

import "os"

// Lock does nothing, because this system has no locks.
func Lock(*os.File) error { return nil }

// Share does nothing, because this system has no locks.
func Share(File) error { return nil }

// Held reports false, because this system has no locks.
func Held(File) bool { return false }
