//go:build !linux

package fetch

import "io/fs"

// inode is what only the system knows of a file. Here it is not asked, and packages are always read.
func inode(fs.FileInfo) (dev, ino uint64, status int64, ok bool) { return 0, 0, 0, false }

// boot names this start of the machine, where files are told apart.
func boot() string { return "" }
