package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/lethe-iac/lethe/internal/disk"
)

// Lock takes the lock of a workspace and returns the function that releases it. If another process holds the lock, the
// error is a *LockError. If no state exists, Lock creates a placeholder file.
func (l *Local) Lock(_ context.Context, workspace string, who LockInfo) (func(context.Context) error, error) {
	if err := checkLocalName(l, workspace); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	who.Path = l.out(workspace)
	h := &holding{id: who.ID, who: who.Who, operation: who.Operation, info: l.infoFile(workspace)}
	if who.Shared {
		h.mode = shared
	}
	if l.held[workspace] != nil {
		return nil, l.lockedBy(h.info, errors.New("this process already holds the lock"))
	}
	if err := l.openAndLock(h, l.File(workspace)); err != nil {
		var held *LockError
		if errors.As(err, &held) {
			return nil, l.lockedBy(h.info, held.Err)
		}
		if inner := (*fs.PathError)(nil); errors.As(err, &inner) { // the inner error may name a temporary file that the user does not know
			err = inner.Err
		}
		return nil, fmt.Errorf("the state file %s cannot be locked: %w", l.File(workspace), err)
	}
	if err := writeInfo(l.fs, h.info, who); err != nil {
		l.release(h)
		return nil, fmt.Errorf("the lock info %s cannot be written: %w", h.info, disk.Reason(err))
	}
	l.held[workspace] = h
	if h.mode == exclusive {
		l.tidy(workspace, h)
	}
	return func(context.Context) error { return l.unlock(workspace, h) }, nil
}

// tidy cleans up after killed commands. It completes a state that was being overwritten in place. It removes temporary
// files beside the state, its backup, its lock info and its former states. The caller holds the lock. If another
// command is writing without that lock, it holds the lock of the directory (guardDir), and tidy does nothing.
func (l *Local) tidy(workspace string, h *holding) {
	release, ok := guardDir(filepath.Dir(h.path), 0)
	if !ok {
		return
	}
	defer release()
	if pending, err := disk.Read(l.fs, disk.Pending(h.path)); err == nil && json.Valid(pending) {
		now, err := disk.Read(l.fs, h.path)
		if err == nil && !json.Valid(now) {
			err = disk.Rewrite(l.fs, h.path, pending)
		}
		if err == nil {
			_ = l.fs.Remove(disk.Pending(h.path))
		}
	}
	disk.Sweep(l.fs, h.path)
	disk.Sweep(l.fs, h.info)
	if backup := l.BackupFile(workspace); backup != "" {
		if backup, err := disk.Resolve(l.fs, backup); err == nil {
			disk.Sweep(l.fs, backup)
		}
	}
	disk.SweepAll(l.fs, l.historyDir(workspace))
}

// infoFile returns the path of the file that describes the holder of the lock. Terraform and OpenTofu use the same
// file.
func (l *Local) infoFile(workspace string) string {
	dir, base := filepath.Split(l.File(workspace))
	return filepath.Join(dir, "."+base+".lock.info")
}

// lockedBy returns the error for a lock that another process holds. It describes the holder if the lock file can be
// read, whose path is the argument info. cause is the error of the attempt to lock, or nil.
func (l *Local) lockedBy(info string, cause error) *LockError {
	e := &LockError{Err: cause}
	if data, err := disk.Read(l.fs, info); err == nil && data != nil {
		if i, err := ParseLockInfo(data); err == nil {
			e.Held = &i
		}
	}
	return e
}

// openAndLock opens and locks the state file at path. If no file exists, it creates and locks a placeholder, an empty
// state. If another process replaced or removed the file between opening and locking, openAndLock opens the new file,
// up to 100 times. The error is a *LockError if another process holds the lock.
func (l *Local) openAndLock(h *holding, path string) error {
	path, err := disk.Resolve(l.fs, path)
	if err != nil {
		return err
	}
	h.path = path
	for range 100 {
		f, err := l.fs.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			made, err := l.placeholder(h)
			if made || err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if err := lockFile(f, h.mode); err != nil {
			f.Close()
			return err
		}
		if l.inPlace(f, path) {
			h.file = f
			return nil
		}
		f.Close()
	}
	return errors.New("other programs keep replacing the file while it is locked; try again when they are done")
}

// inPlace reports whether f is still the file at path.
func (l *Local) inPlace(f disk.File, path string) bool {
	is, err := f.Stat()
	if err != nil {
		return false
	}
	at, err := l.fs.Stat(path)
	return err == nil && os.SameFile(is, at)
}

// placeholder creates a placeholder, an empty state that is locked before another process can see it, and the missing
// directories above it. It returns false without an error if the state exists by now, or if another command removed the
// temporary file.
func (l *Local) placeholder(h *holding) (made bool, err error) {
	dir := filepath.Dir(h.path)
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := l.fs.Lstat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		h.madeDirs = append(h.madeDirs, d)
	}
	if err := l.fs.MkdirAll(dir, disk.DirMode); err != nil {
		return false, err
	}
	f, err := disk.Temp(l.fs, h.path)
	if err != nil {
		return false, err
	}
	defer l.fs.Remove(f.Name())
	if err = errors.Join(fill(f), lockFile(f, h.mode)); err != nil {
		f.Close()
		return false, err
	}
	err = l.fs.Link(f.Name(), h.path)
	if err == nil {
		h.file, h.placeholder = f, true
		return true, nil
	}
	f.Close()
	if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) { // another process has created the lock file, or the temporary file is missing, because a command that holds the lock has removed it in tidy
		return false, nil
	}
	return l.createUnlinked(h)
}

