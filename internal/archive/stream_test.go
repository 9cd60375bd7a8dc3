package archive

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// streamed unpacks an archive that arrives in pieces into a new directory. It lists the files afterwards, with their
// checksums.
func streamed(t *testing.T, data []byte, piece int, o Options) ([]string, error) {
	t.Helper()
	dir := t.TempDir()
	o.Sums = Sums{}
	s, err := NewStream(filepath.Join(dir, "to"), o)
	if err != nil {
		t.Fatal(err)
	}
	s.Write(data[:len(data)/2]) // Reset must discard these bytes
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	for part := range slices.Chunk(data, piece) {
		if _, err := s.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	err = s.Finish()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	all := tree(t, dir)
	if err == nil && !maps.Equal(o.Sums, sumsOf(t, filepath.Join(dir, "to"))) {
		t.Errorf("the checksums are %v", o.Sums)
	}
	return all, err
}

// tree lists the files in a directory, with modes and checksums.
func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if name, _ := filepath.Rel(dir, path); name != "." {
			info, _ := d.Info()
			text, _ := os.ReadFile(path)
			all = append(all, fmt.Sprintf("%s %s %x", filepath.ToSlash(name), info.Mode(), sha256.Sum256(text)))
		}
		return nil
	})
	return all
}

func sumsOf(t *testing.T, dir string) Sums {
	t.Helper()
	out := Sums{}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if name, _ := filepath.Rel(dir, path); d != nil && d.Type().IsRegular() {
			text, _ := os.ReadFile(path)
			out[filepath.ToSlash(name)] = sha256.Sum256(text)
		}
		return nil
	})
	return out
}

// alike fails the test unless Stream and Unpack produce the same files. An error of only Stream is accepted, because
// the archive may contain invalid entries that its list of entries does not name.
func alike(t *testing.T, data []byte, piece int, o Options) error {
	t.Helper()
	got, err := streamed(t, data, piece, o)
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	whole := Unpack(path, filepath.Join(dir, "to"), o)
	switch {
	case err != nil && len(got) > 0:
		t.Errorf("%v leaves %q", err, got)
	case err == nil && whole != nil:
		t.Errorf("when it is there: %v", whole)
	case err == nil && !slices.Equal(got, tree(t, dir)):
		t.Errorf("%q, and not %q", got, tree(t, dir))
	}
	return err
}

func TestStream(t *testing.T) {
	data := zipOf(t, item{"dir/", fs.ModeDir | 0o700, ""}, item{"dir/run", 0o700 | fs.ModeSetuid, "x"}, item{"deep/er/file", 0o666, strings.Repeat("text", 100)})
	for _, piece := range []int{1, 7, 1 << 20} {
		if err := alike(t, data, piece, limits); err != nil {
			t.Error(err)
		}
	}
	if err := alike(t, zipOf(t), 1, limits); err != nil {
		t.Error(err)
	}
	stored := func(raw bool) []byte {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		h := &zip.FileHeader{Name: "a", UncompressedSize64: 4, CompressedSize64: 4, CRC32: 0x97ee40a6}
		make := w.CreateHeader
		if raw {
			make = w.CreateRaw
		}
		f, err := make(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, "text")
		w.Close()
		return b.Bytes()
	}
	for raw, want := range map[bool]error{true: nil, false: ErrNotStreamable} {
		if err := alike(t, stored(raw), 3, limits); !errors.Is(err, want) && (want != nil || !strings.Contains(fmt.Sprint(err), "whole")) {
			t.Errorf("stored, sizes before %v: %v", raw, err)
		}
	}
}

// Stream rejects the same archives as Unpack, and leaves no files.
func TestStreamRefused(t *testing.T) {
	link := fs.ModeSymlink | fs.FileMode(0o777)
	var many []item
	for i := range 11 {
		many = append(many, item{fmt.Sprint("f", i), 0o644, ""})
	}
	for _, x := range []struct {
		items []item
		want  string
	}{
		{[]item{{"ok", 0o644, ""}, {"../x", 0o644, ""}}, "leads out"},
		{[]item{{"/etc/x", 0o644, ""}}, "leads out"},
		{[]item{{`..\x`, 0o644, ""}}, "has a backslash"},
		{[]item{{"l", link, "x"}}, "only plain files"},
		{[]item{{"d", fs.ModeDevice, ""}}, "only plain files"},
		{[]item{{"a", 0o644, ""}, {"a", 0o644, ""}}, "twice"},
		{[]item{{"a", 0o644, ""}, {"./a", 0o644, ""}}, "twice"},
		{[]item{{"a", 0o644, ""}, {"a/b", 0o644, ""}}, "twice"},
		{many, "more than 10"},
		{[]item{{"a", 0o644, strings.Repeat("x", 600)}, {"b", 0o644, strings.Repeat("x", 600)}}, "more than 1000 bytes"},
	} {
		if err := alike(t, zipOf(t, x.items...), 5, limits); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v: %v", x.items, err)
		}
	}
	whole := zipOf(t, item{"a", 0o644, strings.Repeat("abc", 100)})
	for _, data := range [][]byte{nil, []byte("PK"), []byte("<html>not found</html>"), whole[:len(whole)-5], whole[:40], tarOf(t, item{"a", 0o644, ""})} {
		if got, err := streamed(t, data, 4, limits); !errors.Is(err, ErrNotStreamable) || len(got) > 0 {
			t.Errorf("%.10q: %v, %q", data, err, got)
		}
	}
}

func FuzzStream(f *testing.F) {
	t := &testing.T{}
	f.Add(zipOf(t, item{"a/", fs.ModeDir, ""}, item{"a/b", 0o755, "x"}))
	f.Add(zipOf(t, item{"a", 0o644, strings.Repeat("x", 300)}, item{"b", 0o644, ""}))
	f.Fuzz(func(t *testing.T, data []byte) { alike(t, data, 64, limits) })
}

// A directory with contents is rejected. Otherwise, its contents would be read and dropped without a limit.
func TestDirectoryWithContents(t *testing.T) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "dd", Method: zip.Store, CompressedSize64: 1, UncompressedSize64: 1, CRC32: 0xd202ef8d})
	if err == nil {
		_, err = f.Write([]byte{0})
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	b = *bytes.NewBuffer(bytes.ReplaceAll(b.Bytes(), []byte("dd"), []byte("d/"))) // the zip writer refuses a directory with content
	all, err := streamed(t, b.Bytes(), 7, Options{Bytes: 1 << 20, Files: 10})
	if err == nil || !strings.Contains(err.Error(), "with contents") || len(all) > 0 {
		t.Errorf("%v, %q", err, all)
	}
}
