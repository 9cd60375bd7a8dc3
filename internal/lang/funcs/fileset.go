package funcs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/zclconf/go-cty/cty"
)

var fileSets = []*builtin{
	{
		name: "fileset", doc: "Finds the regular files in a directory whose names match a pattern.",
		params: []param{
			{name: "path", typ: cty.String, doc: "The directory, to which the names in the result are relative."},
			{name: "pattern", typ: cty.String, doc: "The pattern: * for any part of a name, ** for any directories, ?, [a-z] and {one,other}."},
		},
		returns: cty.Set(cty.String), observed: true, run: fileSet,
	},
}

// fileSet finds files by a pattern. The pattern is joined to the directory before it is looked at, so
// that `../` in it leads out of the directory, as it does in Terraform and OpenTofu.
func fileSet(c *call) (cty.Value, error) {
	dir := c.below(c.args[0].AsString())
	pattern := c.args[1].AsString()
	base, glob := doublestar.SplitPattern(path.Join(escape(filepath.ToSlash(dir)), pattern))
	if !doublestar.ValidatePattern(glob) {
		return cty.NilVal, fmt.Errorf("failed to glob pattern %s: syntax error in pattern", c.quote(1, pattern))
	}
	w := &walkedFS{FS: os.DirFS(base), root: base, left: c.limits.Elements}
	names, err := doublestar.Glob(w, glob, doublestar.WithFilesOnly())
	switch {
	case w.left < 0:
		return cty.NilVal, fmt.Errorf("the pattern makes it look at too many files; %w", c.tooMany())
	case err != nil:
		return cty.NilVal, c.because(err)
	}
	var found []cty.Value
	for _, name := range names {
		full := filepath.Join(base, filepath.FromSlash(name))
		info, err := os.Stat(full)
		if err != nil || !info.Mode().IsRegular() {
			continue // a symbolic link that leads nowhere is no file
		}
		if strings.HasSuffix(name, ".tfstate.journal") {
			continue // there only while changes are made: nothing could be planned with it
		}
		rel, err := filepath.Rel(dir, full)
		if err != nil {
			return cty.NilVal, c.because(err)
		}
		found = append(found, cty.StringVal(filepath.ToSlash(rel)))
	}
	return setOf(cty.String, found), nil
}

// escape keeps the characters of a directory's name from being a pattern.
func escape(dir string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `\`, `\\`).Replace(dir)
}

// walkedFS bounds how many files a pattern makes us look at, and does not follow a symbolic link to a
// directory that it is in: there would be no end to it. Other links can lead around in circles too, as
// those in /sys do, so each directory that is reached by one counts for many files.
type walkedFS struct {
	fs.FS
	root string
	left int
}

const linkCost = 200

var errSpent = errors.New("too many files")

// ReadDir is called once for each directory on the way.
func (w *walkedFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if w.left < 0 {
		return nil, errSpent
	}
	switch link, circular := w.link(name); {
	case circular:
		return nil, nil
	case link:
		w.left -= linkCost
	}
	entries, err := fs.ReadDir(w.FS, name)
	w.left -= len(entries) + 1
	return entries, err
}

// Stat is called for symbolic links and for names without a pattern.
func (w *walkedFS) Stat(name string) (fs.FileInfo, error) {
	if w.left--; w.left < 0 {
		return nil, errSpent
	}
	return fs.Stat(w.FS, name)
}

// link reports whether name is a symbolic link, and whether it leads to a directory above itself.
func (w *walkedFS) link(name string) (link, circular bool) {
	full := filepath.Join(w.root, filepath.FromSlash(name))
	info, err := os.Lstat(full)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false, false
	}
	target, err1 := filepath.EvalSymlinks(full)
	parent, err2 := filepath.EvalSymlinks(filepath.Dir(full))
	if err1 != nil || err2 != nil {
		return true, true
	}
	rel, err := filepath.Rel(target, parent)
	return true, err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
