package disktest

import (
	"io/fs"

	"github.com/lethe-iac/lethe/internal/state/disk"
)

// Lacking is a file system that does not support some calls; nil errors leave a call as it is.
type Lacking struct {
	disk.FS
	NoLink, NoSync error
	Mounted        func(path string) error // of files that can be written and neither replaced nor removed
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
