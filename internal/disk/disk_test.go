//go:build unix

package disk_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "file")
	for _, text := range []string{"one", "", "three"} {
		if err := disk.Replace(disk.OS, path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	if err := disktest.Private(path); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || disktest.Modes && info.Mode().Perm() != disk.DirMode {
		t.Errorf("%v %v", info, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("beside the file there is %v", left)
	}
}

// TestReplaceShared checks that the umask determines the mode of a shared file, and not the mode of other files.
func TestReplaceShared(t *testing.T) {
	dir := t.TempDir()
	shared, own := filepath.Join(dir, "shared"), filepath.Join(dir, "own")
	if err := errors.Join(disk.ReplaceShared(disk.OS, shared, []byte("a")), disk.Replace(disk.OS, own, []byte("a")), os.WriteFile(filepath.Join(dir, "usual"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	mode := func(path string) fs.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	if want := mode(filepath.Join(dir, "usual")); mode(shared) != want {
		t.Errorf("the mode of a shared file is %v, and that of others %v", mode(shared), want)
	}
	if mode(own) != disk.FileMode {
		t.Errorf("the mode of another file is %v", mode(own))
	}
}

// TestReplaceFails makes each call fail: the file has the old or the new content, and no other file remains.
func TestReplaceFails(t *testing.T) {
	for at := 1; ; at++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		faults := &disktest.Faults{FS: disk.OS, At: at, Err: syscall.ENOSPC, Half: true}
		err := disk.Replace(faults, path, []byte("new"))
		if faults.Calls() < at {
			break
		}
		got, readErr := os.ReadFile(path)
		if readErr != nil || string(got) != "old" && string(got) != "new" || err == nil {
			t.Errorf("call %d (%s) failed: %v, and there is %q, %v", at, faults.Last(), err, got, readErr)
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Errorf("call %d (%s) failed: %v is left", at, faults.Last(), left)
		}
	}
}

// TestReplaceBy checks that a file written in parts is complete, or that the old content remains and no other file.
func TestReplaceBy(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	no := errors.New("no")
	for _, c := range []struct {
		text string
		fail error
		want string
	}{{"one", nil, "one"}, {"two", no, "one"}, {"three", nil, "three"}} {
		err := disk.ReplaceBy(disk.OS, path, func(w io.Writer) error {
			for _, b := range []byte(c.text) {
				if _, err := w.Write([]byte{b}); err != nil {
					return err
				}
			}
			return c.fail
		})
		if got, readErr := os.ReadFile(path); string(got) != c.want || readErr != nil || !errors.Is(err, c.fail) {
			t.Errorf("%s: %v, and there is %q, %v", c.text, err, got, readErr)
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Errorf("%s: beside the file there is %v", c.text, left)
		}
	}
}

func TestReplaceRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	no := errors.New("no")
	if _, err := disk.ReplaceWith(disk.OS, path, []byte("new"), func(disk.File) error { return no }); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
	if data, err := disk.Read(disk.OS, path); data != nil || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	f, err := disk.ReplaceWith(disk.OS, path, []byte("new"), func(disk.File) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	is, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if at, err := os.Stat(path); err != nil || !os.SameFile(is, at) {
		t.Errorf("the open file is not the one in place: %v", err)
	}
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for link, to := range map[string]string{"a": "b", "b": at("c"), "loop": "loop"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, exists := range []bool{false, true} {
		if exists {
			if err := os.WriteFile(at("c"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := disk.Resolve(disk.OS, at("a")); err != nil || got != at("c") {
			t.Errorf("%s, %v", got, err)
		}
	}
	for _, bad := range []string{"loop", ""} {
		if got, err := disk.Resolve(disk.OS, at(bad)); err == nil {
			t.Errorf("%q leads to %s", bad, got)
		}
	}
}

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "log")
	f, err := disk.Append(disk.OS, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a", "b"} {
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(f.DataSync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := disk.Read(disk.OS, path); err != nil || !bytes.Equal(got, []byte("ab")) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := disk.Append(disk.OS, path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an existing file was opened: %v", err)
	}
}

// TestReplacePipe checks that a pipe receives the data and remains a pipe, also behind a symbolic link.
func TestReplacePipe(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(pipe, link)); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		text, _ := os.ReadFile(pipe)
		got <- string(text)
	}()
	if err := disk.Replace(disk.OS, link, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Fatal(info, err)
	}
	if text := <-got; text != "text" {
		t.Errorf("%q", text)
	}
}

// TestSweepOld checks that the next write removes an old temporary file of a killed process, and no other file.
func TestSweepOld(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{".p.0011223344556677.tmp": 2 * time.Hour, ".p.0011223344556688.tmp": 0, ".q.0011223344556677.tmp": 2 * time.Hour, ".p.x.tmp": 2 * time.Hour} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(name, []byte("canary-4711"), 0o600), os.Chtimes(name, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.Replace(disk.OS, filepath.Join(dir, "p"), nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if want := []string{".p.0011223344556688.tmp", ".p.x.tmp", ".q.0011223344556677.tmp", "p"}; !slices.Equal(got, want) {
		t.Errorf("there is %q, not %q", got, want)
	}
}
