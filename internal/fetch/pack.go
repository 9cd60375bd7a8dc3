package fetch

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/dirhash"
)

// Limits on what an archive may hold.
const (
	maxPackage = 4 << 30 // bytes, unpacked
	maxFiles   = 20_000
)

// hashDir is the "h1:" hash of a package directory.
func hashDir(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return dirhash.HashDir(real, "", dirhash.Hash1)
}

// hashZip is the "zh:" hash of an archive, which is the SHA-256 of the file.
func hashZip(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "zh:" + hex.EncodeToString(h.Sum(nil)), nil
}

// place puts a package into dir, anew: a link to an unpacked one, the contents of a packed one.
func place(f found, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if f.zip != "" {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		return unpack(f.zip, dir)
	}
	real, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}
	if to, err := os.Readlink(dir); err == nil && to == real {
		return nil // others may be using it
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if os.Symlink(real, dir) == nil {
		return nil
	}
	return os.CopyFS(dir, os.DirFS(real)) // not every system and user may make links
}

// unpack extracts an archive into dir through a temporary directory beside it, so that a broken
// archive leaves nothing.
func unpack(path, dir string) error {
	r, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer r.Close()
	if len(r.File) > maxFiles {
		return fmt.Errorf("the archive has %d files, more than %d", len(r.File), maxFiles)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".unpack-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	root, err := os.OpenRoot(tmp)
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(maxPackage)
	for _, f := range r.File {
		if left, err = extract(root, f, left); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

func extract(root *os.Root, f *zip.File, left int64) (int64, error) {
	name := filepath.FromSlash(f.Name)
	if f.FileInfo().IsDir() {
		return left, root.MkdirAll(name, 0o755)
	}
	if !f.Mode().IsRegular() {
		return left, errors.New("only plain files are allowed in a provider archive")
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return left, err
		}
	}
	in, err := f.Open()
	if err != nil {
		return left, err
	}
	defer in.Close()
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.Mode().Perm()&0o755|0o600)
	if err != nil {
		return left, err
	}
	n, err := io.Copy(out, io.LimitReader(in, left+1))
	if left -= n; left < 0 {
		err = errors.Join(err, fmt.Errorf("the archive holds more than %d bytes", int64(maxPackage)))
	}
	return left, errors.Join(err, out.Close())
}
