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
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/archive"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/disk"
)

// moduleLimits limits the content of a module package.
var moduleLimits = archive.Options{Bytes: 1 << 30, Files: 50_000}

// unpackModule extracts the archive of a package into dir. It omits links that lead out of the package, because a
// server must not determine which files of this machine are read. Some repositories contain such links for other
// purposes, so they are not an error. note receives a message that names the omitted links.
func unpackModule(path, dir string, note func(string)) error {
	var left []string
	o := moduleLimits
	o.Links = func(name string) { left = append(left, strconv.Quote(filepath.ToSlash(name))) }
	err := archive.Unpack(path, dir, o)
	if err != nil || len(left) == 0 {
		return err
	}
	more := ""
	if n := len(left) - 3; n > 0 {
		left, more = left[:3], fmt.Sprintf(" and %d more", n)
	}
	note("- Left out symbolic links that lead out of the package or in a circle: " + strings.Join(left, ", ") + more)
	return nil
}

// ChangedError means that the content of a module differs from the lock file.
type ChangedError struct {
	What    string // the change, as the beginning of a sentence
	Was, Is string // the locked and the present hash or revision
	Keep    string // a sentence about a way to keep the locked content; "": no such way exists
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s.\n  locked: %s\n  now:    %s\n\nIf its owners did not intend this change, it may be an attack. To accept the change, run \"lethe init -upgrade\".%s", e.What, e.Was, e.Is, e.Keep)
}

// summary lists all files of a package in the form from which "h1:" hashes are computed: a line "HASH  NAME" for each,
// sorted by name. The content of a symbolic link is its target.
func summary(dir string) (string, error) {
	return summaryWithout(dir, func(string, fs.DirEntry) bool { return false })
}

// checkoutSummary lists the files of a package that Terraform or OpenTofu has cloned with git, without git's own files.
// It must only be used for packages that they installed: an archive may contain a directory called .git with a module
// in it, and the summary would not cover this module.
func checkoutSummary(dir string) (string, error) {
	return summaryWithout(dir, func(path string, d fs.DirEntry) bool {
		return d.Name() == ".git" && (d.IsDir() && isRepository(path) || isGitLink(path, d))
	})
}

// isRepository reports whether a directory, usually called .git, is the data directory of a git repository, and
// contains no configuration.
func isRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && isConfiguration(path) {
			return fs.ErrInvalid
		}
		return err
	}) == nil
}

// isConfiguration reports whether a path, or a line of a summary, ends with the name of a configuration file.
func isConfiguration(line string) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), " ->")
	return slices.ContainsFunc(config.Suffixes(), func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// isGitLink reports whether a file is the file called .git in the directory of a submodule.
func isGitLink(path string, d fs.DirEntry) bool {
	if !d.Type().IsRegular() {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && strings.HasPrefix(string(text), "gitdir: ")
}

// summaryWithout returns the summary of a package without the files and directories for which skip returns true.
func summaryWithout(dir string, skip func(path string, d fs.DirEntry) bool) (string, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path != dir && skip(path, d) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if strings.Contains(name, "\n") {
			return fmt.Errorf("the file name %q has a line break", name)
		}
		h := sha256.New()
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			h.Write([]byte(filepath.ToSlash(to)))
			name += " ->"
		} else if err := readInto(h, path); err != nil {
			return err
		}
		lines = append(lines, name+"\n"+hex.EncodeToString(h.Sum(nil)))
		return nil
	})
	slices.Sort(lines)
	for i, line := range lines {
		name, hash, _ := strings.Cut(line, "\n")
		lines[i] = hash + "  " + name + "\n"
	}
	return strings.Join(lines, ""), err
}

func readInto(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// hashOf returns the "h1:" hash of a summary.
func hashOf(summary string) string {
	sum := sha256.Sum256([]byte(summary))
	return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
}

// fileName returns a hash in a form that can be the name of a file or a directory. It returns "none" for an invalid
// hash.
func fileName(hash string) string {
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(hash, "h1:"))
	if err != nil || len(sum) != sha256.Size {
		return "none"
	}
	return hex.EncodeToString(sum)
}

// inside returns the path of a subdirectory of a package. "*" in sub matches any name if exactly one directory matches.
// It returns an error if the directory does not exist or is outside the package.
func inside(dir, sub string) (string, error) {
	if sub == "" {
		return dir, nil
	}
	all := within(dir, path.Clean(sub))
	if len(all) != 1 {
		return "", fmt.Errorf("the package has no subdirectory %q, or several that match", sub)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	rel, err := filepath.Rel(dir, all[0])
	if err != nil {
		return "", err
	}
	if info, err := root.Stat(rel); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%q in the package is not a directory inside of it", sub)
	}
	return all[0], nil
}

// lift replaces a package by one of its subdirectories.
func lift(dir, sub string) error {
	at, err := inside(dir, sub)
	if err != nil {
		return err
	}
	tmp := dir + ".whole"
	if err := disk.OS.RemoveAll(tmp); err != nil {
		return err
	}
	rel, err := filepath.Rel(dir, at)
	if err != nil {
		return err
	}
	return errors.Join(disk.OS.Rename(dir, tmp), disk.OS.Rename(filepath.Join(tmp, rel), dir), disk.OS.RemoveAll(tmp))
}
