package fetch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/download"
)

// Platform returns the operating system and architecture that providers must be built for, such as "linux_amd64".
func Platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

// LockName is the name of the dependency lock file.
const LockName = ".terraform.lock.hcl"

// packageDir returns the directory of a provider version below a directory of providers.
func packageDir(base string, p addr.Provider, version string) string {
	return filepath.Join(base, p.Host, p.Namespace, p.Type, version, Platform())
}

// executable returns the path of a provider's program in its package directory, and false if the directory has none. It
// prefers the name without a version.
func executable(dir string, p addr.Provider) (string, bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false
	}
	want := "terraform-provider-" + p.Type
	best := ""
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".exe")
		if e.IsDir() || name != want && !strings.HasPrefix(name, want+"_") {
			continue
		}
		if best == "" || name == want {
			best = e.Name()
		}
	}
	return filepath.Join(dir, best), best != ""
}

// replace writes a file atomically. Other users may read it.
func replace(path string, text []byte) error { return disk.ReplaceShared(disk.OS, path, text) }

// locked runs f while it holds the lock of the file dir/name. Processes that change the packages in dir, a plugin cache
// or a data directory, hold this lock meanwhile.
func locked(dir, name string, f func() error) error {
	return lockedIn(context.Background(), dir, name, f)
}

// lockedIn runs f while it holds the lock of the file dir/name. It stops waiting for the lock when the context ends,
// because another process may hold the lock during a download.
func lockedIn(ctx context.Context, dir, name string, f func() error) error {
	return lockedAfter(ctx, dir, name, func() {}, f)
}

// patience is the time that a command waits for the lock of another process before it informs the user.
const patience = 2 * time.Second

// lockedAfter runs f while it holds the lock of the file dir/name, like lockedIn. It calls waiting if another process
// holds the lock for longer than patience.
func lockedAfter(ctx context.Context, dir, name string, waiting func(), f func() error) error {
	lock, err := openLock(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	got := make(chan error, 1)
	go func() { got <- disk.Lock(lock) }()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for done := false; !done; {
		select {
		case err = <-got:
			done = true
		case <-timer.C:
			waiting()
		case <-ctx.Done():
			go func() {
				<-got
				lock.Close()
			}()
			return download.Cause(ctx)
		}
	}
	defer lock.Close()
	if err != nil {
		return err
	}
	return f()
}

// openLock opens a lock file. In a directory that several users share, another user may have created it. Read access is
// then enough to lock it.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if errors.Is(err, fs.ErrPermission) {
		if other, err := os.Open(path); err == nil {
			return other, nil
		}
	}
	return f, err
}
