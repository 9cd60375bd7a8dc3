package disk

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Replace puts data into the place of the file at path, which need not exist. A symbolic link
// there is followed and stays; directories on the way are made. After an error the old file is
// still there, whole; after success the new one is durable. A device or a pipe is written to, and stays: nothing may get
// into the place of /dev/null. A mount point is written in place (see inPlace).
func Replace(fsys FS, path string, data []byte) error {
	_, err := ReplaceWith(fsys, path, data, nil)
	return err
}

// ReplaceBy is Replace for what is not in memory whole: fill writes it. Its error is given back, and the old file stays.
func ReplaceBy(fsys FS, path string, fill func(io.Writer) error) error {
	_, err := replace(fsys, path, fill, nil)
	return err
}

// ReplaceWith is Replace with a last look before the step: ready gets the new file, durable but
// not in its place yet, and may refuse. If ready is not nil, the file stays open for the caller. A nil file without an
// error means that the old file was written in place and is still the one at path.
func ReplaceWith(fsys FS, path string, data []byte, ready func(File) error) (File, error) {
	return replace(fsys, path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}, ready)
}

func replace(fsys FS, path string, fill func(io.Writer) error, ready func(File) error) (File, error) {
	if info, err := fsys.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return into(fsys, path, fill, ready)
	}
	target, err := Resolve(fsys, path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(target)
	if err := fsys.MkdirAll(dir, DirMode); err != nil {
		return nil, err
	}
	f, err := write(fsys, target, fill)
	if err != nil {
		return nil, err
	}
	if ready != nil {
		err = ready(f)
	} else {
		err = f.Close()
	}
	if err == nil {
		err = fsys.Rename(f.Name(), target)
	}
	if fixed(err) {
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

// Pending is the name of the copy that is beside a file while it is written in place.
func Pending(target string) string { return target + ".writing" }

// inPlace writes the content of the durable file at from into target, which cannot be replaced. A whole copy has the name
// Pending until target is whole: whoever loses the process or the power meanwhile finds it there.
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
		return fmt.Errorf("%s cannot be replaced, and writing it in place failed. What was to be written is whole in %s: %w", target, pending, err)
	}
	if err = fsys.Remove(pending); err != nil {
		return fmt.Errorf("%s is written, but the copy %s cannot be removed: %w", target, pending, err)
	}
	return nil
}

// Rewrite writes the file at path in place, although a reader meanwhile finds a part of data: for what is whole elsewhere.
func Rewrite(fsys FS, path string, data []byte) error { return overwrite(fsys, path, data) }

// Discard removes a file. A mount point stays, and is empty.
func Discard(fsys FS, path string) error {
	err := fsys.Remove(path)
	if errors.Is(err, syscall.EBUSY) {
		return overwrite(fsys, path, nil)
	}
	return err
}

// overwrite writes a file in place. A reader meanwhile finds a part of data and nothing else.
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

// into writes to a device or a pipe.
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

// write makes a durable file beside target.
func write(fsys FS, target string, fill func(io.Writer) error) (File, error) {
	f, err := Temp(fsys, target)
	if err != nil {
		return nil, err
	}
	err = fill(f)
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

// Sweep removes what processes that were killed have left beside target: new files that did not get
// to their place. One that is still at it fails.
func Sweep(fsys FS, target string) {
	dir, base := filepath.Split(target)
	sweep(fsys, filepath.Clean(dir), func(of string) bool { return of == base })
}

// SweepAll is Sweep for all files of a directory.
func SweepAll(fsys FS, dir string) { sweep(fsys, dir, func(string) bool { return true }) }

func sweep(fsys FS, dir string, of func(base string) bool) {
	entries, _ := fsys.ReadDir(dir) // what cannot be seen stays
	for _, e := range entries {
		if base, ok := tempOf(e.Name()); ok && of(base) {
			_ = fsys.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// tempOf returns the name of the file in whose place a temporary file was to get.
func tempOf(name string) (base string, ok bool) {
	name, is := strings.CutSuffix(name, ".tmp")
	dot := strings.LastIndexByte(name, '.')
	if !is || dot < 1 || name[0] != '.' {
		return "", false
	}
	random, err := hex.DecodeString(name[dot+1:])
	return name[1:dot], err == nil && len(random) == randomLen && name[dot+1:] == hex.EncodeToString(random)
}

// tempName is the name of a file that is to get into the place of another.
func tempName(base string, random []byte) string {
	return "." + base + "." + hex.EncodeToString(random) + ".tmp"
}

// Temp makes an empty file beside target, of a name that is not in use.
func Temp(fsys FS, target string) (File, error) {
	var random [randomLen]byte
	rand.Read(random[:])
	dir, base := filepath.Split(target)
	name := filepath.Join(dir, tempName(base, random[:]))
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, FileMode)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(FileMode); err != nil { // the umask may have taken from the mode
		f.Close()
		fsys.Remove(name)
		return nil, err
	}
	return f, nil
}
