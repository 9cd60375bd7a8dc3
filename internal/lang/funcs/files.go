package funcs

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/paths"
)

// files has the functions about paths and files. Relative paths are resolved against Env.BaseDir. Only regular files
// and the null device are read, because any other device or pipe can be endless, and can have another content during
// apply than during plan.
var files = []*builtin{
	{
		name: "abspath", doc: "Converts a path to an absolute, clean path. It is relative to the working directory.",
		params:  []param{{name: "path", typ: cty.String, doc: "The path."}},
		returns: cty.String, world: true, run: absPath,
	},
	fixed("basename", "Returns the last part of a path.", cty.String, onText(filepath.Base),
		text("path", "The path.")),
	fixed("dirname", "Returns a path without its last part.", cty.String, onText(filepath.Dir),
		text("path", "The path.")),
	{
		name: "file", doc: "Reads a file that contains text in UTF-8.",
		params:  []param{{name: "path", typ: cty.String, doc: "The file."}},
		returns: cty.String, observed: true, run: readText,
	},
	{
		name: "filebase64", doc: "Reads a file and encodes its content in Base64.",
		params:  []param{{name: "path", typ: cty.String, doc: "The file."}},
		returns: cty.String, observed: true, run: readBase64,
	},
	{
		name: "fileexists", doc: "Reports whether a regular file exists at a path.",
		params:  []param{{name: "path", typ: cty.String, doc: "The file."}},
		returns: cty.Bool, observed: true, run: fileExists,
	},
	{
		name: "pathexpand", doc: "Replaces a ~ at the beginning of a path with the home directory.",
		params:  []param{{name: "path", typ: cty.String, doc: "The path."}},
		returns: cty.String, world: true, run: pathExpand,
	},
}

// at returns the absolute path for a path in the configuration. It returns an error if the path begins with ~ and the
// home directory is not known, or with ~ and the name of a user.
func (s *scope) at(path string) (string, error) {
	path, err := homeOf(path)
	if err != nil {
		return "", err
	}
	return s.below(path), nil
}

// below returns the absolute path for a path in the configuration, without expanding ~. In Terraform and OpenTofu,
// fileset does not expand ~ either.
func (s *scope) below(path string) string {
	return paths.Text(s.env.BaseDir, path)
}

// homeOf replaces ~ at the beginning of a path by the home directory. It returns an error if the home directory is not
// known, or if the name of a user follows ~.
func homeOf(path string) (string, error) {
	if !strings.HasPrefix(path, "~") {
		return path, nil
	}
	if len(path) > 1 && path[1] != '/' && path[1] != filepath.Separator {
		return "", errors.New("cannot expand user-specific home dir")
	}
	home, err := os.UserHomeDir()
	if set := paths.Home(os.Getenv); set != "" { // on Windows, too, HOME takes precedence, as in Terraform
		home, err = set, nil
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(home, path[1:]), nil
}

func pathExpand(c *call) (cty.Value, error) {
	path, err := homeOf(c.args[0].AsString())
	if err != nil {
		return cty.NilVal, c.because(err)
	}
	return cty.StringVal(path), nil
}

func absPath(c *call) (cty.Value, error) {
	path, err := filepath.Abs(paths.Text(cmp.Or(c.env.Named, c.env.BaseDir), c.args[0].AsString()))
	if err != nil {
		return cty.NilVal, c.because(err)
	}
	return cty.StringVal(filepath.ToSlash(path)), nil
}

// fileArgument reads the file that the first argument of a call names.
type fileArgument struct{ c *call }

// open opens the regular file that the first argument names. It returns an error if the file has more bytes than factor
// times the limit. It also returns an error for a pipe, without waiting for a writer. size is the length in bytes that
// the file system reports.
func (a fileArgument) open(factor int64) (f *os.File, size int64, err error) {
	path, err := a.c.at(a.c.args[0].AsString())
	if err != nil {
		return nil, 0, err
	}
	f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil {
		err = a.readable(path, info, factor)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (a fileArgument) readable(path string, info fs.FileInfo, factor int64) error {
	switch {
	case info.IsDir():
		return &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular() && !isNull(info):
		return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("is %s, not a regular file", kindOf(info.Mode()))}
	case info.Size() > factor*a.c.limits.Bytes:
		return &fs.PathError{Op: "read", Path: path, Err: tooMuch("too many bytes", factor*a.c.limits.Bytes)}
	}
	return nil
}

// isNull reports whether a file is the null device, which users name in place of an empty file.
func isNull(info fs.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(info, null)
}

// kindOf returns the name of the kind of a file that is not regular, such as "a directory".
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeDevice != 0:
		return "a device node"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a unix socket"
	}
	return "an irregular file"
}