// fill writes the content of a placeholder into f.
func fill(f disk.File) error {
	_, err := io.WriteString(f, placeholderHead+uuid.NewString()+placeholderTail)
	return errors.Join(err, disk.Synced(f.Sync()))
}

// createUnlinked creates a placeholder on a file system without hard links: it creates an empty file, locks it, and
// then fills it. If another command locks the file first, the file stays for that command. It returns false without an
// error if another command has created the file.
func (l *Local) createUnlinked(h *holding) (made bool, err error) {
	f, err := l.fs.OpenFile(h.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, disk.FileMode)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err = errors.Join(f.Chmod(disk.FileMode), lockFile(f, h.mode)); err != nil {
		f.Close()
		return false, err
	}
	if !l.inPlace(f, h.path) {
		f.Close()
		return false, nil
	}
	if err = fill(f); err != nil {
		l.fs.Remove(h.path)
		f.Close()
		return false, err
	}
	h.file, h.placeholder = f, true
	return true, nil
}

// writeInfo writes the file about the holder of the lock.
func writeInfo(fsys disk.FS, path string, who LockInfo) error {
	f, err := disk.Temp(fsys, path)
	if err != nil {
		return err
	}
	_, err = f.Write(who.Marshal())
	err = errors.Join(err, f.Close())
	if err == nil {
		err = fsys.Rename(f.Name(), path)
	}
	if err != nil {
		fsys.Remove(f.Name())
	}
	return err
}

func (l *Local) unlock(workspace string, h *holding) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[workspace] != h {
		return errors.New("the state is no longer locked")
	}
	delete(l.held, workspace)
	var err error
	if held := l.lockedBy(h.info, nil).Held; held != nil && held.ID == h.id {
		err = l.fs.Remove(h.info)
	}
	return errors.Join(err, l.release(h))
}

// letGo closes the state file, which releases the lock. It does nothing if h is nil or the file is closed.
func (h *holding) letGo() {
	if h != nil && h.file != nil {
		h.file.Close()
		h.file = nil
	}
}

// release releases a lock, and removes the placeholder and the directories that were created only for the lock. It does
// nothing if the lock was released before.
func (l *Local) release(h *holding) error {
	if h.file == nil {
		return nil
	}
	if h.mode == shared {
		l.last(h)
	}
	if !h.placeholder || !l.inPlace(h.file, h.path) {
		if nameless(h.file) {
			retire(h.file)
			return nil
		}
		unlockFile(h.file)
		return h.file.Close()
	}
	err := l.fs.Remove(h.path)
	retire(h.file)
	for _, d := range h.madeDirs {
		l.fs.Remove(d) // Remove fails if the directory has other files by now
	}
	return err
}

// last finds out whether this command must remove the placeholder, by trying to get the exclusive lock. Of several
// holders of a shared lock, only the last one can get the exclusive lock, and it must remove the placeholder.
func (l *Local) last(h *holding) {
	h.placeholder = false
	if info, err := l.fs.Stat(h.path); err != nil || info.Size() != int64(placeholderSize) { // comparing the size avoids reading a large state
		return
	}
	if data, err := disk.Read(l.fs, h.path); err != nil || !isPlaceholder(data) {
		return
	}
	unlockFile(h.file)
	h.placeholder = lockFile(h.file, exclusive) == nil
}

// retire closes a state file that was replaced. If the open file has no name any more, retire first overwrites it with
// the text retired. Terraform or OpenTofu may have the old file open while they wait for the lock, and must not take it
// for the state.
func retire(f disk.File) {
	defer f.Close()
	if !nameless(f) {
		return
	}
	if f.Truncate(0) == nil {
		if _, err := f.Seek(0, io.SeekStart); err == nil {
			_, _ = f.Write(retired)
		}
	}
}

// Break removes the file with the lock info that a crashed process left. Such a file blocks no process, because the
// lock on the state file ended with the process. If a running process holds the lock, or if the file has another ID,
// the error is a *LockError.
func (l *Local) Break(_ context.Context, workspace, id string) error {
	info := l.infoFile(workspace)
	held := l.lockedBy(info, nil).Held
	if held == nil || held.ID != id {
		return OtherLock(held, id)
	}
	f, err := l.fs.OpenFile(l.File(workspace), os.O_RDWR, 0)
	if err == nil {
		defer f.Close()
		err = lockFile(f, exclusive)
	}
	var busy *LockError
	switch {
	case errors.As(err, &busy):
		who := strings.TrimSpace(held.Who)
		return &LockError{Held: held, Err: fmt.Errorf("the lock is held by a running process of %s; a local lock ends only with its process", who)}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return l.fs.Remove(info)
}
