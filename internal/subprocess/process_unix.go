//go:build unix

package subprocess

// process is an entry in the process table of the system.
type process struct {
	parent int
	began  string // start time; it distinguishes processes that reuse an ID
}
