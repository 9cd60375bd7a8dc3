package disk

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Replace replaces the file at path, which need not exist, with a file that contains data. It follows a symbolic link
// at path and keeps the link. It creates missing directories. After success the new file is durable. After an error the
// old file exists unchanged, unless the error reports that the new file is written but may not survive a loss of power.
// Two kinds of files are not replaced:
//
//   - a device or a pipe, such as /dev/null, to which Replace writes the data;
//   - a file that can be written but not replaced, such as a mount point or, on some file systems of Windows, an open
//     file. Replace overwrites its content (see inPlace). If that fails, the new content is in the copy that the error
//     names.
func Replace(fsys FS, path string, data []byte) error {
	_, err := ReplaceWith(fsys, path, data, nil)
	return err
}

// ReplaceShared replaces a file as Replace does, but the mode of the new file lets other users read it, as far as the
// umask permits.
func ReplaceShared(fsys FS, path string, data []byte) error {
	_, err := replace(fsys, path, replacement{fill: content(data), mode: 0o666})
	return err
}

// ReplaceReadable replaces a file as Replace does, but the mode of the new file lets other users read it, and not write
// it, as far as the umask permits.
func ReplaceReadable(fsys FS, path string, data []byte) error {
	_, err := replace(fsys, path, replacement{fill: content(data), mode: 0o644})
	return err
}

// ReplaceBy replaces a file as Replace does. fill writes the data, so that they need not be in memory. If fill fails,
// ReplaceBy returns its error and keeps the old file.
func ReplaceBy(fsys FS, path string, fill func(io.Writer) error) error {
	_, err := replace(fsys, path, replacement{fill: fill, mode: FileMode})
	return err
}

// ReplaceWith replaces a file as Replace does, with a check before the rename. ready receives the new file, which is
// already durable. If ready returns an error, the old file remains. If ready is not nil, ReplaceWith returns the file
// open. If it returns nil without an error, the old file was overwritten in place. If it returns a file and an error,
// the file has its new content, but the new name may not be durable.
func ReplaceWith(fsys FS, path string, data []byte, ready func(File) error) (File, error) {
	return replace(fsys, path, replacement{fill: content(data), ready: ready, mode: FileMode})
}

// replacement describes a new file that replaces another file.
type replacement struct {
	fill  func(io.Writer) error
	ready func(File) error // called before the rename with the new file, as in ReplaceWith; nil: no call
	mode  os.FileMode      // mode of the new file: FileMode is set exactly, and the umask reduces any other mode
}

