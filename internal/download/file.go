package download

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
)

// File is the size and the hash of the data that Save wrote.
type File struct {
	Size int64
	Sum  [sha256.Size]byte
}

// Target receives a download.
type Target interface {
	io.Writer
	Reset() error // discards the written data, because the download restarts
}

// ToFile returns a target that writes to a file. The file must be empty.
func ToFile(f *os.File) Target { return fileTarget{f} }

type fileTarget struct{ *os.File }

func (f fileTarget) Reset() error {
	_, err := f.Seek(0, io.SeekStart)
	return errors.Join(err, f.Truncate(0))
}

// Save downloads an address to a target, and computes its hash. If the connection breaks, Save continues at the
// position of the break if the server supports it, and otherwise restarts. If the file has more than limit bytes, Save
// returns an error. moved, if not nil, is called with the number of bytes received and the total, or -1 if the total is
// unknown.
func (c *Client) Save(ctx context.Context, u *url.URL, to Target, limit int64, moved func(done, all int64)) (File, error) {
	s := &saving{c: c, u: u, to: to, limit: limit, moved: moved, sum: sha256.New()}
	if err := c.Repeat(ctx, func() error { return s.attempt(ctx) }); err != nil {
		return File{}, err
	}
	out := File{Size: s.done}
	s.sum.Sum(out.Sum[:0])
	return out, nil
}

// Stall is the default time limit for a transfer without progress.
const Stall = time.Minute

// Watch returns a context that ends if alive is not called for the duration stall. The cause of the context is then an
// error after which a repeated request may succeed. The parameter what is the sender, for this error. The caller must
// call stop.
func Watch(ctx context.Context, what string, stall time.Duration) (watched context.Context, alive, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := time.AfterFunc(stall, func() { cancel(&transient{fmt.Errorf("%s sent nothing for %s", what, stall)}) })
	return ctx, func() { watch.Reset(stall) }, func() {
		watch.Stop()
		cancel(nil)
	}
}

// saving has the data of a download in progress.
type saving struct {
	c     *Client
	u     *url.URL
	to    Target
	limit int64
	moved func(done, all int64)

	done int64
	sum  hash.Hash
	etag string // the ETag (identifier of the content) of the data received so far; "": unknown
}

func (s *saving) attempt(ctx context.Context) error {
	stall := s.c.Stall
	if stall == 0 {
		stall = Stall
	}
	ctx, alive, stop := Watch(ctx, Show(s.u), stall)
	defer stop()
	header := http.Header{"Accept-Encoding": {"identity"}}
	if s.done > 0 && s.etag != "" {
		header.Set("Range", fmt.Sprintf("bytes=%d-", s.done))
		header.Set("If-Range", s.etag)
	}
	resp, err := s.c.request(ctx, s.c.forFiles(), s.u, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	whole := int64(-1)
	if resp.StatusCode == http.StatusPartialContent {
		var from, to int64
		if n, _ := fmt.Sscanf(resp.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &whole); n < 2 || from != s.done || to < from {
			s.etag = "" // drop the ETag, so that the next attempt requests the whole file
			return &transient{fmt.Errorf("%s returned another part of the file than requested", Show(s.u))}
		}
		if is := resp.Header.Get("ETag"); is != "" && is != s.etag { // some servers and proxies ignore If-Range
			s.etag = ""
			return &transient{fmt.Errorf("the file %s changed during the download", Show(s.u))}
		}
	} else if err := s.restart(); err != nil {
		return err
	}
	if s.etag = resp.Header.Get("ETag"); len(s.etag) > 1 && s.etag[:2] == "W/" {
		s.etag = "" // drop a weak ETag, because it may identify different contents
	}
	all := int64(-1)
	if resp.ContentLength >= 0 {
		all = s.done + resp.ContentLength
	}
	if whole > 0 {
		all = whole
	}
	if all > s.limit {
		return s.tooLarge()
	}
	return s.copy(ctx, resp.Body, all, alive)
}

func (s *saving) restart() error {
	s.done = 0
	s.sum.Reset()
	return s.to.Reset()
}

func (s *saving) copy(ctx context.Context, from io.Reader, all int64, alive func()) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			alive()
			if s.done+int64(n) > s.limit {
				return s.tooLarge()
			}
			if _, err := s.to.Write(buf[:n]); err != nil {
				return err
			}
			s.sum.Write(buf[:n])
			s.done += int64(n)
			if s.moved != nil {
				s.moved(s.done, all)
			}
		}
		switch {
		case err == io.EOF && (all < 0 || s.done == all) && ctx.Err() == nil: // the end of the file, unless ctx has ended: a server may end a stream that the client has abandoned
			return nil
		case err == io.EOF: // a broken connection also ends like this
			return &transient{broken(ctx, s.u, io.ErrUnexpectedEOF)}
		case err != nil:
			return &transient{broken(ctx, s.u, err)}
		}
	}
}

func (s *saving) tooLarge() error {
	return fmt.Errorf("%s has more than %d bytes", Show(s.u), s.limit)
}
