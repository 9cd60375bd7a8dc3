package disktest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/lethe-iac/lethe/internal/disk"
)

// Volatile is a file system in memory that can lose its power. After a power failure, a part of the changes that were
// not durable may exist. For a file, this part is the first bytes written since its last sync. For a directory, it is
// the first changes since its last sync, in order. Paths are absolute. The file system has no symbolic links and no
// permissions.
type Volatile struct {
	mu    sync.Mutex
	names map[string]*inode // the present files by path, durable or not
	dirs  map[string]*directory
}

type inode struct {
	now    []byte
	synced []byte
}

// directory holds the durable names of a directory, and the changes of the names since the last sync.
type directory struct {
	durable map[string]*inode
	changes []func(map[string]*inode)
}

// NewVolatile returns an empty file system.
func NewVolatile() *Volatile {
	return &Volatile{names: map[string]*inode{}, dirs: map[string]*directory{}}
}

// Crash returns the file system after a power failure. Several results are possible for each file and directory. choose
// selects one of them: it gets a description of the choice and the number n of the possible results, and returns a
// number from 0 to n-1.
func (v *Volatile) Crash(choose func(what string, n int) int) *Volatile {
	v.mu.Lock()
	defer v.mu.Unlock()
	after := NewVolatile()
	left := map[*inode]*inode{}
	for _, name := range slices.Sorted(maps.Keys(v.dirs)) {
		d := v.dirs[name]
		existing := maps.Clone(d.durable)
		for _, change := range d.changes[:choose("changes in "+name, len(d.changes)+1)] {
			change(existing)
		}
		for _, file := range slices.Sorted(maps.Keys(existing)) {
			old := existing[file]
			if left[old] == nil {
				left[old] = old.crash(file, choose)
			}
			after.names[file] = left[old]
		}
		for file, i := range after.names {
			if path.Dir(file) == name {
				after.dir(name).durable[file] = i
			}
		}
	}
	return after
}

// crash returns the file after a power failure. choose selects the content, with the same arguments as for Crash.
func (i *inode) crash(name string, choose func(string, int) int) *inode {
	data := i.synced
	if len(i.now) >= len(i.synced) && string(i.now[:len(i.synced)]) == string(i.synced) {
		data = i.now[:len(i.synced)+choose("bytes of "+name, len(i.now)-len(i.synced)+1)]
	} else if choose("content of "+name, 2) == 1 { // the file was truncated and rewritten since its last sync
		data = i.now[:choose("bytes of "+name, len(i.now)+1)]
	}
	return &inode{now: slices.Clone(data), synced: slices.Clone(data)}
}

func (v *Volatile) dir(name string) *directory {
	d := v.dirs[name]
	if d == nil {
		d = &directory{durable: map[string]*inode{}}
		v.dirs[name] = d
	}
	return d
}

// change calls f, which changes the map of present names. It records f for the directory dir, because the change is not
// durable before the next sync of dir.
func (v *Volatile) change(dir string, f func(map[string]*inode)) {
	f(v.names)
	d := v.dir(dir)
	d.changes = append(d.changes, f)
}

// OpenFile opens a file. It creates a missing file if flag has os.O_CREATE, and ignores the mode.
func (v *Volatile) OpenFile(name string, flag int, _ fs.FileMode) (disk.File, error) {
	name = filepath.ToSlash(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.names[name]
	switch {
	case i == nil && flag&os.O_CREATE == 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
	case i != nil && flag&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.EEXIST}
	case i == nil:
		i = &inode{}
		v.change(path.Dir(name), func(m map[string]*inode) { m[name] = i })
	}
	return &volatileFile{v, i, name}, nil
}

