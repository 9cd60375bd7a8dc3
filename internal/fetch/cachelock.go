package fetch

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// locked runs f while no other process works on the plugin cache.
func locked(cache string, f func() error) error {
	lock, err := os.OpenFile(filepath.Join(cache, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return errors.Join(f(), syscall.Flock(int(lock.Fd()), syscall.LOCK_UN))
}
