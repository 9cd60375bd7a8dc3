package fetch

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/archive"
	"github.com/lethe-iac/lethe/internal/disk"
	"golang.org/x/mod/sumdb/dirhash"
)

// Limits for the content of an archive.
const (
	maxPackage = 4 << 30 // bytes after unpacking
	maxFiles   = 20_000
)

// hashDir returns the "h1:" hash of a package directory.
func hashDir(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return dirhash.HashDir(real, "", dirhash.Hash1)
}

// hashZip returns the "zh:" hash of an archive, which is the SHA-256 of the file.
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

// hashArchive returns the "h1:" hash of the content of an archive.
func hashArchive(path string) (string, error) { return dirhash.HashZip(path, dirhash.Hash1) }

// link installs a package of the store in dir and replaces the previous content. It creates hard links if the system
// allows them, otherwise copies.
func link(from, dir string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".link-*")
	if err != nil {
		return err
	}
	defer disk.OS.RemoveAll(tmp)
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		to := filepath.Join(tmp, rel)
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(to, 0o755))
		}
		if os.Link(path, to) == nil {
			return nil
		}
		return copyFile(path, to)
	})
	if err == nil {
		err = errors.Join(os.Chmod(tmp, 0o755), disk.OS.RemoveAll(dir), disk.OS.Rename(tmp, dir))
	}
	return err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// straight returns an error if a directory between base and dir is a symbolic link or a file. Another user may have
// created the link to redirect files to another place. The path to base is the user's own choice, and dir itself is
// replaced.
func straight(base, dir string) error {
	base = filepath.Clean(base)
	for at := filepath.Dir(dir); len(at) > len(base); at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is a link or a file, not a directory. Remove it", at)
		}
	}
	return nil
}

// hashSums returns the "h1:" hash of a directory whose files have these checksums.
func hashSums(sums archive.Sums) string {
	names := make([]string, 0, len(sums))
	for name := range sums {
		names = append(names, name)
	}
	slices.Sort(names)
	h := sha256.New()
	for _, name := range names {
		fmt.Fprintf(h, "%x  %s\n", sums[name], name)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}
