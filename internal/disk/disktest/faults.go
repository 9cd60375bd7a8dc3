// Package disktest implements file systems with faults, for tests: Faults makes a call fail, Full has a limited size,
// Lacking lacks operations, and Volatile loses changes that are not durable. It also has functions for tests of links
// and modes.
package disktest

import (
	"io/fs"
	"sync"

	"github.com/lethe-iac/lethe/internal/disk"
)

// Faults forwards calls to a file system, and makes the call with the number At fail. It counts the calls for which
// Faults and its open files have methods. Other calls, such as Stat, ReadDir and Read, are not counted and do not fail.
type Faults struct {
	disk.FS
	At   int   // the number of the call that fails, from 1; 0 means that no call fails
	Err  error // the error of the failing calls
	Dead bool  // all later calls fail too, as if the process had been killed
	Half bool  // a failing Write of a file first writes half of the data

	mu    sync.Mutex
	calls int
	log   []string
}

// Calls returns the number of counted calls so far.
func (f *Faults) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Last returns the name of the call with the number At, such as "rename PATH", or "none" if no call has reached At.
func (f *Faults) Last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.At == 0 || f.At > len(f.log) {
		return "none"
	}
	return f.log[f.At-1]
}

// call counts and logs one call. It returns Err if this call must fail, and nil otherwise.
func (f *Faults) call(what string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	f.log = append(f.log, what)
	if f.At > 0 && (f.calls == f.At || f.calls > f.At && f.Dead) {
		return f.Err
	}
	return nil
}

// OpenFile opens a file whose later calls are counted, too, or fails as Faults requires.
func (f *Faults) OpenFile(name string, flag int, mode fs.FileMode) (disk.File, error) {
	if err := f.call("open " + name); err != nil {
		return nil, err
	}
	file, err := f.FS.OpenFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return &faultFile{file, f}, nil
}

// ReadFile counts the call, and reads the file unless the call must fail.
func (f *Faults) ReadFile(name string) ([]byte, error) {
	if err := f.call("read " + name); err != nil {
		return nil, err
	}
	return f.FS.ReadFile(name)
}

// Rename counts the call, and renames the file unless the call must fail.
func (f *Faults) Rename(from, to string) error {
	if err := f.call("rename " + from); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

// Link counts the call, and makes the hard link unless the call must fail.
func (f *Faults) Link(from, to string) error {
	if err := f.call("link " + from); err != nil {
		return err
	}
	return f.FS.Link(from, to)
}

// Remove counts the call, and removes the file unless the call must fail.
func (f *Faults) Remove(name string) error {
	if err := f.call("remove " + name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

// MkdirAll counts the call, and makes the directories unless the call must fail.
func (f *Faults) MkdirAll(name string, mode fs.FileMode) error {
	if err := f.call("mkdir " + name); err != nil {
		return err
	}
	return f.FS.MkdirAll(name, mode)
}

// SyncDir counts the call, and makes the names in the directory durable unless the call must fail.
func (f *Faults) SyncDir(name string) error {
	if err := f.call("sync directory " + name); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

type faultFile struct {
	disk.File
	fs *Faults
}

func (f *faultFile) Write(p []byte) (int, error) {
	if err := f.fs.call("write " + f.Name()); err != nil {
		n := 0
		if f.fs.Half {
			n, _ = f.File.Write(p[:len(p)/2])
		}
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultFile) Sync() error {
	if err := f.fs.call("sync " + f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultFile) DataSync() error {
	if err := f.fs.call("data sync " + f.Name()); err != nil {
		return err
	}
	return f.File.DataSync()
}

func (f *faultFile) Truncate(n int64) error {
	if err := f.fs.call("truncate " + f.Name()); err != nil {
		return err
	}
	return f.File.Truncate(n)
}

func (f *faultFile) Chmod(m fs.FileMode) error {
	if err := f.fs.call("chmod " + f.Name()); err != nil {
		return err
	}
	return f.File.Chmod(m)
}

func (f *faultFile) Close() error {
	err := f.fs.call("close " + f.Name())
	if closed := f.File.Close(); err == nil {
		err = closed
	}
	return err
}
