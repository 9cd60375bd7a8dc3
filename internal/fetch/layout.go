package fetch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// Platform is the operating system and architecture that providers are built for, such as
// "linux_amd64".
func Platform() string { return runtime.GOOS + "_" + runtime.GOARCH }

// LockName is the name of the dependency lock file.
const LockName = ".terraform.lock.hcl"

// packageDir is where a provider version lives below a providers directory.
func packageDir(base string, p addr.Provider, version string) string {
	return filepath.Join(base, p.Host, p.Namespace, p.Type, version, Platform())
}

// executable finds the provider's program in its package directory.
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

// replace writes a file, whole or not at all.
func replace(path string, text []byte) error {
	tmp, err := createBeside(path)
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// createBeside makes a new file beside another one, with the mode that the user's umask leaves: what is in the file may
// be of no concern to others.
func createBeside(path string) (f *os.File, err error) {
	for range 100 {
		f, err = os.OpenFile(fmt.Sprintf("%s.%08x", path, rand.Uint32()), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}

// locked runs f while no other process works on the packages of a directory, the plugin cache or that of
// a configuration.
func locked(dir, name string, f func() error) error {
	return lockedIn(context.Background(), dir, name, f)
}

// lockedIn is locked, without waiting longer than the context lasts: another process may be downloading.
func lockedIn(ctx context.Context, dir, name string, f func() error) error {
	return lockedAfter(ctx, dir, name, func() {}, f)
}

// patience is how long a command waits for another process before it tells the user that it waits.
const patience = 2 * time.Second

// lockedAfter is lockedIn, and calls waiting if another process holds the lock for more than a moment.
func lockedAfter(ctx context.Context, dir, name string, waiting func(), f func() error) error {
	lock, err := openLock(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	got := make(chan error, 1)
	go func() { got <- disk.Lock(lock) }()
	tell := time.NewTimer(patience)
	defer tell.Stop()
	for done := false; !done; {
		select {
		case err = <-got:
			done = true
		case <-tell.C:
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

// openLock opens a lock file. Another user may have made it in a directory that several users share; reading is enough
// to lock it then.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if errors.Is(err, fs.ErrPermission) {
		if other, err := os.Open(path); err == nil {
			return other, nil
		}
	}
	return f, err
}