// ReadFile returns the present content of a file, durable or not.
func (v *Volatile) ReadFile(name string) ([]byte, error) {
	name = filepath.ToSlash(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := v.names[name]; i != nil {
		return slices.Clone(i.now), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
}

// ReadDir always fails, because no test needs it.
func (v *Volatile) ReadDir(name string) ([]fs.DirEntry, error) {
	name = filepath.ToSlash(name)
	return nil, &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOENT}
}

// Lstat equals Stat, because the file system has no symbolic links.
func (v *Volatile) Lstat(name string) (fs.FileInfo, error) { return v.Stat(name) }

// Stat returns the name and the size of a file. Directories do not exist for Stat.
func (v *Volatile) Stat(name string) (fs.FileInfo, error) {
	name = filepath.ToSlash(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := v.names[name]; i != nil {
		return info{name, int64(len(i.now))}, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: syscall.ENOENT}
}

// Readlink always fails, because the file system has no symbolic links.
func (v *Volatile) Readlink(name string) (string, error) {
	name = filepath.ToSlash(name)
	return "", &fs.PathError{Op: "readlink", Path: name, Err: syscall.EINVAL}
}

// Rename renames a file and replaces a file with the new name. It returns an error if the names are in different
// directories.
func (v *Volatile) Rename(from, to string) error {
	from, to = filepath.ToSlash(from), filepath.ToSlash(to)
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.names[from]
	if i == nil || path.Dir(from) != path.Dir(to) {
		return &fs.PathError{Op: "rename", Path: from, Err: syscall.ENOENT}
	}
	v.change(path.Dir(to), func(m map[string]*inode) {
		delete(m, from)
		m[to] = i
	})
	return nil
}

// Link makes a hard link: a second name for a file. It returns an error if the second name exists.
func (v *Volatile) Link(from, to string) error {
	from, to = filepath.ToSlash(from), filepath.ToSlash(to)
	v.mu.Lock()
	defer v.mu.Unlock()
	i := v.names[from]
	if i == nil || v.names[to] != nil {
		return &fs.PathError{Op: "link", Path: to, Err: syscall.EEXIST}
	}
	v.change(path.Dir(to), func(m map[string]*inode) { m[to] = i })
	return nil
}

// Remove removes the name of a file.
func (v *Volatile) Remove(name string) error {
	name = filepath.ToSlash(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.names[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOENT}
	}
	v.change(path.Dir(name), func(m map[string]*inode) { delete(m, name) })
	return nil
}

// RemoveAll removes one file, not a directory. Unlike os.RemoveAll, it returns an error if the file is missing.
func (v *Volatile) RemoveAll(name string) error { return v.Remove(name) }

// MkdirAll does nothing, because all directories exist implicitly.
func (v *Volatile) MkdirAll(string, fs.FileMode) error { return nil }

// SyncDir makes the changes of the names in one directory durable.
func (v *Volatile) SyncDir(name string) error {
	name = filepath.ToSlash(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	d := v.dir(name)
	for _, change := range d.changes {
		change(d.durable)
	}
	d.changes = nil
	return nil
}

type volatileFile struct {
	fs   *Volatile
	i    *inode
	name string
}

func (f *volatileFile) Name() string                   { return f.name }
func (f *volatileFile) Close() error                   { return nil }
func (f *volatileFile) Chmod(fs.FileMode) error        { return nil }
func (f *volatileFile) Fd() uintptr                    { return ^uintptr(0) }
func (f *volatileFile) DataSync() error                { return f.Sync() }
func (f *volatileFile) Seek(int64, int) (int64, error) { return 0, nil }

func (f *volatileFile) Read([]byte) (int, error) {
	return 0, fmt.Errorf("%s: reading is not part of this", f.name)
}

func (f *volatileFile) Stat() (fs.FileInfo, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return info{f.name, int64(len(f.i.now))}, nil
}

// Write appends p to the file. Files have no position, and Seek does nothing.
func (f *volatileFile) Write(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.i.now = append(f.i.now, p...)
	return len(p), nil
}

func (f *volatileFile) Truncate(n int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.i.now = slices.Clone(f.i.now[:n])
	return nil
}

func (f *volatileFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.i.synced = slices.Clone(f.i.now)
	return nil
}

type info struct {
	name string
	size int64
}

func (i info) Name() string       { return path.Base(i.name) }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return disk.FileMode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return false }
func (i info) Sys() any           { return nil }
