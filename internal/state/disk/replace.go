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
)

// Replace puts data into the place of the file at path, which need not exist. A symbolic link
// there is followed and stays; directories on the way are made. After an error the old file is
// still there, whole; after success the new one is durable. A device or a pipe is written to, and stays: nothing may get
// into the place of /dev/null.
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
// not in its place yet, and may refuse. If it is given the file stays open for the caller.
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
	if err != nil {
		f.Close()
		fsys.Remove(f.Name())
		return nil, err
	}
	if err := fsys.SyncDir(dir); err != nil {
		return f, fmt.Errorf("%s is written, but may not survive a loss of power: %w", path, err)
	}
	return f, nil
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
		err = f.Sync()
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
	entries, _ := fsys.ReadDir(filepath.Clean(dir)) // what cannot be seen stays
	for _, e := range entries {
		random, ours := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".tmp"), "."+base+".")
		if b, err := hex.DecodeString(random); ours && err == nil && len(b) == randomLen && e.Name() == tempName(base, b) {
			_ = fsys.Remove(filepath.Join(dir, e.Name()))
		}
	}
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
