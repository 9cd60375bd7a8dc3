//go:build !unix && !windows

package store

import "time"

// guardDir should lock a directory against other writers. It does nothing and returns true, because this system cannot
// lock a directory.
func guardDir(string, time.Duration) (release func(), ok bool) { return func() {}, true }
