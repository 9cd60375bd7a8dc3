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

// ErrNotStreamable is the error for an archive that cannot be unpacked while it arrives. Unpack can perhaps unpack the
// complete file. The archive is not a zip file, is damaged, or has an entry in a form that Stream does not support: the
// entry is encrypted, has 64-bit sizes or another compression method, or is stored uncompressed with its size after the
// content.
var ErrNotStreamable = errors.New("the archive can be read only as a whole")

// Stream unpacks a zip file of plain files and directories while it arrives. A zip file ends with the list of its
// entries. The entries before the list are unpacked into a temporary directory, which is moved to its place if the
// entries match the list.
type Stream struct {
	dir string
	o   Options
	u   *unpacking

	in       *io.PipeWriter
	ended    chan error // the result of the goroutine that reads the pipe
	size     int64      // number of bytes passed to Write
	consumed int64      // number of bytes that the goroutine has read
	got      map[string]*arrived
	known    end
}

// arrived describes an entry that was unpacked before the list of entries was read.
type arrived struct {
	dir              bool
	method           uint16
	sum              uint32
	size, compressed uint64
	at               int64 // the offset of the contents of the entry in the archive
}

// NewStream starts unpacking into dir. The caller must call Close.
func NewStream(dir string, o Options) (*Stream, error) {
	s := &Stream{dir: dir, o: o}
	return s, s.begin()
}

