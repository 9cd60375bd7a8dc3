package disktest

import (
	"io/fs"
	"strings"
	"sync"
	"syscall"

	"github.com/lethe-iac/lethe/internal/disk"
)

// Full forwards calls to a file system that becomes full: Limit bytes can be written to files whose path begins with
// Under. A write that exceeds the limit writes the bytes that fit, and returns ENOSPC. Other calls are only forwarded,
// and removing a file does not free space.
type Full struct {
	disk.FS
	Under string // the beginning of the limited paths; "" means all files
	Limit int    // bytes that still fit

	mu    sync.Mutex
	sizes []int
}

// Writes returns the sizes of all attempted writes to limited files, in bytes.
func (f *Full) Writes() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sizes
}

// OpenFile opens a file. Writes to the file count if its path begins with Under.
func (f *Full) OpenFile(name string, flag int, mode fs.FileMode) (disk.File, error) {
	file, err := f.FS.OpenFile(name, flag, mode)
	if err != nil || !strings.HasPrefix(name, f.Under) {
		return file, err
	}
	return &fullFile{file, f}, nil
}

// reserve returns how many of n bytes still fit, and subtracts the returned number from Limit. It records n for Writes.
func (f *Full) reserve(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sizes = append(f.sizes, n)
	n = min(n, f.Limit)
	f.Limit -= n
	return n
}

type fullFile struct {
	disk.File
	fs *Full
}

func (f *fullFile) Write(p []byte) (int, error) {
	fits := f.fs.reserve(len(p))
	n, err := f.File.Write(p[:fits])
	if err == nil && n < len(p) {
		err = &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}
