//go:build !unix

package lethe

const (
	modesCount = false // who may read a file is not in its mode
	noWait     = 0
)
