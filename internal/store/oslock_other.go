//go:build !unix && !windows

package store

import (
	"errors"

	"github.com/lethe-iac/lethe/internal/disk"
)

func lockFile(disk.File, lockMode) error {
	return errors.New("local states cannot be locked on this system; use -lock=false")
}

func unlockFile(disk.File) {}
