package disktest

import (
	"io/fs"

	"github.com/lethe-iac/lethe/internal/disk"
)

// Lacking is a file system that lacks some calls. NoLink and NoSync are the errors of the calls Link and SyncDir. If
// such an error is nil, the call is supported.
type Lacking struct {
	disk.FS
	NoLink, NoSync error
	Mounted        func(path string) error // returns an error for files that can be written, but not replaced or removed
}

// Link implements disk.FS.
func (l *Lacking) Link(from, to string) error {
	if l.NoLink != nil {
		return &fs.PathError{Op: "link", Path: to, Err: l.NoLink}
	}
	return l.FS.Link(from, to)
}

// SyncDir implements disk.FS.
func (l *Lacking) SyncDir(name string) error {
	if l.NoSync != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: l.NoSync}
	}
	return l.FS.SyncDir(name)
}

// Rename implements disk.FS.
func (l *Lacking) Rename(from, to string) error {
	if err := l.mounted(to); err != nil {
		return err
	}
	return l.FS.Rename(from, to)
}

// Remove implements disk.FS.
func (l *Lacking) Remove(name string) error {
	if err := l.mounted(name); err != nil {
		return err
	}
	return l.FS.Remove(name)
}

func (l *Lacking) mounted(path string) error {
	if l.Mounted == nil {
		return nil
	}
	if err := l.Mounted(path); err != nil {
		return &fs.PathError{Op: "rename", Path: path, Err: err}
	}
	return nil
}
