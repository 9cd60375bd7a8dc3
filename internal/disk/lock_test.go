package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
)

// TestShare checks that a shared lock is held until all holders have closed the file, and that the file can be read and
// extended meanwhile.
func TestShare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	open := func(flag int) disk.File {
		t.Helper()
		f, err := disk.OS.OpenFile(path, flag, disk.FileMode)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	held := func() bool {
		f := open(os.O_RDONLY)
		defer f.Close()
		return disk.Held(f)
	}
	first, second := open(os.O_RDWR|os.O_CREATE|os.O_APPEND), open(os.O_RDWR|os.O_APPEND)
	for _, f := range []disk.File{first, second} {
		if err := disk.Share(f); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.Write([]byte("text")); err != nil {
		t.Error(err)
	}
	if text, err := disk.OS.ReadFile(path); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	for _, f := range []disk.File{first, second} {
		if !held() {
			t.Error("not held")
		}
		f.Close()
	}
	if held() {
		t.Error("still held")
	}
}
