// Package disk writes files that are whole or not there.
//
// A process can be killed, a disk can be full and a machine can lose its power at every moment.
// Replace therefore never touches what is there: it writes beside it, makes that durable, puts it
// in the old one's place in one step, and makes the step durable. A process that opens the name finds the
// old content or the new one.
//
// Every call that touches a file goes through an FS, so that tests can fail the n-th one, or let
// nothing happen after it. What is written here holds secrets: files are 0600 and directories
// 0700 under any umask, and no error says anything about content.
package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Reason is what went wrong with a file, without its name, for messages that name it in their own
// words.
func Reason(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// UserDir is the directory of a user for what is kept between runs and belongs to no working directory; "" if the
// environment names none. A relative one would be another in each working directory, and does not count.
func UserDir(getenv func(string) string) string {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "lethe")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "lethe")
	}
	return ""
}

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
	Sync() error     // content and all that is known of the file
	DataSync() error // content, and of what is known only what is needed to read it
	Fd() uintptr
}

// FS is the part of a file system that is needed: functions of package os by the same names, and SyncDir,
// which makes the names in a directory durable.
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

// OS is the real file system.
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

func (osFS) ReadFile(name string) ([]byte, error)         { return os.ReadFile(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (osFS) Lstat(name string) (fs.FileInfo, error)       { return os.Lstat(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (osFS) Readlink(name string) (string, error)         { return os.Readlink(name) }
func (osFS) Rename(from, to string) error                 { return rename(from, to) }
func (osFS) Link(from, to string) error                   { return os.Link(from, to) }
func (osFS) Remove(name string) error                     { return remove(name) }
func (osFS) RemoveAll(name string) error                  { return os.RemoveAll(name) }
func (osFS) MkdirAll(name string, mode fs.FileMode) error { return os.MkdirAll(name, mode) }

func (osFS) SyncDir(name string) error { return syncDir(name) }

// randomLen is how many random bytes are in such a name.
const randomLen = 8

// Resolve follows symbolic links at path to the file they mean, whether or not it exists.
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
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", &fs.PathError{Op: "write", Path: path, Err: errors.New("too many symbolic links")}
}

// Read reads a file; a missing one is nil.
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

// Append opens a new file for appending; it is an error if there is one.
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
