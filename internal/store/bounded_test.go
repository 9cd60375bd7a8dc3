package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

func gzipped(t *testing.T, r io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.Copy(z, r); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type blanks struct{}

func (blanks) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// TestAnswersAreBounded checks that a compressed answer that would become too large is rejected before it fills the
// memory. Other answers are read, compressed or not.
func TestAnswersAreBounded(t *testing.T) {
	trap := gzipped(t, io.LimitReader(blanks{}, 200<<20))
	for name, x := range map[string]struct {
		compressed bool
		body       []byte
		want       string
		err        error
	}{
		"plain": {false, []byte("{}"), "{}", nil}, "packed": {true, gzipped(t, bytes.NewReader([]byte("{}"))), "{}", nil}, "none": {true, nil, "", nil},
		"a trap": {true, trap, "", ErrTooLarge},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if x.compressed {
				w.Header().Set("Content-Encoding", "gzip")
			}
			w.Write(x.body)
		}))
		at, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		api := &API{Client: server.Client()}
		a, err := api.Ask(context.Background(), http.MethodGet, at, nil, nil)
		if !errors.Is(err, x.err) || err == nil && string(a.Body) != x.want {
			t.Errorf("%s: %v", name, err)
		}
		server.Close()
	}
}
