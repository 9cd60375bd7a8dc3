//go:build unix

package subprocess

// process is an entry in the process table of the system.
type process struct {
	parent int
	began  string // the start time, which distinguishes processes that had the same ID
}
