package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"github.com/ulikunitz/xz"
)

// item is an entry of a test archive.
type item struct {
	name string
	mode fs.FileMode
	text string // content, or the target of a link
}

func zipOf(t *testing.T, items ...item) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, x := range items {
		h := &zip.FileHeader{Name: x.name, Method: zip.Deflate}
		h.SetMode(x.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, x.text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarOf(t *testing.T, items ...item) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, x := range items {
		h := &tar.Header{Name: x.name, Mode: int64(x.mode.Perm()), Typeflag: tar.TypeReg, Size: int64(len(x.text))}
		if x.mode&fs.ModeSetuid != 0 {
			h.Mode |= 0o4000
		}
		switch {
		case x.mode.IsDir():
			h.Typeflag, h.Size = tar.TypeDir, 0
		case x.mode&fs.ModeSymlink != 0:
			h.Typeflag, h.Size, h.Linkname = tar.TypeSymlink, 0, x.text
		case x.mode&fs.ModeIrregular != 0: // the entry is a hard link
			h.Typeflag, h.Size, h.Linkname = tar.TypeLink, 0, x.text
		case x.mode&fs.ModeDevice != 0:
			h.Typeflag, h.Size = tar.TypeChar, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			io.WriteString(w, x.text)
		}
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

// xzOf converts gzip data to xz.
func xzOf(t *testing.T, gz []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	in, err := gzip.NewReader(bytes.NewReader(gz))
	out, err1 := xz.NewWriter(&b)
	if err := errors.Join(err, err1); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// unpack unpacks an archive into a new directory, and lists the files afterwards.
func unpack(t *testing.T, data []byte, o Options) ([]string, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(t.TempDir(), "archive")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	err := Unpack(path, filepath.Join(dir, "to"), o)
	var all []string
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if name, _ := filepath.Rel(dir, path); name != "." {
			info, _ := d.Info()
			all = append(all, fmt.Sprint(filepath.ToSlash(name), " ", modeOf(info)))
		}
		return nil
	})
	return all, err
}

// modeOf returns the mode of an entry. On Windows it returns the mode that the entry has on other systems.
func modeOf(info fs.FileInfo) fs.FileMode {
	switch {
	case disktest.Modes:
		return info.Mode()
	case info.IsDir():
		return fs.ModeDir | 0o755
	case info.Name() == "run":
		return 0o755
	}
	return 0o644
}

var limits = Options{Bytes: 1000, Files: 10}

func TestUnpack(t *testing.T) {
	items := []item{{"dir/", fs.ModeDir | 0o700, ""}, {"dir/run", 0o700 | fs.ModeSetuid, "x"}, {"deep/er/file", 0o666, "text"}}
	want := []string{"to drwxr-xr-x", "to/deep drwxr-xr-x", "to/deep/er drwxr-xr-x", "to/deep/er/file -rw-r--r--", "to/dir drwxr-xr-x", "to/dir/run -rwxr-xr-x"}
	for name, data := range map[string][]byte{"zip": zipOf(t, items...), "tar.gz": tarOf(t, items...), "tar.xz": xzOf(t, tarOf(t, items...))} {
		if got, err := unpack(t, data, limits); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
}

func TestLinks(t *testing.T) {
	disktest.NeedLinks(t)
	data := []item{{"a", 0o644, "text"}, {"sub/b", fs.ModeSymlink | 0o777, "../a"}, {"gone", fs.ModeSymlink | 0o777, "nowhere"}}
	o := limits
	o.Links = func(name string) { t.Errorf("%s was left out", name) }
	for _, x := range [][]byte{zipOf(t, data...), tarOf(t, data...)} {
		if got, err := unpack(t, x, o); err != nil || len(got) != 5 {
			t.Errorf("%v: %q", err, got)
		}
	}
}

// Links to targets outside the directory, also in several steps, and circular links are left out. All other entries are
// unpacked.
func TestLinksLeftOut(t *testing.T) {
	disktest.NeedLinks(t)
	link := fs.ModeSymlink | fs.FileMode(0o777)
	for name, x := range map[string]struct {
		items []item
		left  []string
	}{
		"link out":       {[]item{{"l", link, "../x"}}, []string{"l"}},
		"link to root":   {[]item{{"l", link, "/etc/passwd"}}, []string{"l"}},
		"in between":     {[]item{{"d/l", link, "../../x"}, {"m", link, "d/l"}}, []string{"d/l"}}, // the target of m was left out, but only links out of the directory must be left out
		"links in steps": {[]item{{"d/e/x", 0o644, ""}, {"a", link, "d/e"}, {"b", link, "a/../../.."}}, []string{"b"}},
		"behind a link":  {[]item{{"d/x", 0o644, ""}, {"c/a", link, "../d"}, {"b", link, "c/a/../../d"}}, []string{"b"}},
		"circle":         {[]item{{"a", link, "b"}, {"b", link, "a"}}, []string{"a"}}, // only a is left out; then the target of b does not exist
	} {
		for kind, make := range map[string]func(*testing.T, ...item) []byte{"zip": zipOf, "tar": tarOf} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				var left []string
				o := limits
				o.Links = func(name string) { left = append(left, filepath.ToSlash(name)) }
				got, err := unpack(t, make(t, append(x.items, item{"keep", 0o644, "x"})...), o)
				if err != nil || !slices.Equal(left, x.left) || !slices.Contains(got, "to/keep -rw-r--r--") {
					t.Errorf("%v: %q, without %q", err, got, left)
				}
				for _, name := range left {
					if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "to/"+name+" ") }) {
						t.Errorf("%s is there", name)
					}
				}
			})
		}
	}
}

