package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
)

// Edit is a new content of an existing file.
type Edit struct {
	Path     string
	Old, New []byte
}

// ReplaceAll replaces the contents of several files, or of none. It keeps the modes of the files. If a file no longer
// has its old content, ReplaceAll returns an error and changes no file.
//
// All new files are durable before the first one replaces a file. If the replacement of a file fails, the files that
// were already replaced get their old contents again. If that fails, too, the error names the files with the new
// content.
func ReplaceAll(fsys FS, edits []Edit) error {
	if len(edits) == 0 {
		return nil
	}
	e, rest := edits[0], edits[1:]
	info, err := fsys.Stat(e.Path)
	if err != nil {
		return err
	}
	restDone := false
	written, err := exchange(fsys, e, info.Mode().Perm(), func() error {
		err := ReplaceAll(fsys, rest)
		restDone = err == nil
		return err
	})
	if err == nil {
		return nil
	}
	if written { // the file has the new content, but its new name may not be durable
		err = errors.Join(err, restore(fsys, e))
	}
	if restDone {
		for _, r := range rest {
			err = errors.Join(err, restore(fsys, r))
		}
	}
	return err
}

// restore gives a file its old content again. If that fails, the error names the file.
func restore(fsys FS, e Edit) error {
	info, err := fsys.Stat(e.Path)
	written := false
	if err == nil {
		written, err = exchange(fsys, Edit{e.Path, e.New, e.Old}, info.Mode().Perm(), func() error { return nil })
	}
	if err == nil || written {
		return nil
	}
	return fmt.Errorf("%s keeps its new content: %w", e.Path, err)
}

// exchange replaces the content of one file. It calls ready when the new file is durable, before the replacement. An
// error of ready keeps the old content. written is true if the file has the new content, even if exchange returns an
// error.
func exchange(fsys FS, e Edit, mode fs.FileMode, ready func() error) (written bool, err error) {
	f, err := ReplaceWith(fsys, e.Path, e.New, func(f File) error {
		switch present, err := fsys.ReadFile(e.Path); {
		case err != nil:
			return err
		case !bytes.Equal(present, e.Old):
			return fmt.Errorf("%s has changed in the meantime", e.Path)
		}
		if err := f.Chmod(mode); err != nil {
			return err
		}
		return ready()
	})
	if f != nil {
		f.Close() // ignore the error: the content is durable, so closing cannot lose it
		return true, err
	}
	return err == nil, err
}