func content(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func replace(fsys FS, path string, r replacement) (File, error) {
	if info, err := fsys.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return into(fsys, path, r.fill, r.ready)
	}
	target, err := Resolve(fsys, path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(target)
	if err := fsys.MkdirAll(dir, DirMode); err != nil {
		return nil, err
	}
	f, err := write(fsys, target, r)
	if err != nil {
		return nil, err
	}
	if r.ready != nil {
		err = r.ready(f)
	} else {
		err = f.Close()
	}
	if err == nil {
		err = fsys.Rename(f.Name(), target)
	}
	if unreplaceable(err) {
		f.Close()
		return nil, inPlace(fsys, f.Name(), target)
	}
	if err != nil {
		f.Close()
		fsys.Remove(f.Name())
		return nil, err
	}
	if err := SyncDir(fsys, dir); err != nil {
		return f, fmt.Errorf("%s is written, but may not survive a loss of power: %w", path, err)
	}
	return f, nil
}

// Pending returns the name of the copy that exists beside a file while the file is overwritten in place.
func Pending(target string) string { return target + ".writing" }

// inPlace overwrites target, which cannot be replaced, with the content of another file, which is durable already. A
// complete copy with the name Pending(target) exists until target is complete, so that a crash or a power failure loses
// nothing.
func inPlace(fsys FS, from, target string) error {
	pending := Pending(target)
	err := fsys.Rename(from, pending)
	if err == nil {
		err = SyncDir(fsys, filepath.Dir(target))
	} else {
		fsys.Remove(from)
	}
	if err != nil {
		return err
	}
	data, err := fsys.ReadFile(pending)
	if err == nil {
		err = overwrite(fsys, target, data)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be replaced, and writing it in place failed. The new content is in %s: %w", target, pending, err)
	}
	if err = fsys.Remove(pending); err != nil {
		return fmt.Errorf("%s is written, but the copy %s cannot be removed: %w", target, pending, err)
	}
	return nil
}

// Rewrite overwrites the file at path in place, without the guarantee of Replace: a concurrent reader, or a reader
// after a crash, may find a part of data. So a complete copy of data must exist in another file.
func Rewrite(fsys FS, path string, data []byte) error { return overwrite(fsys, path, data) }

// Discard removes a file. If the file is a mount point, which cannot be removed, Discard empties it.
func Discard(fsys FS, path string) error {
	err := fsys.Remove(path)
	if errors.Is(err, syscall.EBUSY) {
		return overwrite(fsys, path, nil)
	}
	return err
}

// overwrite writes a file in place. A concurrent reader may find a part of data.
func overwrite(fsys FS, target string, data []byte) error {
	f, err := fsys.OpenFile(target, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = Synced(f.Sync())
	}
	return errors.Join(err, f.Close())
}

// into writes the data to the device or pipe at path. fill and ready are the functions of replacement.
func into(fsys FS, path string, fill func(io.Writer) error, ready func(File) error) (File, error) {
	f, err := fsys.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	if err = fill(f); err == nil && ready != nil {
		err = ready(f)
	}
	if err != nil || ready == nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// write creates a durable file beside target, with the content and mode of r and, if possible, the owner of target. It
// returns the open file.
func write(fsys FS, target string, r replacement) (File, error) {
	sweepOld(fsys, target)
	f, err := temp(fsys, target, r.mode)
	if err != nil {
		return nil, err
	}
	err = r.fill(f)
	if err == nil {
		adopt(fsys, f, target)
		err = Synced(f.Sync())
	}
	if err != nil {
		f.Close()
		fsys.Remove(f.Name())
		return nil, err
	}
	return f, nil
}

// Sweep removes temporary files that killed processes left beside target. It does not check their age: if a process is
// still writing such a file, the rename of that process fails.
func Sweep(fsys FS, target string) {
	dir, base := filepath.Split(target)
	sweep(fsys, filepath.Clean(dir), func(of string, _ fs.DirEntry) bool { return of == base })
}

// abandoned is the age from which a temporary file counts as left by a killed process.
const abandoned = time.Hour

// sweepOld removes temporary files beside target that are older than abandoned. No process is still writing them.
func sweepOld(fsys FS, target string) {
	dir, base := filepath.Split(target)
	sweep(fsys, filepath.Clean(dir), func(of string, e fs.DirEntry) bool {
		if of != base {
			return false
		}
		info, err := e.Info()
		return err == nil && time.Since(info.ModTime()) > abandoned
	})
}

// SweepAll removes the temporary files for all targets in a directory, of any age.
func SweepAll(fsys FS, dir string) { sweep(fsys, dir, func(string, fs.DirEntry) bool { return true }) }

// sweep removes the temporary files of a directory for which remove returns true. base is the name of the file that the
// temporary file would replace.
func sweep(fsys FS, dir string, remove func(base string, e fs.DirEntry) bool) {
	entries, _ := fsys.ReadDir(dir) // ignore the error: an unreadable directory is not swept
	for _, e := range entries {
		if base, ok := tempOf(e.Name()); ok && remove(base, e) {
			_ = fsys.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// tempOf returns the name of the file that a temporary file would replace. It returns false if name is not the name of
// a temporary file.
func tempOf(name string) (base string, ok bool) {
	name, is := strings.CutSuffix(name, ".tmp")
	dot := strings.LastIndexByte(name, '.')
	if !is || dot < 1 || name[0] != '.' {
		return "", false
	}
	random, err := hex.DecodeString(name[dot+1:])
	return name[1:dot], err == nil && len(random) == randomLen && name[dot+1:] == hex.EncodeToString(random)
}

// tempName returns the name of a temporary file that will replace base.
func tempName(base string, random []byte) string {
	return "." + base + "." + hex.EncodeToString(random) + ".tmp"
}

// Temp creates an empty file beside target with a new name, which the caller renames or removes. Sweep recognizes the
// name.
func Temp(fsys FS, target string) (File, error) { return temp(fsys, target, FileMode) }

func temp(fsys FS, target string, mode os.FileMode) (File, error) {
	var random [randomLen]byte
	rand.Read(random[:])
	dir, base := filepath.Split(target)
	name := filepath.Join(dir, tempName(base, random[:]))
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil || mode != FileMode {
		return f, err
	}
	if err := f.Chmod(FileMode); err != nil { // set the mode again, because the umask may have removed bits
		f.Close()
		fsys.Remove(name)
		return nil, err
	}
	return f, nil
}
