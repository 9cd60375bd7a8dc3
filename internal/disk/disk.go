// Package disk writes files atomically: a file has its old content or its new content, and never a part of it.
//
// A process can be killed, a disk can become full, and a machine can lose its power at any moment. So Replace does not
// touch the existing file. It writes a new file beside it, makes the new file durable, renames it to the old name in
// one step, and makes the rename durable. A process that opens the name finds the old content or the new content.
//
// Every call that touches a file uses an FS, so that tests can make the n-th call fail, or all calls after the n-th.
// Most files contain secrets: files are 0600 and directories 0700 under any umask, except for files of ReplaceShared.
// No error contains content.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Reason returns the cause of a file error without the file name, for messages that name the file themselves. It
// removes a full stop at the end of the text, which texts of Windows have. It returns nil for nil.
func Reason(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	if err != nil && strings.HasSuffix(err.Error(), ".") {
		return phrase{err}
	}
	return err
}

// phrase is an error without the full stop at the end of its text.
type phrase struct{ error }

func (p phrase) Error() string { return strings.TrimSuffix(p.error.Error(), ".") }
func (p phrase) Unwrap() error { return p.error }

// Modes of files and directories.
const (
	FileMode fs.FileMode = 0o600
	DirMode  fs.FileMode = 0o700
)

// File is an open file, with the methods of os.File.
type File interface {
	io.Reader
	io.Writer
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Chmod(fs.FileMode) error
	Truncate(size int64) error
	Seek(offset int64, whence int) (int64, error)
	Sync() error     // makes content and attributes durable
	DataSync() error // makes the content durable, and only the attributes that are needed to read it
	Fd() uintptr
}

// FS is the part of a file system that Lethe uses: functions of package os with the same names, and SyncDir, which
// makes the names in a directory durable.
type FS interface {
	OpenFile(name string, flag int, mode fs.FileMode) (File, error)
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Lstat(name string) (fs.FileInfo, error)
	Stat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	MkdirAll(name string, mode fs.FileMode) error
	SyncDir(name string) error
}

// OS is the file system of the operating system.
var OS FS = osFS{}

type osFS struct{}

type osFile struct{ *os.File }

func (f osFile) DataSync() error { return dataSync(f.File) }

func (osFS) OpenFile(name string, flag int, mode fs.FileMode) (File, error) {
	f, err := openFile(name, flag, mode)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) ReadFile(name string) ([]byte, error)         { return readFile(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (osFS) Lstat(name string) (fs.FileInfo, error)       { return os.Lstat(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (osFS) Readlink(name string) (string, error)         { return os.Readlink(name) }
func (osFS) Rename(from, to string) error                 { return rename(from, to) }
func (osFS) Link(from, to string) error                   { return os.Link(from, to) }
func (osFS) Remove(name string) error                     { return remove(name) }
func (osFS) RemoveAll(name string) error                  { return removeAll(name) }
func (osFS) MkdirAll(name string, mode fs.FileMode) error { return os.MkdirAll(name, mode) }

func (osFS) SyncDir(name string) error { return syncDir(name) }

// Symlink creates a symbolic link at name that leads to another path. Unlike os.Symlink, it returns an error if the
// system reports success and creates nothing.
func Symlink(to, name string) error {
	if err := os.Symlink(to, name); err != nil {
		return err
	}
	_, err := os.Lstat(name)
	return err
}

// randomLen is the number of random bytes in the name of a temporary file.
const randomLen = 8

// Resolve follows symbolic links at path and returns the path of the file, which need not exist. For a directory it
// returns an error.
func Resolve(fsys FS, path string) (string, error) {
	for range 40 {
		info, err := fsys.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if info.IsDir() {
				return "", &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a directory")}
			}
			return path, nil
		}
		to, err := fsys.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(realDir(fsys, filepath.Dir(path), 40), to)
		}
		path = to
	}
	return "", &fs.PathError{Op: "write", Path: path, Err: errors.New("too many symbolic links")}
}

// Real returns the path of a file without symbolic links, so that two names of one file have the same path. Unlike
// Resolve, it also follows the links in the directories on the way to the file. The file and its directories need not
// exist. If Resolve fails, Real only follows the links in the directories.
func Real(fsys FS, path string) string {
	if to, err := Resolve(fsys, path); err == nil {
		path = to
	}
	return filepath.Join(realDir(fsys, filepath.Dir(path), 40), filepath.Base(path))
}

// realDir returns the path of a directory after following the symbolic links on the way to it. links is the maximum
// number of links. If more links follow, realDir returns the path with the remaining links. ".." in a link means the
// parent of the real directory that contains the link.
func realDir(fsys FS, dir string, links int) string {
	parent, name := filepath.Dir(dir), filepath.Base(dir)
	if parent == dir || dir == "." || name == ".." || links == 0 {
		return dir
	}
	parent = realDir(fsys, parent, links)
	dir = filepath.Join(parent, name)
	to, err := fsys.Readlink(dir)
	switch {
	case err != nil: // dir is not a symbolic link, or does not exist
		return dir
	case filepath.IsAbs(to):
		return realDir(fsys, to, links-1)
	}
	return realDir(fsys, filepath.Join(parent, to), links-1)
}

// Read reads a file. If the file does not exist, Read returns nil and no error. For an empty file, it returns an empty
// slice that is not nil.
func Read(fsys FS, path string) ([]byte, error) {
	data, err := fsys.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && data == nil {
		data = []byte{}
	}
	return data, err
}

// OpenPrivate opens a file for writing, with more flags. If the file does not exist, OpenPrivate creates it so that only
// its owner can read it. An existing file keeps its permissions.
func OpenPrivate(name string, flag int) (*os.File, error) {
	return openFile(name, os.O_CREATE|os.O_WRONLY|flag, FileMode)
}

// Append creates a file for appending, with mode 0600, and missing directories above it. It fails if the file exists.
func Append(fsys FS, path string) (File, error) {
	if err := fsys.MkdirAll(filepath.Dir(path), DirMode); err != nil {
		return nil, err
	}
	f, err := fsys.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, FileMode)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(FileMode); err != nil {
		f.Close()
		fsys.Remove(path)
		return nil, err
	}
	return f, nil
}
