//go:build !linux

package fetch

import "io/fs"

// fill adds what only the system knows. Here it is not asked, and packages are always read.
func (id *identity) fill(fs.FileInfo) bool { return false }

// boot names this start of the machine, where files are told apart.
func boot() string { return "" }
