//go:build !unix

package lethe

const (
	modesCount = false // false: the mode of a file does not show which users may read it
	noWait     = 0
)
