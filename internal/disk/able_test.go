//go:build unix

package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
)

// TestReplaceWithoutDirectorySync checks that Replace succeeds if directories cannot be synchronised, and fails if the
// disk fails to do so.
func TestReplaceWithoutDirectorySync(t *testing.T) {
	for _, c := range []struct {
		err  error
		want error
	}{{syscall.EINVAL, nil}, {syscall.ENOTSUP, nil}, {syscall.EOPNOTSUPP, nil}, {syscall.ENOSYS, nil}, {syscall.EBADF, nil}, {syscall.EACCES, nil}, {syscall.EIO, syscall.EIO}, {syscall.ENOSPC, syscall.ENOSPC}} {
		path := filepath.Join(t.TempDir(), "file")
		err := disk.Replace(&disktest.Lacking{FS: disk.OS, NoSync: c.err}, path, []byte("new"))
		if got, _ := os.ReadFile(path); string(got) != "new" || !errors.Is(err, c.want) {
			t.Errorf("%v: %v, and there is %q", c.err, err, got)
		}
	}
}

func mounted(path string, with error) func(string) error {
	return func(name string) error {
		if name == path {
			return with
		}
		return nil
	}
}

// TestReplaceMountPoint checks that a mount point is written in place. After any failure, even if all later calls fail,
// the old or the new content is complete in the file or in the copy beside it.
func TestReplaceMountPoint(t *testing.T) {
	for _, with := range []error{syscall.EBUSY, syscall.EXDEV} {
		for at := 0; ; at++ {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			if err := os.WriteFile(path, []byte("the old content"), 0o600); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Stat(path)
			faults := &disktest.Faults{FS: &disktest.Lacking{FS: disk.OS, Mounted: mounted(path, with)}, At: at, Err: syscall.EIO, Half: true, Dead: true}
			err := disk.Replace(faults, path, []byte("new"))
			if at > 0 && faults.Calls() < at {
				break
			}
			got, _ := os.ReadFile(path)
			copied, _ := os.ReadFile(disk.Pending(path))
			switch {
			case at == 0:
				left, _ := os.ReadDir(dir)
				after, _ := os.Stat(path)
				if err != nil || string(got) != "new" || len(left) != 1 || !os.SameFile(before, after) {
					t.Errorf("%v: %v, there is %q, and beside it %v", with, err, got, left)
				}
			case err == nil:
				t.Errorf("call %d (%s) failed without an error", at, faults.Last())
			case string(got) != "the old content" && string(got) != "new" && string(copied) != "new":
				t.Errorf("call %d (%s) failed: there is %q, and the copy %q", at, faults.Last(), got, copied)
			}
		}
	}
}
