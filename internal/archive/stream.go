package archive

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"
	"syscall"
)

// ErrWhole says that an archive cannot be unpacked while it arrives, but perhaps when it is there: that it is no
// zip file, or one whose entries do not say where they end.
var ErrWhole = errors.New("the archive can be read only as a whole")

// Stream unpacks a zip file of plain files while it arrives. A zip file ends with the list of what is in it. What comes
// before is unpacked as it comes, beside the place where it belongs, and moved there if it is what the list says.
type Stream struct {
	dir string
	o   Options
	u   *unpacking

	in    *io.PipeWriter
	ended chan error // of the goroutine that reads the other end
	size  int64      // that was written
	taken int64      // that the other end has
	got   map[string]*arrived
	known end
}

// arrived is an entry that was unpacked.
type arrived struct {
	dir          bool
	method       uint16
	sum          uint32
	size, packed uint64
	at           int64 // where its contents begin
}

// NewStream begins to unpack into dir. Close must be called.
func NewStream(dir string, o Options) (*Stream, error) {
	s := &Stream{dir: dir, o: o}
	return s, s.begin()
}

func (s *Stream) begin() (err error) {
	if s.u, err = begin(s.dir, s.o); err != nil {
		return err
	}
	s.u.taken = func() int64 { return s.taken }
	s.size, s.taken, s.got, s.known = 0, 0, map[string]*arrived{}, end{heads: map[int64][]byte{}}
	out, in := io.Pipe()
	s.in, s.ended = in, make(chan error, 1)
	go func() {
		err := s.read(bufio.NewReaderSize(readerFunc(func(b []byte) (int, error) {
			n, err := out.Read(b)
			s.taken += int64(n)
			return n, err
		}), 64<<10))
		var machine syscall.Errno
		if !errors.As(err, &machine) {
			out.CloseWithError(errDropped)
		} else {
			out.CloseWithError(err)
		}
		s.ended <- err
	}()
	return nil
}

// errDropped is what a write gets that comes after a fault of the archive.
var errDropped = errors.New("dropped")

// Write takes the next bytes. What is wrong with the archive, Finish says: whether it is the promised one is worth
// more to know, and not known before its end. Errors are those of this machine.
func (s *Stream) Write(b []byte) (int, error) {
	s.size += int64(len(b))
	if n, err := s.in.Write(b); err != nil && !errors.Is(err, errDropped) {
		return n, err
	}
	return len(b), nil
}

// Reset begins anew.
func (s *Stream) Reset() error {
	if s.size == 0 {
		return nil
	}
	return errors.Join(s.Close(), s.begin())
}

// Close ends the stream. What was not finished is removed.
func (s *Stream) Close() error {
	if s.u == nil {
		return nil
	}
	s.in.CloseWithError(errDropped)
	<-s.ended
	s.ended <- nil // for Finish, or another Close
	err := s.u.drop()
	s.u = nil
	return err
}

// Finish puts what was unpacked in its place, when all has been written.
func (s *Stream) Finish() error {
	s.in.Close()
	err := <-s.ended
	s.ended <- nil
	if err == nil {
		err = s.compare()
	}
	if err != nil {
		return err
	}
	return s.u.finish(s.dir)
}

// Signatures of the parts of a zip file, and flags of an entry, as PKWARE's APPNOTE.TXT has them.
const (
	signEntry, signList, signEnd, signSizes = 0x04034b50, 0x02014b50, 0x06054b50, 0x08074b50

	flagEncrypted, flagSizesBehind = 1 << 0, 1 << 3

	headerLength = 30       // of an entry, without its name
	maxList      = 16 << 20 // bytes
)

