package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
)

// TestPrivateFiles checks that a new file with mode 0600 has an access control list for the current user only, also
// after a rename and a link, and that another new file inherits the list of its directory.
func TestPrivateFiles(t *testing.T) {
	dir := t.TempDir()
	name := func(n string) string { return filepath.Join(dir, n) }
	f, err := disk.OS.OpenFile(name("private"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := disk.OS.Link(name("private"), name("linked")); err != nil {
		t.Fatal(err)
	}
	if err := disk.OS.Rename(name("private"), name("renamed")); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"linked", "renamed"} {
		if err := disktest.Private(name(n)); err != nil {
			t.Error(err)
		}
	}
	f2, err := disk.OpenPrivate(name("log"), os.O_APPEND)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f2.Close(), disktest.Private(name("log"))); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(name("other"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if disktest.Private(name("other")) == nil {
		t.Error("a file with another mode is private, too: the test shows nothing")
	}
}

// TestHeldOpen checks that a file which another program holds open for a moment can be read and replaced.
func TestHeldOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := disk.Replace(disk.OS, path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	for _, do := range []func() error{
		func() error { _, err := disk.OS.ReadFile(path); return err },
		func() error { return disk.Replace(disk.OS, path, []byte("new")) },
		func() error { return disk.OS.Remove(path) },
	} {
		release := hold(t, path)
		done := make(chan error, 1)
		go func() { done <- do() }()
		release()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestHeldForever checks that a file which another program holds open all the time keeps its content, and that the
// error names the copy with the new content.
func TestHeldForever(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := disk.Replace(disk.OS, path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	release := hold(t, path)
	err := disk.Replace(disk.OS, path, []byte("new"))
	release()
	old, _ := os.ReadFile(path)
	next, _ := os.ReadFile(disk.Pending(path))
	if err == nil || !strings.Contains(err.Error(), disk.Pending(path)) || string(old) != "old" || string(next) != "new" {
		t.Errorf("%v, %q, %q", err, old, next)
	}
}

// hold opens a file like a program that permits no other program to open it.
func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return func() { windows.CloseHandle(h) }
}
