package state

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/store/pgstore/rows"
	"pgregory.net/rapid"
)

// throughRows splits a file into rows as a database stores them, and joins them again. It returns false if one of both
// fails.
func throughRows(doc []byte) ([]byte, bool) {
	var out bytes.Buffer
	j := rows.NewJoiner(&out)
	var lazy []func()
	head, ok := rows.Split(doc, func(k rows.Kind, _ rows.Digest, cells [][]byte) {
		stored := rows.Stored(k, cells)
		for i := range stored {
			stored[i] = bytes.Clone(stored[i])
		}
		lazy = append(lazy, func() { j.Row(k, stored) })
	})
	j.Head(head)
	for _, f := range lazy {
		f()
	}
	err := j.Close()
	return out.Bytes(), err == nil && ok
}

// TestRows checks that every state file can be stored in rows, except text that a database cannot hold.
func TestRows(t *testing.T) {
	check := func(t interface {
		Errorf(string, ...any)
		Fatal(...any)
	}, s *Snapshot) {
		doc, err := s.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := throughRows(doc); !ok || !bytes.Equal(got, doc) {
			t.Errorf("%s\n became, %t,\n%s", doc, ok, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, genSnapshot.Draw(t, "state")) })
	files, _ := filepath.Glob("testdata/*.tfstate")
	for _, f := range files {
		doc, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := Read(doc, &diag.Bag{})
		if !ok {
			t.Fatal(f)
		}
		check(t, s)
	}
}