// read unpacks entries until the list comes.
func (s *Stream) read(in *bufio.Reader) error {
	for first := true; ; first = false {
		head, err := in.Peek(4)
		if err != nil {
			return ErrWhole
		}
		switch sign := binary.LittleEndian.Uint32(head); {
		case sign == signEntry:
			if err := s.entry(in); err != nil {
				return err
			}
		case sign == signList || sign == signEnd && first:
			s.known.from = s.at(in)
			s.known.bytes, err = io.ReadAll(io.LimitReader(in, maxList+1))
			if err != nil || len(s.known.bytes) > maxList {
				return ErrWhole
			}
			return nil
		default:
			return ErrWhole
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// at is how much was read so far.
func (s *Stream) at(in *bufio.Reader) int64 { return s.taken - int64(in.Buffered()) }

// entry unpacks one entry.
func (s *Stream) entry(in *bufio.Reader) error {
	head := make([]byte, headerLength)
	s.known.heads[s.at(in)] = head
	if _, err := io.ReadFull(in, head); err != nil {
		return ErrWhole
	}
	flags, method := binary.LittleEndian.Uint16(head[6:]), binary.LittleEndian.Uint16(head[8:])
	packed, size := binary.LittleEndian.Uint32(head[18:]), binary.LittleEndian.Uint32(head[22:])
	name := make([]byte, int(binary.LittleEndian.Uint16(head[26:]))+int(binary.LittleEndian.Uint16(head[28:])))
	if _, err := io.ReadFull(in, name); err != nil {
		return ErrWhole
	}
	name = name[:binary.LittleEndian.Uint16(head[26:])]
	behind := flags&flagSizesBehind != 0
	if flags&flagEncrypted != 0 || packed == 1<<32-1 || size == 1<<32-1 || method == zip.Store && behind || method != zip.Store && method != zip.Deflate {
		return ErrWhole
	}
	e := &contents{sum: crc32.NewIEEE()}
	if method == zip.Store {
		e.in = io.LimitReader(in, int64(packed))
	} else {
		e.in = flate.NewReader(in) // which reads no byte too many, of something that it can read by bytes
	}
	text := string(name)
	at := &arrived{dir: strings.HasSuffix(text, "/"), method: method, at: s.at(in)}
	if s.got[text] != nil {
		return fmt.Errorf("%q in the archive: it is there twice", text)
	}
	s.got[text] = at
	mode := zipFile
	if at.dir {
		mode = zipDir
	}
	err := s.u.entry(text, mode, func() (io.ReadCloser, error) { return io.NopCloser(e), nil }, nil)
	if err == nil {
		var n int64
		n, err = io.CopyN(io.Discard, e, 1)
		switch {
		case n > 0: // a file was read to its end
			err = errors.New("it is a directory, and has contents")
		case err == io.EOF:
			err = nil
		}
	}
	if e.broken {
		return ErrWhole
	}
	if err != nil {
		return fmt.Errorf("%q in the archive: %w", text, err)
	}
	at.sum, at.size, at.packed = e.sum.Sum32(), e.size, uint64(s.at(in)-at.at)
	if behind {
		return s.sizes(in, at)
	}
	return nil
}

// The modes that entries have until the list says which they have.
const (
	zipFile = fs.FileMode(0o644)
	zipDir  = fs.ModeDir | 0o755
)

// contents are those of an entry, counted.
type contents struct {
	in     io.Reader
	sum    hash.Hash32
	size   uint64
	broken bool
}

func (c *contents) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	c.sum.Write(b[:n])
	c.size += uint64(n)
	c.broken = c.broken || err != nil && err != io.EOF
	return n, err
}

// sizes reads what stands behind an entry that does not begin with its sizes.
func (s *Stream) sizes(in *bufio.Reader, at *arrived) error {
	b := make([]byte, 12)
	_, err := io.ReadFull(in, b)
	if err == nil && binary.LittleEndian.Uint32(b) == signSizes {
		copy(b, b[4:])
		_, err = io.ReadFull(in, b[8:])
	}
	if err != nil || binary.LittleEndian.Uint32(b) != at.sum || uint64(binary.LittleEndian.Uint32(b[4:])) != at.packed || uint64(binary.LittleEndian.Uint32(b[8:])) != at.size {
		return ErrWhole
	}
	return nil
}

// compare holds what was unpacked against the list, which also says what kinds of files those are.
func (s *Stream) compare() error {
	r, err := zip.NewReader(&s.known, s.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) || len(r.File) != len(s.got) {
		return ErrWhole
	}
	for _, f := range r.File {
		at := s.got[f.Name]
		begins, err := f.DataOffset()
		switch mode := f.Mode(); {
		case err != nil || at == nil || at.at != begins || at.method != f.Method || at.sum != f.CRC32 || at.size != f.UncompressedSize64 || at.packed != f.CompressedSize64:
			return ErrWhole
		case at.dir && mode.IsDir():
		case !mode.IsRegular():
			return fmt.Errorf("%q in the archive: %w", f.Name, errKind)
		case mode.Perm()&0o111 != 0:
			clean, _ := local(f.Name) // which was unpacked by that
			if err := s.u.root.Chmod(clean, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// end is a file of which the end is known, and the headers of entries. For the rest, zeros are read.
type end struct {
	bytes []byte
	from  int64
	heads map[int64][]byte
}

func (e *end) ReadAt(b []byte, at int64) (int, error) {
	if head := e.heads[at]; len(head) == len(b) {
		return copy(b, head), nil
	}
	clear(b)
	n := int(min(max(e.from-at, 0), int64(len(b))))
	n += copy(b[n:], e.bytes[min(max(at-e.from, 0), int64(len(e.bytes))):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