// read returns the content of the file that the first argument names.
func (a fileArgument) read() ([]byte, error) {
	var b bytes.Buffer
	err := a.copyTo(&b)
	return b.Bytes(), err
}

// copyTo appends the content of the file that the first argument names to a buffer. If the content has more bytes than
// the limit, it returns an error. It counts the bytes that it reads, because files in /proc report a size of zero and
// have content.
func (a fileArgument) copyTo(to interface {
	io.Writer
	Grow(bytes int)
}) error {
	f, size, err := a.open(1)
	if err != nil {
		return a.cannotRead(err)
	}
	defer f.Close()
	to.Grow(int(size) + bytes.MinRead) // a large file is not copied from buffer to buffer
	most := a.c.limits.Bytes
	n, err := io.Copy(to, io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return a.cannotRead(err)
	case n > most:
		return bad(0, "%s: %s", a.c.show(0, a.c.args[0].AsString()), a.c.tooLong())
	}
	return nil
}

func (a fileArgument) cannotRead(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return bad(0, "no file exists at %s; this function reads only files that exist when the run starts. "+
			"To use a file that a resource creates, refer to an attribute of that resource", a.c.quote(0, a.c.args[0].AsString()))
	}
	return a.c.badBecause(0, fmt.Errorf("failed to read file: %w", a.relative(err)))
}

// relative returns an error of the operating system in which the path is the path of the configuration, not the
// absolute path.
func (a fileArgument) relative(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return &fs.PathError{Op: at.Op, Path: cmp.Or(a.c.args[0].AsString(), "."), Err: at.Err}
	}
	return err
}

func readText(c *call) (cty.Value, error) {
	text, err := fileArgument{c}.text()
	if err != nil {
		return cty.NilVal, err
	}
	return cty.StringVal(text), nil
}

// text returns the content of the file, or an error if it is not UTF-8.
func (a fileArgument) text() (string, error) {
	var b strings.Builder
	if err := a.copyTo(&b); err != nil {
		return "", err
	}
	if !utf8.ValidString(b.String()) {
		return "", fmt.Errorf("contents of %s are not valid UTF-8; use the filebase64 function to obtain the Base64 encoded contents "+
			"or the other file functions (e.g. filemd5, filesha256) to obtain file hashing results instead", a.c.quote(0, a.c.args[0].AsString()))
	}
	return b.String(), nil
}

func readBase64(c *call) (cty.Value, error) {
	raw, err := fileArgument{c}.read()
	if err != nil {
		return cty.NilVal, err
	}
	var b bytes.Buffer
	w := base64.NewEncoder(base64.StdEncoding, &b)
	_, err = w.Write(raw)
	if err := errors.Join(err, w.Close()); err != nil {
		return cty.NilVal, c.because(err)
	}
	return cty.StringVal(b.String()), nil
}

func fileExists(c *call) (cty.Value, error) {
	written := c.args[0].AsString()
	path, err := c.at(written)
	if err != nil {
		return cty.NilVal, c.because(err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return cty.False, nil
	case err != nil:
		return cty.NilVal, c.because(fmt.Errorf("failed to stat: %w", fileArgument{c}.relative(err)))
	case !info.Mode().IsRegular():
		rest := ", not a regular file"
		if info.IsDir() {
			rest = ", not a file"
		}
		return cty.NilVal, fmt.Errorf("%s is %s%s", c.quote(0, written), kindOf(info.Mode()), rest)
	}
	return cty.True, nil
}
