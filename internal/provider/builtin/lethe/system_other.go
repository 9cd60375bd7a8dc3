//go:build !unix

package lethe

const (
	modesCount = false // the mode does not show who may read a file
	noWait     = 0
)
