package disktest

import (
	"io/fs"

	"github.com/lethe-iac/lethe/internal/disk"
)

// Lacking is a file system that lacks some calls. Link returns the error NoLink, and SyncDir returns the error NoSync,
// unless that error is nil.
type Lacking struct {
	disk.FS
	NoLink, NoSync error
	Mounted        func(path string) error // returns an error for a path that Rename must not replace and Remove must not remove; nil means that there are no such paths
}

// Link returns NoLink in an fs.PathError if NoLink is set. Otherwise it makes the hard link.
func (l *Lacking) Link(from, to string) error {
	if l.NoLink != nil {
		return &fs.PathError{Op: "link", Path: to, Err: l.NoLink}
	}
	return l.FS.Link(from, to)
}

// SyncDir returns NoSync in an fs.PathError if NoSync is set. Otherwise it makes the names in the directory durable.
func (l *Lacking) SyncDir(name string) error {
	if l.NoSync != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: l.NoSync}
	}
	return l.FS.SyncDir(name)
}

// Rename renames a file, unless Mounted returns an error for the new name.
func (l *Lacking) Rename(from, to string) error {
	if err := l.mounted(to); err != nil {
		return err
	}
	return l.FS.Rename(from, to)
}

// Remove removes a file, unless Mounted returns an error for the name.
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
