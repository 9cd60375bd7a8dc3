package journal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
)

// strictSeal marks data as encrypted with a prefix, and rejects data without the prefix.
type strictSeal struct{ plain bool }

var (
	errPlain = errors.New("not encrypted")
	under    = []byte("encrypted:")
)

func (strictSeal) Encrypts() bool { return true }

func (strictSeal) Seal(_ context.Context, plain []byte) ([]byte, error) {
	return append(bytes.Clone(under), plain...), nil
}

func (s strictSeal) Open(_ context.Context, data []byte) ([]byte, error) {
	if len(data) == 0 {
		return data, nil // empty data are a missing state, which is not encrypted
	}
	if plain, ok := bytes.CutPrefix(data, under); ok {
		return plain, nil
	}
	return data, s.AcceptsPlain()
}

func (s strictSeal) AcceptsPlain() error {
	if s.plain {
		return nil
	}
	return errPlain
}

// TestPlainJournalRefused checks that a journal without a key record is rejected if plain files are rejected, whatever
// its first record contains.
func TestPlainJournalRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path, nil, Options{})
	if err := w.Result(0, Change{object(t, "a.victim"), entry("1")}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	plain, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seal := strictSeal{}
	envelope, _ := seal.Seal(t.Context(), []byte(`{"version":4}`))
	for name, data := range map[string][]byte{
		"as it is":            plain,
		"after an envelope":   append(appendRecord(nil, foundRecord, 0, envelope), plain...),
		"after no payload":    append(appendRecord(nil, foundRecord, 0, nil), plain...),
		"header an envelope":  append(appendRecord(nil, headerRecord, 0, envelope), plain...),
		"after another's key": append(appendRecord(nil, keyRecord, 0, envelope), plain...),
		"after a plain key":   append(appendRecord(nil, keyRecord, 0, append([]byte(keyPurpose), make([]byte, keySize)...)), plain...),
	} {
		if r, err := Replay(data, nil, seal); err == nil {
			t.Errorf("%s: %d objects were taken in", name, r.Snapshot.Len())
		}
	}
	if r, err := Replay(plain, nil, strictSeal{plain: true}); err != nil || r.Snapshot.Len() != 1 {
		t.Errorf("where plain files are accepted: %v", err)
	}
	if _, err := Replay(append(appendRecord(nil, foundRecord, 0, nil), plain...), nil, nil); err == nil {
		t.Error("a journal that does not begin with its header is taken in")
	}
}

// TestKeyHasPurpose checks that a key that was encrypted for another purpose is not accepted as the key of a journal.
func TestKeyHasPurpose(t *testing.T) {
	key := bytes.Repeat([]byte{7}, keySize)
	plain, _ := strictSeal{}.Seal(t.Context(), key)
	data := appendRecord(nil, keyRecord, 0, plain)
	data = appendRecord(data, headerRecord, 1, sealed(aead(key), headerRecord, 1, encode(Header{Lineage: "l"})))
	if _, err := Replay(data, nil, strictSeal{}); err == nil {
		t.Error("taken in")
	}
}

// TestResumeUnderAnotherKey checks that a journal is continued only under its own key.
func TestResumeUnderAnotherKey(t *testing.T) {
	for name, c := range map[string]struct {
		seal Sealing
		key  []byte
	}{"encrypted journal, no key": {strictSeal{}, nil}, "plain journal, a key": {nil, make([]byte, keySize)}} {
		path := filepath.Join(t.TempDir(), "j")
		w := create(t, path, nil, Options{Seal: c.seal})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := Share(disk.OS, path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := Resume(f, c.key); err == nil {
			t.Errorf("%s: continued", name)
		}
	}
}