// A rejected archive leaves no files, neither in the directory nor beside it.
func TestRefused(t *testing.T) {
	many := make([]item, 11)
	for i := range many {
		many[i] = item{fmt.Sprint("f", i), 0o644, ""}
	}
	link := fs.ModeSymlink | fs.FileMode(0o777)
	for _, x := range []struct {
		name  string
		links bool
		items []item
		want  string
	}{
		{"up", true, []item{{"ok", 0o644, ""}, {"../x", 0o644, ""}}, "leads out"},
		{"up and down", true, []item{{"a/../../x", 0o644, ""}}, "leads out"},
		{"absolute", true, []item{{"/etc/x", 0o644, ""}}, "leads out"},
		{"backslash", true, []item{{`..\x`, 0o644, ""}}, "has a backslash"},
		{"link", false, []item{{"l", link, "x"}}, "only plain files"},
		{"through a link", true, []item{{"d/keep", 0o644, ""}, {"l", link, "d"}, {"l/x", 0o644, "x"}}, "twice"},
		{"twice", true, []item{{"a", 0o644, ""}, {"./a", 0o644, ""}}, "twice"},
		{"file as directory", true, []item{{"a", 0o644, ""}, {"a/b", 0o644, ""}}, "twice"},
		{"too many", true, many, "more than 10"},
		{"too large", true, []item{{"a", 0o644, strings.Repeat("x", 600)}, {"b", 0o644, strings.Repeat("x", 600)}}, "more than 1000 bytes"},
	} {
		for kind, make := range map[string]func(*testing.T, ...item) []byte{"zip": zipOf, "tar": tarOf} {
			t.Run(x.name+"/"+kind, func(t *testing.T) {
				o := limits
				if x.links {
					o.Links = func(string) {}
				}
				if got, err := unpack(t, make(t, x.items...), o); err == nil || !strings.Contains(err.Error(), x.want) || len(got) > 0 {
					t.Errorf("%v: %q", err, got)
				}
			})
		}
	}
	for name, data := range map[string][]byte{
		"hard link": tarOf(t, item{"a", 0o644, ""}, item{"h", fs.ModeIrregular, "a"}), "device": tarOf(t, item{"d", fs.ModeDevice, ""}),
	} {
		if got, err := unpack(t, data, limits); err == nil || !strings.Contains(err.Error(), "only plain files") || len(got) > 0 {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
	whole := zipOf(t, item{"a", 0o644, strings.Repeat("abc", 100)})
	for _, data := range [][]byte{nil, []byte("PK"), []byte("<html>not found</html>"), whole[:len(whole)-5], tarOf(t, item{"a", 0o644, "abcdefgh"})[:40]} {
		if got, err := unpack(t, data, limits); err == nil || len(got) > 0 {
			t.Errorf("%.10q: %v, %q", data, err, got)
		}
	}
}

// An archive whose contents are far larger than the archive is rejected: plain, as a sparse tar file, and streamed.
func TestBombs(t *testing.T) {
	zeros := strings.Repeat("\x00", 40<<20)
	o := Options{Bytes: 1 << 40, Files: 10}
	for name, data := range map[string][]byte{"zip": zipOf(t, item{"a", 0o644, zeros}), "tar.gz": tarOf(t, item{"a", 0o644, zeros}), "holes": sparse(t)} {
		if got, err := unpack(t, data, o); err == nil || !strings.Contains(err.Error(), "more than 100 times larger") || len(got) > 0 {
			t.Errorf("%s: %v, %q", name, err, got)
		}
	}
	if err := alike(t, zipOf(t, item{"a", 0o644, zeros}), 1<<16, o); err == nil || !strings.Contains(err.Error(), "more than 100 times larger") {
		t.Error(err)
	}
	nested := zipOf(t, item{"inner.zip", 0o644, string(zipOf(t, item{"a", 0o644, zeros}))})
	if got, err := unpack(t, nested, o); err != nil || len(got) != 2 { // the inner archive stays packed
		t.Errorf("%v, %q", err, got)
	}
}

// sparse returns a tar file with one sparse file of 4 GiB, in the old GNU format. The file has one byte of data at its
// end.
func sparse(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "a", Mode: 0o644, Size: 1, Typeflag: tar.TypeReg, Format: tar.FormatGNU}); err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "x")
	w.Close()
	head := b.Bytes()[:512]
	head[156] = tar.TypeGNUSparse
	copy(head[386:], fmt.Sprintf("%011o\x00%011o\x00", int64(4<<30-1), 1)) // offset and length of the data
	copy(head[483:], fmt.Sprintf("%011o\x00", int64(4<<30)))               // size of the whole file
	copy(head[148:], "        ")
	sum := 0
	for _, c := range head {
		sum += int(c)
	}
	copy(head[148:], fmt.Sprintf("%06o\x00 ", sum))
	return b.Bytes()
}

// An existing directory remains until the new directory is complete.
func TestReplaces(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "to")
	path := filepath.Join(dir, "archive")
	for _, x := range []struct {
		data []byte
		want string
	}{{zipOf(t, item{"one", 0o644, ""}), "one"}, {[]byte("PK broken"), "one"}, {tarOf(t, item{"two", 0o644, ""}), "two"}} {
		if err := os.WriteFile(path, x.data, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = Unpack(path, to, limits)
		if entries, err := os.ReadDir(to); err != nil || len(entries) != 1 || entries[0].Name() != x.want {
			t.Errorf("%v: %v", err, entries)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	t := &testing.T{}
	f.Add(zipOf(t, item{"a/b", 0o644, "x"}, item{"l", fs.ModeSymlink, "a"}))
	f.Add(tarOf(t, item{"a/b", 0o644, "x"}, item{"l", fs.ModeSymlink, "a"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		o := limits
		o.Links = func(string) {}
		got, err := unpack(t, data, o)
		for _, name := range got {
			if err != nil || !strings.HasPrefix(name, "to") {
				t.Errorf("%v: %q", err, got)
			}
		}
	})
}
