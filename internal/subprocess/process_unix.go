//go:build unix

package subprocess

// process is an entry of the system's table of processes.
type process struct {
	parent int
	began  string // tells it from a later one with the same ID
}
