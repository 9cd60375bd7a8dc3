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

	"github.com/lethe-iac/lethe/internal/disk"
)

// Options are the limits for an archive.
type Options struct {
	Bytes int64 // maximum size of all contents
	Files int   // maximum number of entries of any kind
	// Links is nil if a symbolic link is an error. Otherwise, links to targets inside the directory are created,
	// because modules may contain such links. Links to targets outside and circular links are left out, and Links is
	// called with the name of each such link.
	Links func(leftOut string)
	Sums  Sums // receives the checksum of each file, by its name with slashes; nil: not needed
}

// Sums holds the SHA-256 of files, by the name of the file with slashes.
type Sums map[string][sha256.Size]byte

// Unpack extracts the archive at path into the directory dir, and replaces its former content. It unpacks into a
// temporary directory beside dir first, so that dir is unchanged after an error, such as a faulty archive.
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
	u.consumed = info.Size
	if err := u.any(f); err != nil {
		return err
	}
	return u.finish(dir)
}

// partly returns the pattern of the names of temporary directories beside dir into which an archive is unpacked.
func partly(dir string) string { return ".unpack-" + filepath.Base(dir) + "-*" }

// Sweep removes temporary directories beside dir that killed processes left behind. No process may be unpacking into
// dir.
func Sweep(dir string) error {
	left, err := fs.Glob(os.DirFS(filepath.Dir(dir)), partly(dir))
	for _, d := range left {
		err = errors.Join(err, disk.OS.RemoveAll(filepath.Join(filepath.Dir(dir), d)))
	}
	return err
}

// begin creates a temporary directory beside dir.
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
		return nil, errors.Join(err, disk.OS.Remove(tmp))
	}
	clear(o.Sums)
	return &unpacking{Options: o, tmp: tmp, root: root, bytes: o.Bytes, files: o.Files}, nil
}

// finish replaces dir by the temporary directory.
func (u *unpacking) finish(dir string) error {
	if err := u.link(); err != nil {
		return err
	}
	if err := errors.Join(u.root.Close(), os.Chmod(u.tmp, 0o755)); err != nil { // close the directory first, because some systems cannot move an open directory
		return err
	}
	if err := disk.OS.RemoveAll(dir); err != nil {
		return err
	}
	return disk.OS.Rename(u.tmp, dir)
}

// drop removes the temporary directory. After finish, it does nothing.
func (u *unpacking) drop() error { return errors.Join(u.root.Close(), disk.OS.RemoveAll(u.tmp)) }

// unpacking extracts an archive into a temporary directory. It counts down the limits for the contents.
type unpacking struct {
	Options
	tmp      string // the temporary directory
	root     *os.Root
	consumed func() int64 // returns the number of bytes read from the archive, or its whole size
	bytes    int64        // the number of bytes that the contents may still have
	files    int          // the number of entries that may still follow
	links    []link
}

// link is a symbolic link in an archive. Links are created after all files, so that no file is written through a link.
type link struct{ name, to string }

// any unpacks an archive of any format. It detects the format by the first bytes, because names and content types are
// often wrong.
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
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // ignore ErrInsecurePath, because the method entry reports insecure paths
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

// linkText returns the target of a symbolic link in a zip file, which is its content.
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
			return fmt.Errorf("this is not a valid archive of a supported format (zip; tar, also compressed with gzip or bzip2): %w", err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue // skip the header into which `git archive` writes the commit
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

// entry unpacks one entry. It calls open, which returns the content, only for a file, and leads, which returns the
// target, only for a link.
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
	case mode&fs.ModeSymlink != 0 && u.Links != nil:
		to, err := leads()
		u.links = append(u.links, link{clean, to})
		return err
	case !mode.IsRegular():
		return errKind
	}
	return u.file(clean, mode, open)
}

var errKind = errors.New("it may contain only plain files and directories")

