//go:build !unix

package lethe

const (
	modesCount = false // the mode does not show which users may read a file
	noWait     = 0
)
