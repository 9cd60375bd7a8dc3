//go:build !unix

package store

import "github.com/lethe-iac/lethe/internal/disk"

func nameless(disk.File) bool { return false }
