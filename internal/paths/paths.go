// Package paths resolves paths of users, of configurations and of the environment.
//
// For the kernel, ".." is the parent of the target of a symbolic link. If ".." is removed as text, "link/.." is another
// directory. Only the function In joins a working directory and a path. Paths in arguments of the language are an
// exception, because Terraform removes ".." in them as text: the function Text joins these. docs/reference/paths.md has
// a row for each path.
package paths

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Real returns the absolute path of a directory, without symbolic links. It returns an error if dir does not exist. On
// Windows, and for a relative dir, it only makes the path absolute.
func Real(dir string) (string, error) {
	if !filepath.IsAbs(dir) || !links {
		return filepath.Abs(dir)
	}
	return filepath.EvalSymlinks(dir) // follows symbolic links before "..", as the kernel does
}

// links reports whether the kernel follows a symbolic link before ".." is resolved. Windows removes ".." as text.
const links = !windows

// In returns the absolute path that path has for a program whose working directory is dir. It follows symbolic links
// before "..", as the kernel does. dir is absolute. An empty path stays empty.
func In(dir, path string) string {
	if path == "" {
		return ""
	}
	path = join(dir, path)
	if !links || !strings.Contains(path, "..") {
		return filepath.Clean(path)
	}
	at := string(filepath.Separator)
	for _, name := range strings.Split(path, at) {
		if name == ".." {
			at = parent(at)
			continue
		}
		at = filepath.Join(at, name)
	}
	return at
}

// join joins a directory and a path without removing "..". On Windows, a path that begins with a separator is on the
// drive of dir, and a path such as "C:a" is relative to the working directory of its drive.
func join(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	if windows && filepath.VolumeName(path) != "" {
		if abs, err := filepath.Abs(path); err == nil {
			return abs
		}
	}
	if windows && os.IsPathSeparator(path[0]) {
		return filepath.VolumeName(dir) + path
	}
	return dir + string(filepath.Separator) + path
}

// parent returns the directory above dir. If dir is a symbolic link, this is the directory above the target of the
// link.
func parent(dir string) string {
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
	}
	return filepath.Dir(dir)
}

// Follow returns the path to which path leads after following all symbolic links. path has slashes and is relative to
// dir. The result is relative to dir, too, unless a link is absolute. If the path does not exist or has too many links,
// Follow returns path unchanged.
func Follow(dir, path string) string {
	left, at := strings.Split(path, "/"), "."
	for range 255 { // limit the number of links, as the kernel does
		var link string
		for link == "" && len(left) > 0 {
			name := left[0]
			left = left[1:]
			switch {
			case name == "" || name == ".":
			case name != "..":
				info, err := os.Lstat(filepath.Join(dir, at, name))
				if err != nil {
					return path
				}
				if info.Mode()&fs.ModeSymlink == 0 {
					at = filepath.Join(at, name)
				} else if link, err = os.Readlink(filepath.Join(dir, at, name)); err != nil {
					return path
				}
			case at == "." || filepath.Base(at) == "..":
				at = filepath.Join(at, "..")
			default:
				at = filepath.Dir(at)
			}
		}
		switch {
		case filepath.IsAbs(link):
			if real, err := filepath.EvalSymlinks(filepath.Join(append([]string{link}, left...)...)); err == nil {
				return filepath.ToSlash(real)
			}
			return path
		case link == "":
			return filepath.ToSlash(at)
		}
		left = append(strings.Split(filepath.ToSlash(link), "/"), left...)
	}
	return path
}

// Text returns the absolute path that a path in an argument of the language has. It removes ".." together with the name
// before it, even if this name is a symbolic link. For an empty path, it returns dir.
func Text(dir, path string) string {
	if path == "" {
		return filepath.Clean(dir)
	}
	return filepath.Clean(join(dir, path))
}