func (s *Stream) begin() (err error) {
	if s.u, err = begin(s.dir, s.o); err != nil {
		return err
	}
	s.u.consumed = func() int64 { return s.consumed }
	s.size, s.consumed, s.got, s.known = 0, 0, map[string]*arrived{}, end{heads: map[int64][]byte{}}
	out, in := io.Pipe()
	s.in, s.ended = in, make(chan error, 1)
	go func() {
		err := s.read(bufio.NewReaderSize(readerFunc(func(b []byte) (int, error) {
			n, err := out.Read(b)
			s.consumed += int64(n)
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

// errDropped is the error of writes after an error in the archive.
var errDropped = errors.New("dropped")

// Write passes the next bytes to the goroutine that unpacks the archive. It returns only errors of this machine, such
// as a full disk. Finish returns the errors in the archive. Before Finish, the caller can compare the complete archive
// with its checksum, and a wrong checksum is the more useful error.
func (s *Stream) Write(b []byte) (int, error) {
	s.size += int64(len(b))
	if n, err := s.in.Write(b); err != nil && !errors.Is(err, errDropped) {
		return n, err
	}
	return len(b), nil
}

// Reset discards the unpacked entries and restarts the stream from the beginning.
func (s *Stream) Reset() error {
	if s.size == 0 {
		return nil
	}
	return errors.Join(s.Close(), s.begin())
}

// Close ends the stream and removes the temporary directory.
func (s *Stream) Close() error {
	if s.u == nil {
		return nil
	}
	s.in.CloseWithError(errDropped)
	<-s.ended
	s.ended <- nil // for the method Finish, or for another call of Close, which reads the channel, too
	err := s.u.drop()
	s.u = nil
	return err
}

// Finish compares the unpacked entries with the list at the end of the archive, and moves the unpacked directory to its
// place. It must be called after all bytes are written. It returns the errors in the archive.
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

// Signatures of the parts of a zip file, and flags of an entry (PKWARE APPNOTE.TXT).
const (
	signEntry, signList, signEnd, signSizes = 0x04034b50, 0x02014b50, 0x06054b50, 0x08074b50

	flagEncrypted, flagSizesBehind = 1 << 0, 1 << 3

	headerLength = 30       // the length in bytes of an entry's header without the name
	maxList      = 16 << 20 // maximum length in bytes of the list of entries
)

// read unpacks the entries, then reads the list of entries that ends the archive into s.known. It returns
// ErrNotStreamable if the archive has another layout.
func (s *Stream) read(in *bufio.Reader) error {
	for first := true; ; first = false {
		head, err := in.Peek(4)
		if err != nil {
			return ErrNotStreamable
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
				return ErrNotStreamable
			}
			return nil
		default:
			return ErrNotStreamable
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// at returns the offset in the archive up to which the reader was read.
func (s *Stream) at(in *bufio.Reader) int64 { return s.consumed - int64(in.Buffered()) }

// entry reads the header of the next entry from the reader, unpacks the entry, and records its sizes and checksum in
// s.got. It returns ErrNotStreamable if the entry cannot be unpacked without the list of entries at the end of the
// archive, or if its data is damaged.
func (s *Stream) entry(in *bufio.Reader) error {
	head := make([]byte, headerLength)
	s.known.heads[s.at(in)] = head
	if _, err := io.ReadFull(in, head); err != nil {
		return ErrNotStreamable
	}
	flags, method := binary.LittleEndian.Uint16(head[6:]), binary.LittleEndian.Uint16(head[8:])
	compressedSize, size := binary.LittleEndian.Uint32(head[18:]), binary.LittleEndian.Uint32(head[22:])
	name := make([]byte, int(binary.LittleEndian.Uint16(head[26:]))+int(binary.LittleEndian.Uint16(head[28:])))
	if _, err := io.ReadFull(in, name); err != nil {
		return ErrNotStreamable
	}
	name = name[:binary.LittleEndian.Uint16(head[26:])]
	behind := flags&flagSizesBehind != 0
	if flags&flagEncrypted != 0 || compressedSize == 1<<32-1 || size == 1<<32-1 || method == zip.Store && behind || method != zip.Store && method != zip.Deflate {
		return ErrNotStreamable
	}
	e := &contents{sum: crc32.NewIEEE()}
	if method == zip.Store {
		e.in = io.LimitReader(in, int64(compressedSize))
	} else {
		e.in = flate.NewReader(in) // flate reads no byte beyond the end of the contents, because in is an io.ByteReader
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
		case n > 0: // the entry has contents, which were read to the end
			err = errors.New("it is a directory with contents")
		case err == io.EOF:
			err = nil
		}
	}
	if e.broken {
		return ErrNotStreamable
	}
	if err != nil {
		return fmt.Errorf("%q in the archive: %w", text, err)
	}
	at.sum, at.size, at.compressed = e.sum.Sum32(), e.size, uint64(s.at(in)-at.at)
	if behind {
		return s.sizes(in, at)
	}
	return nil
}

// zipFile and zipDir are the modes of entries before the list of entries is read, which has the real modes.
const (
	zipFile = fs.FileMode(0o644)
	zipDir  = fs.ModeDir | 0o755
)

// contents reads and counts the contents of an entry.
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

// sizes reads the data descriptor after an entry whose header does not contain its sizes, and compares it with the
// unpacked contents. It returns ErrNotStreamable if they differ.
func (s *Stream) sizes(in *bufio.Reader, at *arrived) error {
	b := make([]byte, 12)
	_, err := io.ReadFull(in, b)
	if err == nil && binary.LittleEndian.Uint32(b) == signSizes {
		copy(b, b[4:])
		_, err = io.ReadFull(in, b[8:])
	}
	if err != nil || binary.LittleEndian.Uint32(b) != at.sum || uint64(binary.LittleEndian.Uint32(b[4:])) != at.compressed || uint64(binary.LittleEndian.Uint32(b[8:])) != at.size {
		return ErrNotStreamable
	}
	return nil
}

// compare compares the unpacked entries with the list. The list contains the types and modes of the files.
func (s *Stream) compare() error {
	r, err := zip.NewReader(&s.known, s.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) || len(r.File) != len(s.got) {
		return ErrNotStreamable
	}
	for _, f := range r.File {
		at := s.got[f.Name]
		begins, err := f.DataOffset()
		switch mode := f.Mode(); {
		case err != nil || at == nil || at.at != begins || at.method != f.Method || at.sum != f.CRC32 || at.size != f.UncompressedSize64 || at.compressed != f.CompressedSize64:
			return ErrNotStreamable
		case at.dir && mode.IsDir():
		case !mode.IsRegular():
			return fmt.Errorf("%q in the archive: %w", f.Name, errKind)
		case mode.Perm()&0o111 != 0:
			clean, _ := local(f.Name) // the error is nil, because the method entry has accepted this name
			if err := s.u.root.Chmod(clean, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// end is a reader of an archive of which only the list of entries and the entry headers are known. All other bytes are
// read as zeros.
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
