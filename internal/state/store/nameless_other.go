//go:build !unix

package store

import "github.com/lethe-iac/lethe/internal/state/disk"

func nameless(disk.File) bool { return false }
