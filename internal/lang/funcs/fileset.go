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
			{name: "path", typ: cty.String, doc: "The directory. The names in the result are relative to it."},
			{name: "pattern", typ: cty.String, doc: "The pattern: * for any part of a name, ** for any directories, ?, [a-z] and {one,other}."},
		},
		returns: cty.Set(cty.String), observed: true, run: fileSet,
	},
}

// fileSet finds files by a pattern. It first joins the pattern to the directory, so that `../` in the pattern leads out
// of the directory, as in Terraform and OpenTofu. The result has only regular files, and omits journals of states.
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
		return cty.NilVal, fmt.Errorf("the pattern searches too many files; %w", c.tooMany())
	case err != nil:
		return cty.NilVal, c.because(err)
	}
	var found []cty.Value
	for _, name := range names {
		full := filepath.Join(base, filepath.FromSlash(name))
		info, err := os.Stat(full)
		if err != nil || !info.Mode().IsRegular() {
			continue // a symbolic link whose target does not exist
		}
		if strings.HasSuffix(name, ".tfstate.journal") {
			continue // the journal of a state exists only during an apply, so it must not change a plan
		}
		rel, err := filepath.Rel(dir, full)
		if err != nil {
			return cty.NilVal, c.because(err)
		}
		found = append(found, cty.StringVal(filepath.ToSlash(rel)))
	}
	return setOf(cty.String, found), nil
}

// escape escapes the characters in a directory name that have a meaning in patterns.
func escape(dir string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `{`, `\{`, `\`, `\\`).Replace(dir)
}

// walkedFS limits the number of files that the search for a pattern visits. It does not follow a symbolic link to a
// directory that contains the link, because the search would never end. Other links can form circles, too, for example
// in /sys. So each directory to which a link leads counts as linkCost files.
type walkedFS struct {
	fs.FS
	root string // the absolute path of the directory that FS represents
	left int    // the number of files that may still be visited
}

const linkCost = 200

var errSpent = errors.New("too many files")

// ReadDir implements fs.ReadDirFS. The pattern library calls it once for each directory that it visits. For a circular
// link it returns an empty list. After the limit of files it returns errSpent.
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

// Stat implements fs.StatFS. The pattern library calls it for symbolic links, and for names in the pattern without
// wildcards.
func (w *walkedFS) Stat(name string) (fs.FileInfo, error) {
	if w.left--; w.left < 0 {
		return nil, errSpent
	}
	return fs.Stat(w.FS, name)
}

// link reports whether name is a symbolic link. circular is true if the link leads to a directory that contains it, or
// if its target cannot be determined.
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
