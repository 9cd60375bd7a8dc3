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

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/experiment"
	"github.com/lethe-iac/lethe/internal/limits"
)

// Options determine the source of the configuration and the spelling of file names. The zero value reads the disk and
// keeps paths unchanged.
type Options struct {
	Files          Files                                                         // nil: the disk
	Display        func(path string) string                                      // returns the file name in ranges for a path; nil: the path unchanged
	Follow         func(n *Node) string                                          // returns Node.Led, the directory of a local module without symbolic links; nil: Led stays ""
	Amend          func(root *Module, sources *diag.Sources, bag *diag.Bag) bool // adds declarations to the root module; nil: it adds none
	Version        string                                                        // compared with required_version; "" disables the comparison
	Claimed        string                                                        // if not "", compared with required_version instead of Version
	Limits         limits.Limits                                                 // zero fields mean the defaults
	Experiments    experiment.Set                                                // the experimental features that are permitted
	NoDeprecations bool                                                          // suppress warnings about deprecated features in all called modules
	// NoFarDeprecations suppresses warnings about deprecated features in remote modules and in the modules that remote
	// modules call.
	NoFarDeprecations bool
}

// Files is the source of a configuration: the disk, or the snapshot in a plan file.
type Files interface {
	// List returns the names of the regular files in a directory, sorted.
	List(dir string) ([]string, error)
	// Read returns the content of a file. It returns TooLarge if the content is longer than limit bytes. The disk
	// returns NotRegular for a file that is not regular.
	Read(path string, limit int64) ([]byte, error)
	// Join returns the path of a name in a directory.
	Join(dir, name string) string
	// Same returns a string that is equal for all paths to the same directory, as far as Same can detect that.
	Same(dir string) string
}

// TooLarge is the error for a file that is larger than the limit.
type TooLarge struct{ Limit int64 }

func (e TooLarge) Error() string {
	return fmt.Sprintf("it is larger than the limit of %d bytes", e.Limit)
}

// NotRegular is the error for a file that is not regular: a device, a pipe, a socket.
type NotRegular struct{ Mode fs.FileMode }

func (e NotRegular) Error() string { return "it is not a regular file" }

// Disk is the file system of the operating system.
var Disk Files = disk{}

type disk struct{}

// List follows symbolic links. It includes a broken link, so that an attempt to read it reports the error. It omits
// directories, except for a directory with the name of a file of values.
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
		if !isDir || values { // reading a directory reports an error; otherwise its values would be missing silently
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// rootValues is the name of the file of values that is read first. The file with the additional suffix .json is read
// next.
const rootValues = "terraform.tfvars"

// isAuto reports whether name is the name of a file of values that is read after rootValues.
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

// ReadStream reads a stream to its end. It returns TooLarge if the stream is longer than limit bytes. After an error of
// the stream, it returns the text before the error, and the error. It reads the text in pieces and joins them at the
// end, because a slice that grows during the reading needs five times as much memory as the text.
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

// List returns the sorted names of the files directly in dir. It returns fs.ErrNotExist if no file is in or below dir,
// unless dir is the root ".".
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

// Read returns the text of a file in the snapshot. It returns fs.ErrNotExist if the snapshot does not have the file,
// and TooLarge if the text has more than limit bytes.
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

// Join returns a slash-separated path.
func (m Memory) Join(dir, name string) string { return path.Join(dir, name) }

// Same cleans the path.
func (m Memory) Same(dir string) string { return path.Clean(dir) }

// With returns the files of the disk, and an additional file called name in dir. The additional file hides a file of
// the same name on the disk.
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

// ReadOne reads a file that is not part of a module, or a pipe. It returns an error if the file cannot be read, and
// TooLarge if the text has more than l.Bytes bytes.
func ReadOne(path string, l limits.Limits) ([]byte, error) {
	return readAny(Disk, path, l.Filled().Bytes)
}

// readAny reads a file to its end. It returns TooLarge if the file is longer than limit bytes. On the disk it also
// reads files that are not regular, such as pipes.
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
