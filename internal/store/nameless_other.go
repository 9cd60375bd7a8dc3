//go:build !unix

package store

import "github.com/lethe-iac/lethe/internal/disk"

// lingers is true if a removed file can stay in its directory until it is closed.
const lingers = true

func nameless(disk.File) bool { return false }
