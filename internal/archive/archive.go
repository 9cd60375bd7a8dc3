package archive

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"
)

// Options say what an archive may hold.
type Options struct {
	Bytes int64 // all contents together
	Files int   // entries of any kind
	Links bool  // symbolic links to what is inside are kept, as modules have them; otherwise they are errors
	Sums  Sums  // gets the checksum of each file, by its name with slashes, if it is not nil
}

// Sums are the SHA-256 of files by name.
type Sums map[string][sha256.Size]byte

// Unpack extracts the archive in a file into dir, which is replaced. It is unpacked beside dir first, so that
// an archive with a fault leaves what was there.
func Unpack(path, dir string, o Options) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	u, err := begin(dir, o)
	if err != nil {
		return err
	}
	defer u.drop()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	u.taken = info.Size
	if err := u.any(f); err != nil {
		return err
	}
	return u.finish(dir)
}

// partly is the pattern of the names of directories beside dir in which it is being unpacked.
func partly(dir string) string { return ".unpack-" + filepath.Base(dir) + "-*" }

// Sweep removes what was left of dir beside it, where a process was killed while it unpacked. None may be doing that.
func Sweep(dir string) error {
	left, err := fs.Glob(os.DirFS(filepath.Dir(dir)), partly(dir))
	for _, d := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(dir), d)))
	}
	return err
}

// begin makes a directory beside dir to unpack into.
func begin(dir string, o Options) (*unpacking, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), partly(dir))
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(tmp)
	if err != nil {
		return nil, errors.Join(err, os.Remove(tmp))
	}
	clear(o.Sums)
	return &unpacking{Options: o, tmp: tmp, root: root, bytes: o.Bytes, files: o.Files}, nil
}

// finish puts what was unpacked in the place of dir.
func (u *unpacking) finish(dir string) error {
	if err := u.link(); err != nil {
		return err
	}
	if err := errors.Join(u.root.Close(), os.Chmod(u.tmp, 0o755)); err != nil { // not every system moves what is open
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(u.tmp, dir)
}

// drop removes what was not finished.
func (u *unpacking) drop() error { return errors.Join(u.root.Close(), os.RemoveAll(u.tmp)) }

// unpacking is an archive under way.
type unpacking struct {
	Options
	tmp   string // the directory
	root  *os.Root
	taken func() int64 // bytes of the archive that what is unpacked is from, or of the whole
	bytes int64        // left
	files int          // left
	links []link
}

// link is a symbolic link, made when all files are there: until then no name leads through one.
type link struct{ name, to string }

// any finds out what an archive is by its first bytes, as names and content types often do not say.
func (u *unpacking) any(f *os.File) error {
	head := make([]byte, 6)
	if _, err := io.ReadFull(f, head); err != nil {
		return errors.New("the file is too short for an archive")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("PK")):
		return u.zip(f)
	case head[0] == 0x1f && head[1] == 0x8b:
		z, err := gzip.NewReader(bufio.NewReader(f))
		if err != nil {
			return err
		}
		return u.tar(z)
	case string(head[:3]) == "BZh":
		return u.tar(bzip2.NewReader(bufio.NewReader(f)))
	case string(head) == "\xfd7zXZ\x00":
		z, err := xz.NewReader(bufio.NewReader(f))
		if err != nil {
			return err
		}
		return u.tar(z)
	}
	return u.tar(f)
}

func (u *unpacking) zip(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := zip.NewReader(f, info.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // which entry reports
		return err
	}
	if len(r.File) > u.Files {
		return fmt.Errorf("the archive has %d entries, more than %d", len(r.File), u.Files)
	}
	for _, e := range r.File {
		if err := u.entry(e.Name, e.Mode(), func() (io.ReadCloser, error) { return e.Open() }, func() (string, error) {
			return linkText(e)
		}); err != nil {
			return fmt.Errorf("%q in the archive: %w", e.Name, err)
		}
	}
	return nil
}

// linkText is where a symbolic link in a zip file leads: its content.
func linkText(e *zip.File) (string, error) {
	in, err := e.Open()
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, 4096))
	return string(text), err
}

