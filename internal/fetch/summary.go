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
	"strings"

	"github.com/lethe-iac/lethe/internal/archive"
)

// moduleLimits are what a module package may hold.
var moduleLimits = archive.Options{Bytes: 1 << 30, Files: 50_000, Links: true}

// ChangedError says that there is something else now than what the lock file has of a module.
type ChangedError struct {
	What    string // what is changed, as the beginning of a sentence
	Was, Is string // what it was when it was locked, and is now
	Keep    string // what lets the user stay with what it was, a sentence; "": nothing does
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s.\n  locked: %s\n  now:    %s\n\nIf its owners have not done that on purpose, it may be an attack. To take what it is now, run \"lethe init -upgrade\".%s", e.What, e.Was, e.Is, e.Keep)
}

// summary lists all files of a package as "h1:" hashes are made of them: a line "HASH  NAME" for each, by name. The
// content of a symbolic link is its target.
func summary(dir string) (string, error) {
	return summaryWithout(dir, func(string, fs.DirEntry) bool { return false })
}

// checkoutSummary lists the files of a package that a peer has cloned with git, without the files that git itself
// keeps there. Only packages that were installed by a peer may be read in this way: an archive may contain a directory
// called .git, and a module in it.
func checkoutSummary(dir string) (string, error) {
	return summaryWithout(dir, func(path string, d fs.DirEntry) bool {
		return d.Name() == ".git" && (d.IsDir() && isRepository(path) || isGitLink(path, d))
	})
}

// isRepository reports whether a directory is the directory of a git repository, and has no configuration in it.
func isRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && isConfiguration().MatchString(path+"\n") {
			return fs.ErrInvalid
		}
		return err
	}) == nil
}

// isConfiguration matches lines that end with the name of a file of configuration.
var isConfiguration = pattern(`\.(tf|tofu)(\.json)?( ->)?\n$`)

// isGitLink reports whether a file is the one that git leaves in the directory of a submodule.
func isGitLink(path string, d fs.DirEntry) bool {
	if !d.Type().IsRegular() {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && strings.HasPrefix(string(text), "gitdir: ")
}

// summaryWithout is summary without the files and directories that skip selects.
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

// hashOf is the "h1:" hash of what a summary lists.
func hashOf(summary string) string {
	sum := sha256.Sum256([]byte(summary))
	return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
}

// fileName is a hash as the name of a file or a directory.
func fileName(hash string) string {
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(hash, "h1:"))
	if err != nil || len(sum) != sha256.Size {
		return "none"
	}
	return hex.EncodeToString(sum)
}

// inside is the subdirectory of a package, in which "*" stands for the name of the only one that there is.
func inside(dir, sub string) (string, error) {
	if sub == "" {
		return dir, nil
	}
	all := within(dir, path.Clean(sub))
	if len(all) != 1 {
		return "", fmt.Errorf("the package has no subdirectory %q, or several that fit", sub)
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

// lift makes a subdirectory of a package the package.
func lift(dir, sub string) error {
	at, err := inside(dir, sub)
	if err != nil {
		return err
	}
	tmp := dir + ".whole"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	rel, err := filepath.Rel(dir, at)
	if err != nil {
		return err
	}
	return errors.Join(os.Rename(dir, tmp), os.Rename(filepath.Join(tmp, rel), dir), os.RemoveAll(tmp))
}
