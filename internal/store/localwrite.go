package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/disk"
)

// Put replaces the state that has the version prev, and returns the new version. If the state has another version, the
// error is a *StaleError. Empty data is an error.
func (l *Local) Put(_ context.Context, workspace string, data []byte, prev Version) (Version, error) {
	if err := checkLocalName(l, workspace); err != nil {
		return "", err
	}
	if len(data) == 0 {
		return "", errors.New("a state file is never empty")
	}
	path := l.File(workspace)
	if err := l.fs.MkdirAll(filepath.Dir(path), disk.DirMode); err != nil {
		return "", unwritable(err)
	}
	defer l.guard(filepath.Dir(path))()
	now, err := l.read(l.readPath(workspace))
	if err != nil {
		return "", unwritable(err)
	}
	if versionOf(now) != prev {
		return "", &StaleError{Workspace: workspace, Missing: now == nil}
	}
	if err := l.backup(workspace, path, now); err != nil {
		return "", err
	}
	if err := l.replace(workspace, path, data); err != nil {
		return "", unwritable(err)
	}
	l.sign(workspace, data)
	return versionOf(data), nil
}

// longestGuard is the maximum time that a writer waits for the lock of a directory (guardDir). A write takes
// milliseconds: a process that holds the lock for longer is not another writer.
var longestGuard = 2 * time.Second

// guard takes the lock of a directory (guardDir), so that one writer at a time reads and replaces a state in the
// directory. If another program holds that lock for longestGuard, only the first call waits. This call and all later
// calls then continue without the lock.
func (l *Local) guard(dir string) (release func()) {
	l.mu.Lock()
	longest := longestGuard
	if l.hurry {
		longest = 0
	}
	l.mu.Unlock()
	release, ok := guardDir(dir, longest)
	l.mu.Lock()
	l.hurry = !ok
	l.mu.Unlock()
	return release
}

func unwritable(err error) error { return fmt.Errorf("the state cannot be written: %w", err) }

// backup writes the backup at the first Put of a workspace: a copy of the current state, which the Put replaces. If the
// store has a function that seals backups, the copy is sealed. If the backup cannot be written, the error ends the Put.
// At a later Put, backup only keeps the current state as a former state. If backups are disabled, it does nothing.
func (l *Local) backup(workspace, path string, now []byte) error {
	l.mu.Lock()
	done := l.backups[workspace]
	l.mu.Unlock()
	to := l.BackupFile(workspace)
	if to == "" {
		return nil
	}
	info, unseen := l.fs.Stat(path)
	if done {
		if unseen == nil {
			l.keep(workspace, now, info.ModTime())
		}
		return nil
	}
	was, err := l.read(path)
	old := was
	if err == nil && len(old) > 0 && l.seal != nil {
		old, err = l.seal(old)
	}
	if err == nil && old != nil {
		err = disk.Replace(l.fs, to, old)
	}
	if err != nil {
		return fmt.Errorf("the state was not written, because its backup could not be written: %w", err)
	}
	if unseen == nil {
		l.keep(workspace, old, info.ModTime())
		if !bytes.Equal(was, old) { // the encryption has changed, so the former key may be removed from the configuration
			l.sealAll(workspace)
		}
	}
	l.mu.Lock()
	l.backups[workspace] = true
	l.mu.Unlock()
	return nil
}

// replace replaces the state file. If this store holds the lock, the lock moves to the new file.
func (l *Local) replace(workspace, path string, data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[workspace]
	if h == nil || h.file == nil {
		err := disk.Replace(l.fs, path, data)
		l.written[workspace] = l.written[workspace] || err == nil
		return err
	}
	next, err := disk.ReplaceWith(l.fs, path, data, func(f disk.File) error { return lockFile(f, exclusive) })
	switch {
	case next != nil:
		l.written[workspace] = true
		old := h.file
		h.file, h.placeholder = next, false
		retire(old)
	case err == nil: // disk.Replace has overwritten the file in place, so the file keeps its lock
		l.written[workspace], h.placeholder = true, false
	}
	return err
}

// SetAside renames the state of a workspace to its backup, because the state has moved to another backend. If the store
// encrypts backups, SetAside encrypts it, because no later write would do so. If the backup cannot be written, SetAside
// returns an error and the state stays.
func (l *Local) SetAside(workspace string) error {
	path := l.File(workspace)
	data, err := l.read(path)
	if err == nil && len(data) > 0 && l.seal != nil {
		data, err = l.seal(data)
	}
	if err == nil && len(data) > 0 {
		err = disk.Replace(l.fs, path+".backup", data)
	}
	if err == nil {
		err = disk.Discard(l.fs, path)
	}
	if err != nil {
		return err
	}
	l.sealAll(workspace)
	return disk.SyncDir(l.fs, filepath.Dir(path))
}

// Delete deletes a workspace and its state. For the default workspace it returns ErrDefault.
func (l *Local) Delete(_ context.Context, workspace string) error {
	if err := cmp.Or(Deletable(workspace), checkLocalName(l, workspace)); err != nil {
		return err
	}
	dir := l.at(l.opts.WorkspaceDir)
	if other := otherFile(l, workspace); other != "" {
		return fmt.Errorf("the workspace %q cannot be deleted, because it has no state, and its directory has another file: %s", workspace, other)
	}
	err := l.fs.RemoveAll(filepath.Join(dir, workspace))
	if lingers && errors.Is(err, fs.ErrExist) { // the directory is not empty: it still contains the locked state file
		l.mu.Lock()
		l.held[workspace].letGo()
		l.mu.Unlock()
		err = l.fs.RemoveAll(filepath.Join(dir, workspace))
	}
	if err == nil {
		err = disk.SyncDir(l.fs, dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the workspace %q cannot be deleted: %w", workspace, err)
	}
	return nil
}

// otherFile returns the path of a file in the directory of a workspace without a state, if the file does not belong to a
// state. Such a directory may be no workspace at all: workspace_dir may name a directory for other purposes, too. If no
// such file exists, otherFile returns "".
func otherFile(l *Local, workspace string) string {
	path := l.at(l.home(workspace))
	if data, err := l.read(path); data != nil || err != nil {
		return ""
	}
	entries, _ := l.fs.ReadDir(filepath.Dir(path))
	for _, e := range entries {
		if !strings.Contains(e.Name(), filepath.Base(path)) {
			return filepath.Join(filepath.Dir(path), e.Name())
		}
	}
	return ""
}
