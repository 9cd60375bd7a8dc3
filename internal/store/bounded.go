package store

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
)

// A store may be malicious or broken, so its answers are read only up to these limits.
const (
	mostAnswer = 1 << 30  // bytes, after decompression
	mostRatio  = 200      // the largest ratio of decompressed to compressed size
	anyway     = 64 << 20 // decompressed bytes that are accepted at any ratio
)

// ErrTooLarge reports that an answer exceeds the limits for a state: 1 GiB, or more than 64 MiB at a compression ratio
// above 200.
var ErrTooLarge = errors.New("the answer is larger than 1 GiB, or was compressed more than 200 times: it is not a state")

// ReadAll reads an answer of a store to its end. It returns ErrTooLarge for more than mostAnswer bytes.
func ReadAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostAnswer+1))
	if err == nil && len(text) > mostAnswer {
		return nil, ErrTooLarge
	}
	return text, err
}

// Unpack decompresses an answer of a store in gzip format. It returns ErrTooLarge for more than mostAnswer bytes, or if
// the ratio of decompressed to compressed size exceeds mostRatio after the first 64 MiB.
func Unpack(r io.Reader) ([]byte, error) {
	compressedBytes := &counter{from: r}
	z, err := gzip.NewReader(compressedBytes)
	if err != nil {
		return nil, err
	}
	return ReadAll(&rationed{from: z, compressed: compressedBytes})
}

// counter counts the bytes that are read through it.
type counter struct {
	from io.Reader
	read int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.read += int64(n)
	return n, err
}

// rationed reads a decompressed stream, and returns ErrTooLarge if the stream exceeds the limits mostRatio and anyway.
type rationed struct {
	from       io.Reader
	compressed *counter
	read       int64
}

func (r *rationed) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if r.read += int64(n); r.read > anyway+mostRatio*r.compressed.read {
		return 0, ErrTooLarge
	}
	return n, err
}

// contents reads the body of an HTTP answer up to the limits, and decompresses it if the answer has the content
// encoding gzip.
func contents(resp *http.Response) ([]byte, error) {
	if !compressed(resp) {
		return ReadAll(resp.Body)
	}
	text, err := Unpack(resp.Body)
	if errors.Is(err, io.EOF) { // the body is empty, so it is not compressed, although the header announces compression
		return nil, nil
	}
	return text, err
}

// compressed reports whether the header of an answer has the content encoding gzip. Names of encodings are
// case-insensitive.
func compressed(resp *http.Response) bool {
	return strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip")
}
