//go:build unix

package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"golang.org/x/sys/unix"
)

func numbered(serial int) []byte {
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.0","serial":%d,"lineage":"l","outputs":{},"resources":[]}`+"\n", serial)
}

// write locks, replaces and unlocks a state like a command.
func write(t *testing.T, l *Local, data []byte) {
	t.Helper()
	unlock, err := l.Lock(t.Context(), Default, NewLockInfo("test", ""))
	if err != nil {
		t.Fatal(err)
	}
	_, v, err := l.Get(t.Context(), Default)
	if err == nil {
		_, err = l.Put(t.Context(), Default, data, v)
	}
	if err != nil {
		t.Error(err)
	}
	if err := unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

func left(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestLocalWithoutLinks checks that a local state can be locked and written on a file system that has no hard links and
// cannot synchronise directories.
func TestLocalWithoutLinks(t *testing.T) {
	for _, with := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EMLINK} {
		dir := t.TempDir()
		fsys := &disktest.Lacking{FS: disk.OS, NoLink: with, NoSync: syscall.EINVAL}
		l := NewLocal(LocalOptions{Dir: dir, FS: fsys})
		unlock, err := l.Lock(t.Context(), Default, NewLockInfo("test", ""))
		if err != nil {
			t.Fatalf("%v: %v", with, err)
		}
		if _, err := NewLocal(LocalOptions{Dir: dir, FS: fsys}).Lock(t.Context(), Default, NewLockInfo("test", "")); err == nil {
			t.Errorf("%v: locked twice", with)
		}
		if data, v, err := l.Get(t.Context(), Default); data != nil || v != "" || err != nil {
			t.Errorf("%v: what is locked is %q %q %v", with, data, v, err)
		}
		if err := unlock(t.Context()); err != nil {
			t.Error(err)
		}
		if names := left(t, dir); len(names) != 0 {
			t.Errorf("%v: %v is left", with, names)
		}
		for serial := range 3 {
			write(t, NewLocal(LocalOptions{Dir: dir, FS: fsys}), numbered(serial+1))
		}
		past, err := l.History(t.Context(), Default)
		if data, _, _ := l.Get(t.Context(), Default); !bytes.Equal(data, numbered(3)) || err != nil || len(past) != 3 {
			t.Errorf("%v: there is %s, of %d states, %v", with, data, len(past), err)
		}
	}
}

// TestLocalMountPoint checks that a state that is a mount point is written in place. If the process is killed during
// the write, the next process finds the new state and completes the write.
func TestLocalMountPoint(t *testing.T) {
	for at := 0; ; at++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "terraform.tfstate")
		if err := os.WriteFile(path, numbered(1), 0o600); err != nil {
			t.Fatal(err)
		}
		mount := &disktest.Lacking{FS: disk.OS, Mounted: func(name string) error {
			if name == path {
				return syscall.EBUSY
			}
			return nil
		}}
		faults := &disktest.Faults{FS: mount, Err: syscall.EIO, Half: true, Dead: true}
		l := NewLocal(LocalOptions{Dir: dir, FS: faults})
		if _, err := l.Lock(t.Context(), Default, NewLockInfo("test", "")); err != nil {
			t.Fatal(err)
		}
		_, v, err := l.Get(t.Context(), Default)
		if err != nil {
			t.Fatal(err)
		}
		started := faults.Calls()
		if at > 0 {
			faults.At = started + at
		}
		_, err = l.Put(t.Context(), Default, numbered(2), v)
		done := faults.Calls() < faults.At
		l.held[Default].file.Close() // the end of a process closes the file
		next := NewLocal(LocalOptions{Dir: dir, FS: mount})
		data, _, getErr := next.Get(t.Context(), Default)
		if getErr != nil || !bytes.Equal(data, numbered(1)) && !bytes.Equal(data, numbered(2)) || err == nil && !bytes.Equal(data, numbered(2)) {
			t.Errorf("call %d (%s): %v, then there is %s, %v", at, faults.Last(), err, data, getErr)
		}
		write(t, next, numbered(3))
		if data, err := os.ReadFile(path); !bytes.Equal(data, numbered(3)) || err != nil {
			t.Errorf("call %d (%s): the next command left %s, %v", at, faults.Last(), data, err)
		}
		if names := left(t, dir); len(names) != 3 { // the directory has the state, the backup and the history
			t.Errorf("call %d (%s): there is %v", at, faults.Last(), names)
		}
		if done {
			break
		}
	}
}

// TestLocalTidies checks that the next command that holds the lock removes the temporary files of a killed command, and
// keeps other files.
func TestLocalTidies(t *testing.T) {
	dir := t.TempDir()
	write(t, NewLocal(LocalOptions{Dir: dir}), numbered(1))
	write(t, NewLocal(LocalOptions{Dir: dir}), numbered(2))
	const random = ".0123456789abcdef.tmp"
	for _, name := range []string{".terraform.tfstate" + random, ".terraform.tfstate.backup" + random, "..terraform.tfstate.lock.info" + random, ".terraform.tfstate.history/.1-1.tfstate" + random, ".other" + random, ".terraform.tfstate.x.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("canary-52e1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(t, NewLocal(LocalOptions{Dir: dir}), numbered(3))
	if names := fmt.Sprint(left(t, dir), left(t, filepath.Join(dir, ".terraform.tfstate.history"))[0][:1]); names != "[.other"+random+" .terraform.tfstate.history .terraform.tfstate.x.tmp terraform.tfstate terraform.tfstate.backup]1" {
		t.Error(names)
	}
}

// TestHistoryIsACopy checks that former states do not change if another program writes the backup in place. Older
// versions made hard links: such a link is ignored if its serial has changed.
func TestHistoryIsACopy(t *testing.T) {
	dir := t.TempDir()
	for serial := 1; serial <= 3; serial++ {
		write(t, NewLocal(LocalOptions{Dir: dir}), numbered(serial))
	}
	l := NewLocal(LocalOptions{Dir: dir})
	if err := os.WriteFile(filepath.Join(dir, "terraform.tfstate.backup"), numbered(7), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := l.Former(t.Context(), Default, Past{Serial: 2}); !bytes.Equal(data, numbered(2)) || err != nil {
		t.Errorf("%s, %v", data, err)
	}
	kept, err := l.listKept(Default)
	if err != nil || len(kept) != 2 {
		t.Fatal(kept, err)
	}
	if err := os.WriteFile(filepath.Join(l.historyDir(Default), kept[0].name), numbered(7), 0o600); err != nil {
		t.Fatal(err)
	}
	past, _ := l.History(t.Context(), Default)
	if data, err := l.Former(t.Context(), Default, Past{Serial: 2}); data != nil || err != nil || len(past) != 2 {
		t.Errorf("%s, %v; %v", data, err, past)
	}
}

// TestLocalUnderAForeignGuard checks that the store waits once, for a limited time, if a parent program holds a lock on
// the directory.
func TestLocalUnderAForeignGuard(t *testing.T) {
	was := longestGuard
	t.Cleanup(func() { longestGuard = was })
	longestGuard = 20 * time.Millisecond
	dir := t.TempDir()
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := unix.Flock(int(d.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	l := NewLocal(LocalOptions{Dir: dir})
	write(t, l, numbered(1))
	if longestGuard = time.Hour; !l.hurry {
		t.Error("the next writing would wait again")
	}
	write(t, l, numbered(2))
	if data, _, _ := l.Get(t.Context(), Default); !bytes.Equal(data, numbered(2)) {
		t.Errorf("there is %s", data)
	}
}
