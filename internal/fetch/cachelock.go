package fetch

import (
	"context"
	"os"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// locked runs f while no other process works on the packages of a directory, the plugin cache or that of
// a configuration.
func locked(dir, name string, f func() error) error {
	return lockedIn(context.Background(), dir, name, f)
}

// lockedIn is locked, without waiting longer than the context lasts: another process may be downloading.
func lockedIn(ctx context.Context, dir, name string, f func() error) error {
	lock, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	got := make(chan error, 1)
	go func() { got <- disk.Lock(lock) }()
	select {
	case err = <-got:
	case <-ctx.Done():
		go func() {
			<-got
			lock.Close()
		}()
		return download.Cause(ctx)
	}
	defer lock.Close()
	if err != nil {
		return err
	}
	return f()
}
