package store

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
)

// A store may belong to someone else, or be broken: its answers are read into memory up to these bounds.
const (
	mostAnswer = 1 << 30 // bytes, unpacked
	mostRatio  = 200     // unpacked size to packed size; more is too large in any case
	anyway     = 64 << 20
)

// ErrTooLarge reports that an answer is larger than a state may be.
var ErrTooLarge = errors.New("the answer is larger than 1 GiB, or was compressed more than 200 times: it is not a state")

// ReadAll reads an answer of a store.
func ReadAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostAnswer+1))
	if err == nil && len(text) > mostAnswer {
		return nil, ErrTooLarge
	}
	return text, err
}

// Unpack reads an answer of a store as a gzip stream.
func Unpack(r io.Reader) ([]byte, error) {
	compressedBytes := &counter{from: r}
	z, err := gzip.NewReader(compressedBytes)
	if err != nil {
		return nil, err
	}
	return ReadAll(&rationed{from: z, compressed: compressedBytes})
}

// counter counts the bytes that are read.
type counter struct {
	from io.Reader
	read int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.read += int64(n)
	return n, err
}

// rationed reads an unpacked stream up to the bounds.
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

// contents reads an answer whose request accepted compression.
func contents(resp *http.Response) ([]byte, error) {
	if !compressed(resp) {
		return ReadAll(resp.Body)
	}
	text, err := Unpack(resp.Body)
	if errors.Is(err, io.EOF) { // nothing, and not even packed
		return nil, nil
	}
	return text, err
}

// compressed reports whether the body of an answer is compressed. Names of encodings have no case.
func compressed(resp *http.Response) bool {
	return strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip")
}
