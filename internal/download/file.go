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

// A File is what Save wrote.
type File struct {
	Size int64
	Sum  [sha256.Size]byte
}

// Target takes what is downloaded.
type Target interface {
	io.Writer
	Reset() error // what was written is void: it begins anew
}

// ToFile is a file as a target. It is empty before.
func ToFile(f *os.File) Target { return fileTarget{f} }

type fileTarget struct{ *os.File }

func (f fileTarget) Reset() error {
	_, err := f.Seek(0, io.SeekStart)
	return errors.Join(err, f.Truncate(0))
}

// Save writes what an address has into a target, and hashes it on the way. It goes on after a cut where the server
// allows that, and begins again where it does not. More than limit bytes are an error. moved,
// if not nil, is called with what is there and what there will be, -1 for not known.
func (c *Client) Save(ctx context.Context, u *url.URL, to Target, limit int64, moved func(done, all int64)) (File, error) {
	s := &saving{c: c, u: u, to: to, limit: limit, moved: moved, sum: sha256.New()}
	if err := c.Repeat(ctx, func() error { return s.attempt(ctx) }); err != nil {
		return File{}, err
	}
	out := File{Size: s.done}
	s.sum.Sum(out.Sum[:0])
	return out, nil
}

// Stall is how long a transfer may make no progress, where nothing else is said.
const Stall = time.Minute

// Watch ends a context when alive was not called for a while. The error that it has then is one after which the same
// may succeed. stop must be called.
func Watch(ctx context.Context, what string, stall time.Duration) (watched context.Context, alive, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	watch := time.AfterFunc(stall, func() { cancel(&cut{fmt.Errorf("%s sent nothing for %s", what, stall)}) })
	return ctx, func() { watch.Reset(stall) }, func() {
		watch.Stop()
		cancel(nil)
	}
}

// saving is a download under way.
type saving struct {
	c     *Client
	u     *url.URL
	to    Target
	limit int64
	moved func(done, all int64)

	done int64
	sum  hash.Hash
	etag string // of what was received so far
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
	if resp.StatusCode != http.StatusPartialContent {
		if err := s.restart(); err != nil {
			return err
		}
	}
	if s.etag = resp.Header.Get("ETag"); len(s.etag) > 1 && s.etag[:2] == "W/" {
		s.etag = "" // two contents may share it
	}
	all := int64(-1)
	if resp.ContentLength >= 0 {
		all = s.done + resp.ContentLength
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
		case err == io.EOF && (all < 0 || s.done == all) && ctx.Err() == nil: // a server may end what was given up
			return nil
		case err != nil:
			return &cut{broken(ctx, s.u, err)}
		}
	}
}

func (s *saving) tooLarge() error {
	return fmt.Errorf("%s has more than %d bytes", Show(s.u), s.limit)
}
