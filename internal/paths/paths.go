// Package paths says where a path that a user, a configuration or the environment gives leads.
//
// The kernel takes ".." as the parent of the directory that a symbolic link leads to. Taken away as text, "link/.."
// is another directory. In is the one function that joins a working directory and a path. The paths of the language, in
// which Terraform removes ".." as text, are the exception: Text joins them. docs/guide/paths.md has a row for each path.
package paths

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Real returns the path of a directory as the kernel has it: absolute and without symbolic links.
func Real(dir string) (string, error) {
	if !filepath.IsAbs(dir) || !links {
		return filepath.Abs(dir)
	}
	return filepath.EvalSymlinks(dir) // takes ".." as the kernel does
}

// links reports whether the kernel follows a symbolic link before it takes its parent. Windows takes ".." away as text.
const links = runtime.GOOS != "windows"

// In returns the absolute path that a program in dir means by path, where ".." means what it means to the kernel. dir is
// absolute. An empty path stays empty.
func In(dir, path string) string {
	switch {
	case path == "":
		return ""
	case !filepath.IsAbs(path):
		path = dir + string(filepath.Separator) + path
	}
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

// parent returns the directory above dir, which may be a symbolic link to another place.
func parent(dir string) string {
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
	}
	return filepath.Dir(dir)
}

// Follow returns where a path with slashes leads from dir, its symbolic links followed: relative as it is, unless one of
// them is absolute. It returns the path itself if there is nothing.
func Follow(dir, path string) string {
	left, at := strings.Split(path, "/"), "."
	for range 255 { // as the kernel, it gives up some time
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

// Text returns the absolute path that the language means by path: ".." is removed with the name before it, whatever that
// is. An empty path is dir.
func Text(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