func (u *unpacking) tar(r io.Reader) error {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil && !errors.Is(err, tar.ErrInsecurePath):
			return fmt.Errorf("this is not an archive that can be read (zip; tar, also compressed with gzip or bzip2): %w", err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue // what `git archive` says of the commit
		}
		mode := h.FileInfo().Mode()
		if h.Typeflag == tar.TypeLink {
			mode |= fs.ModeIrregular
		}
		err = u.entry(h.Name, mode, func() (io.ReadCloser, error) { return io.NopCloser(t), nil }, func() (string, error) { return h.Linkname, nil })
		if err != nil {
			return fmt.Errorf("%q in the archive: %w", h.Name, err)
		}
	}
}

// entry unpacks one entry. What it holds is opened only if it is a file, and where it leads asked only of a link.
func (u *unpacking) entry(name string, mode fs.FileMode, open func() (io.ReadCloser, error), leads func() (string, error)) error {
	if u.files--; u.files < 0 {
		return fmt.Errorf("there are more than %d entries", u.Files)
	}
	clean, err := local(name)
	switch {
	case err != nil:
		return err
	case clean == "." || mode.IsDir():
		return u.root.MkdirAll(clean, 0o755)
	}
	if err := u.root.MkdirAll(filepath.Dir(clean), 0o755); err != nil {
		return plain(err)
	}
	switch {
	case mode&fs.ModeSymlink != 0 && u.Links:
		to, err := leads()
		u.links = append(u.links, link{clean, to})
		return err
	case !mode.IsRegular():
		return errKind
	}
	return u.file(clean, mode, open)
}

var errKind = errors.New("only plain files and directories may be in it")

// local is a name as one below the directory.
func local(name string) (string, error) {
	clean := filepath.Clean(filepath.FromSlash(strings.TrimSuffix(name, "/")))
	if strings.ContainsAny(name, "\\\x00") || !filepath.IsLocal(clean) {
		return "", errors.New("the name leads out of the directory")
	}
	return clean, nil
}

func (u *unpacking) file(name string, mode fs.FileMode, open func() (io.ReadCloser, error)) error {
	if u.Sums != nil && strings.Contains(name, "\n") {
		return errors.New("lists of checksums have a line for each file, and the name has more than one")
	}
	perm := fs.FileMode(0o644)
	if mode.Perm()&0o111 != 0 {
		perm = 0o755
	}
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return plain(err)
	}
	to, sum := io.Writer(out), sha256.New()
	if u.Sums != nil {
		to = io.MultiWriter(out, sum)
	}
	_, err = io.Copy(to, rationed{u, in})
	if u.Sums != nil {
		u.Sums[filepath.ToSlash(name)] = [sha256.Size]byte(sum.Sum(nil))
	}
	return errors.Join(plain(err), out.Close())
}

// An archive that holds many times its own size is a trap, and no package: programs become four times smaller, and texts
// ten times.
const (
	maxRatio = 100
	anyway   = 32 << 20 // bytes, which an archive of any size may hold
)

// rationed is what an archive holds, as far as that may be.
type rationed struct {
	u  *unpacking
	in io.Reader
}

func (r rationed) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	r.u.bytes -= int64(n)
	switch {
	case r.u.bytes < 0:
		return 0, fmt.Errorf("the archive holds more than %d bytes", r.u.Options.Bytes)
	case r.u.Options.Bytes-r.u.bytes > anyway+maxRatio*r.u.taken():
		return 0, fmt.Errorf("the archive holds more than %d times its size", maxRatio)
	}
	return n, err
}

// link makes the symbolic links, each of which must lead to something inside.
func (u *unpacking) link() error {
	for _, l := range u.links {
		at := filepath.Join(filepath.Dir(l.name), filepath.FromSlash(l.to))
		if filepath.IsAbs(l.to) || !filepath.IsLocal(at) {
			return fmt.Errorf("%q in the archive: the link leads out of the directory", l.name)
		}
		if err := u.root.Symlink(l.to, l.name); err != nil {
			return plain(err)
		}
	}
	for _, l := range u.links {
		if _, err := u.root.Stat(l.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%q in the archive: the link leads out of the directory, or in a circle", l.name)
		}
	}
	return nil
}

// plain is an error without the temporary path, which is of no use to a user.
func plain(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return errors.New("it is there twice")
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err // nil, too
}
