//go:build !linux

package fetch

import "io/fs"

// inode returns false: it is not implemented on this system, so packages are read every time.
func inode(fs.FileInfo) (dev, ino uint64, status int64, ok bool) { return 0, 0, 0, false }

// boot returns "", because files have no identity on this system.
func boot() string { return "" }
