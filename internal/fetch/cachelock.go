package fetch

import (
	"os"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/state/disk"
)

// locked runs f while no other process works on the packages of a directory, the plugin cache or that of
// a configuration.
func locked(dir, name string, f func() error) error {
	lock, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := disk.Lock(lock); err != nil {
		return err
	}
	return f()
}