// local returns the cleaned name of an entry. It returns an error for a name outside the directory.
func local(name string) (string, error) {
	clean := filepath.Clean(filepath.FromSlash(strings.TrimSuffix(name, "/")))
	if strings.Contains(name, `\`) {
		return "", errors.New("the name has a backslash, which separates directories only on Windows. Make the archive with a program that writes slashes")
	}
	if strings.Contains(name, "\x00") || !filepath.IsLocal(clean) {
		return "", errors.New("the name leads out of the directory")
	}
	return clean, nil
}

func (u *unpacking) file(name string, mode fs.FileMode, open func() (io.ReadCloser, error)) error {
	if u.Sums != nil && strings.Contains(name, "\n") {
		return errors.New("the name has a line break, which a list of checksums cannot represent")
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

// The ratio of the size of the contents to the size of the archive is limited, because a very high ratio means an
// attack. Real packages contain programs, which compress to a quarter, and texts, which compress to a tenth.
const (
	maxRatio = 100
	anyway   = 32 << 20 // an archive may always contain this number of bytes, even if it is small
)

// rationed reads the contents of an entry, until the contents of the archive exceed a limit. Then Read returns an
// error.
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
	case r.u.Options.Bytes-r.u.bytes > anyway+maxRatio*r.u.consumed():
		return 0, fmt.Errorf("its contents are more than %d times larger than the archive", maxRatio)
	}
	return n, err
}

// link creates the symbolic links whose targets are inside the directory, and passes the names of the other links to
// u.Links. It checks the targets after all links exist, because a link may lead through another. Where the system
// cannot create links, as on Windows without the privilege to do so, link copies the targets.
func (u *unpacking) link() error {
	var made, missing []link
	for _, l := range u.links {
		if filepath.IsAbs(l.to) || !filepath.IsLocal(l.at()) {
			u.Links(l.name)
			continue
		}
		err := u.root.Symlink(l.to, l.name)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%q in the archive: %w", l.name, plain(err))
		}
		if _, gone := u.root.Lstat(l.name); err != nil || gone != nil { // some systems report success and create no link
			missing = append(missing, l)
			continue
		}
		made = append(made, l)
	}
	for _, l := range made {
		if _, err := u.root.Stat(l.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			u.Links(l.name)
			if err := u.root.Remove(l.name); err != nil {
				return err
			}
		}
	}
	return u.copyTargets(missing)
}

// at returns the path of the target of a relative link.
func (l link) at() string { return filepath.Join(filepath.Dir(l.name), filepath.FromSlash(l.to)) }

// copyTargets copies the target of each link to the name of the link. A target may be another copy that does not exist
// yet, so copyTargets repeats this until no more targets appear. It reports links whose targets never exist, such as
// links in a circle, to u.Links.
func (u *unpacking) copyTargets(links []link) error {
	for {
		var left []link
		for _, l := range links {
			err := u.copyTarget(l)
			if errors.Is(err, fs.ErrNotExist) {
				left = append(left, l)
			} else if err != nil {
				return fmt.Errorf("%q in the archive: the target of the link cannot be copied: %w", l.name, plain(err))
			}
		}
		if len(left) == len(links) {
			break
		}
		links = left
	}
	for _, l := range links {
		u.Links(l.name)
	}
	return nil
}

func (u *unpacking) copyTarget(l link) error {
	if inside, err := filepath.Rel(l.at(), l.name); err == nil && filepath.IsLocal(inside) {
		return fs.ErrNotExist // a directory cannot be copied into itself
	}
	from := filepath.ToSlash(l.at())
	return fs.WalkDir(u.root.FS(), from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(l.name, filepath.FromSlash(strings.TrimPrefix(name, from)))
		if d.IsDir() {
			return u.root.MkdirAll(to, 0o755)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return u.file(to, info.Mode(), func() (io.ReadCloser, error) { return u.root.Open(filepath.FromSlash(name)) })
	})
}

// plain returns an error without the path in the temporary directory, which does not help users. It returns nil for
// nil.
func plain(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return errors.New("it is there twice")
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err // err may be nil
}
