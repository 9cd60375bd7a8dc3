package store

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
)

// A store may be another's, or broken: what it answers is read into memory up to these bounds.
const (
	mostAnswer = 1 << 30 // bytes, unpacked
	mostRatio  = 200     // of what is unpacked and what came, beyond anyway
	anyway     = 64 << 20
)

// ErrTooLarge says that an answer is larger than a state may be.
var ErrTooLarge = errors.New("the answer is larger than 1 GiB, or was packed 200 times smaller than it is: no state is like that")

// ReadAll reads what a store answers.
func ReadAll(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostAnswer+1))
	if err == nil && len(text) > mostAnswer {
		return nil, ErrTooLarge
	}
	return text, err
}

// Unpack reads what a store answers as a gzip stream.
func Unpack(r io.Reader) ([]byte, error) {
	packed := &counter{from: r}
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	return ReadAll(&rationed{from: z, packed: packed})
}

// counter counts what is read.
type counter struct {
	from io.Reader
	read int64
}

func (c *counter) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.read += int64(n)
	return n, err
}

// rationed is what a stream unpacks to, as far as that may be.
type rationed struct {
	from   io.Reader
	packed *counter
	read   int64
}

func (r *rationed) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if r.read += int64(n); r.read > anyway+mostRatio*r.packed.read {
		return 0, ErrTooLarge
	}
	return n, err
}

// contents reads an answer whose request said that it may be packed.
func contents(resp *http.Response) ([]byte, error) {
	if resp.Header.Get("Content-Encoding") != "gzip" {
		return ReadAll(resp.Body)
	}
	text, err := Unpack(resp.Body)
	if errors.Is(err, io.EOF) { // nothing, and not even packed
		return nil, nil
	}
	return text, err
}
