package disktest

import (
	"io/fs"
	"strings"
	"sync"
	"syscall"

	"github.com/lethe-iac/lethe/internal/state/disk"
)

// Full passes calls on to a file system that becomes full: below a directory only so many bytes
// can be written, and what does not fit fails with ENOSPC after the part that did. Everything but
// writing works, and removing gives no room back.
type Full struct {
	disk.FS
	Under string // the directory; "": everything
	Room  int    // bytes that still fit

	mu    sync.Mutex
	sizes []int
}

// Writes gives the sizes of all writes that were tried.
func (f *Full) Writes() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sizes
}

// OpenFile implements disk.FS.
func (f *Full) OpenFile(name string, flag int, mode fs.FileMode) (disk.File, error) {
	file, err := f.FS.OpenFile(name, flag, mode)
	if err != nil || !strings.HasPrefix(name, f.Under) {
		return file, err
	}
	return &fullFile{file, f}, nil
}

// take gives how much of n bytes fits.
func (f *Full) take(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sizes = append(f.sizes, n)
	n = min(n, f.Room)
	f.Room -= n
	return n
}

type fullFile struct {
	disk.File
	fs *Full
}

func (f *fullFile) Write(p []byte) (int, error) {
	fits := f.fs.take(len(p))
	n, err := f.File.Write(p[:fits])
	if err == nil && n < len(p) {
		err = &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}
