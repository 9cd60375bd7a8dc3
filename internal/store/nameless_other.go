//go:build !unix

package store

import "github.com/lethe-iac/lethe/internal/disk"

// lingers is true if a removed file stays in its directory until every process has closed it.
const lingers = true

func nameless(disk.File) bool { return false }
