package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/limits"
)

// Options say where configuration is read from and how its places are spelled. The zero value
// reads the disk and shows paths as they are given.
type Options struct {
	Files          Files                    // nil: the disk
	Display        func(path string) string // a file's path as ranges spell it; nil: as it is
	Follow         func(n *Node) string     // Node.Led of a local module; nil: no symbolic link is followed
	Version        string                   // what required_version is compared with; "" compares nothing
	Claimed        string                   // what required_version is compared with in place of Version; "": nothing is claimed
	Limits         limits.Limits
	NoDeprecations bool // no user wants to hear of what is deprecated in modules
	// NoFarDeprecations is the same of those that come from elsewhere, and of what they call.
	NoFarDeprecations bool
}

// Files is what a configuration is read from: the disk, or the snapshot in a plan file.
type Files interface {
	// List gives the names of the regular files in a directory, sorted.
	List(dir string) ([]string, error)
	// Read gives the contents of a file, or an error beyond limit bytes (see TooLarge).
	Read(path string, limit int64) ([]byte, error)
	// Join makes a path of a directory and a name in it.
	Join(dir, name string) string
	// Same gives equal strings for paths to the same directory, if it can tell.
	Same(dir string) string
}

// TooLarge is the error for a file beyond the limit.
type TooLarge struct{ Limit int64 }

func (e TooLarge) Error() string {
	return fmt.Sprintf("it is larger than the limit of %d bytes", e.Limit)
}

// NotRegular is the error for what is no ordinary file: a device, a pipe, a socket.
type NotRegular struct{ Mode fs.FileMode }

func (e NotRegular) Error() string { return "it is not a regular file" }

// Disk reads the file system.
var Disk Files = disk{}

type disk struct{}

// List follows symbolic links; a link that leads nowhere counts as a file, so that reading it
// tells. Directories are left out, but where a file of values should be.
func (disk) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
				isDir = info.IsDir()
			}
		}
		values := isAuto(e.Name()) || strings.TrimSuffix(e.Name(), ".json") == rootValues
		if !isDir || values { // reading a directory fails, which is better than values that are missing
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// rootValues is, with or without .json at its end, the name of a file of values that is read first.
const rootValues = "terraform.tfvars"

// isAuto reports whether a name is that of one of the files of values that are read next.
func isAuto(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, ".json"), ".auto.tfvars")
}

func (disk) Read(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, NotRegular{info.Mode()}
	}
	if info.Size() > limit {
		return nil, TooLarge{limit}
	}
	return os.ReadFile(path)
}

// ReadStream reads a stream to its end, or TooLarge if that is beyond limit bytes. It reads pieces, and puts them together
// at the end: a slice that grows takes five times as much memory as is read.
func ReadStream(r io.Reader, limit int64) ([]byte, error) {
	var pieces [][]byte
	all := int64(0)
	for {
		piece := make([]byte, min(max(all, 4<<10), 16<<20))
		n, err := io.ReadFull(r, piece)
		pieces = append(pieces, piece[:n])
		switch all += int64(n); {
		case all > limit:
			return nil, TooLarge{limit}
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return slices.Concat(pieces...), nil
		case err != nil:
			return slices.Concat(pieces...), err
		}
	}
}

func (disk) Join(dir, name string) string { return filepath.Join(dir, name) }

func (disk) Same(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return filepath.Clean(dir)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	return abs
}

// Memory is a set of files by their slash-separated paths: a snapshot.
type Memory map[string][]byte

// List gives the files directly in dir; a directory without any is fs.ErrNotExist.
func (m Memory) List(dir string) ([]string, error) {
	dir = path.Clean(dir)
	var names []string
	found := false
	for p := range m {
		d, name := path.Split(path.Clean(p))
		if d = path.Clean(d); d == dir {
			names = append(names, name)
		}
		found = found || d == dir || strings.HasPrefix(d, dir+"/")
	}
	if !found && dir != "." {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
	}
	slices.Sort(names)
	return names, nil
}

// Read gives a file of the snapshot.
func (m Memory) Read(p string, limit int64) ([]byte, error) {
	text, ok := m[path.Clean(p)]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	if int64(len(text)) > limit {
		return nil, TooLarge{limit}
	}
	return text, nil
}

// Join makes a slash-separated path.
func (m Memory) Join(dir, name string) string { return path.Join(dir, name) }

// Same cleans the path.
func (m Memory) Same(dir string) string { return path.Clean(dir) }

// With is the disk with one more file in a directory, which hides one of that name.
func With(dir, name string, text []byte) Files {
	return &with{Disk, Disk.Same(dir), name, text}
}

type with struct {
	Files
	dir, name string
	text      []byte
}

func (w *with) List(dir string) ([]string, error) {
	names, err := w.Files.List(dir)
	if err == nil && w.Same(dir) == w.dir && !slices.Contains(names, w.name) {
		names = append(names, w.name)
		slices.Sort(names)
	}
	return names, err
}

func (w *with) Read(p string, limit int64) ([]byte, error) {
	if w.Same(p) == w.Same(w.Join(w.dir, w.name)) {
		return w.text, nil
	}
	return w.Files.Read(p, limit)
}

func (o Options) filled() Options {
	if o.Files == nil {
		o.Files = Disk
	}
	if o.Display == nil {
		o.Display = func(p string) string { return p }
	}
	o.Limits = o.Limits.Filled()
	return o
}

// ReadOne reads a file that is not part of a module, or a pipe, to the limit that holds for one that is.
func ReadOne(path string, l limits.Limits) ([]byte, error) {
	return readAny(Disk, path, l.Filled().Bytes)
}

// readAny reads a file, and on the disk also what is not a regular file, to its end or the limit.
func readAny(files Files, path string, limit int64) ([]byte, error) {
	text, err := files.Read(path, limit)
	if !errors.As(err, new(NotRegular)) {
		return text, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadStream(f, limit)
}
