package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
)

// noLinks is a file system without hard links.
type noLinks struct{ disk.FS }

func (noLinks) Link(string, string) error { return errors.ErrUnsupported }

// commands writes one state for each serial between from and to, including both. It writes each state with a new Local,
// like separate commands, and returns the last Local.
func commands(t *testing.T, o LocalOptions, from, to, size int) *Local {
	t.Helper()
	var l *Local
	for n := from; n <= to; n++ {
		l = NewLocal(o)
		_, v, err := l.Get(t.Context(), Default)
		if err == nil {
			_, err = l.Put(t.Context(), Default, former(n, size), v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func former(serial, size int) []byte {
	return fmt.Appendf(nil, "{\"serial\":%d,\"lineage\":\"l\",\"text\":\"%s\"}", serial, strings.Repeat("x", size))
}

func serials(t *testing.T, l *Local) (out []uint64) {
	t.Helper()
	states, err := l.History(t.Context(), Default)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range states {
		if out = append(out, p.Serial); p.Lineage != "l" || p.Time.IsZero() {
			t.Errorf("%+v", p)
		}
	}
	return out
}

// TestFormer checks that replaced states are kept, up to a number and a size, with hard links and without.
func TestFormer(t *testing.T) {
	defer func(n int64) { keptBytes = n }(keptBytes)
	keptBytes = 1 << 20
	for _, fsys := range []disk.FS{disk.OS, noLinks{disk.OS}} {
		o := LocalOptions{Dir: t.TempDir(), FS: fsys}
		if got := serials(t, NewLocal(o)); len(got) != 0 {
			t.Errorf("of nothing: %v", got)
		}
		l := commands(t, o, 1, 25, 10)
		if got := serials(t, l); len(got) != keptStates+1 || got[0] != 25 || got[keptStates] != 25-keptStates {
			t.Errorf("there are %v", got)
		}
		if data, err := l.Former(t.Context(), Default, Past{Serial: 24}); err != nil || !bytes.Equal(data, former(24, 10)) {
			t.Errorf("%q, %v", data, err)
		}
		if data, err := l.Former(t.Context(), Default, Past{Serial: 1}); err != nil || data != nil {
			t.Errorf("%q, %v", data, err)
		}
		l = commands(t, o, 26, 29, 1<<20/3)
		if got := serials(t, l); len(got) != 3 {
			t.Errorf("of large ones there are %v", got)
		}
	}
}

// TestFormerOfOneCommand checks that a command that writes three states keeps both states that it replaces.
func TestFormerOfOneCommand(t *testing.T) {
	o := LocalOptions{Dir: t.TempDir()}
	l := commands(t, o, 1, 1, 1)
	v, err := l.Put(t.Context(), Default, former(2, 1), versionOf(former(1, 1)))
	if err == nil {
		_, err = l.Put(t.Context(), Default, former(3, 1), v)
	}
	if got := serials(t, l); err != nil || fmt.Sprint(got) != "[3 2 1]" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestFormerSealed checks that the first encrypted write encrypts the former states that were kept unencrypted.
func TestFormerSealed(t *testing.T) {
	o := LocalOptions{Dir: t.TempDir()}
	commands(t, o, 1, 3, 1)
	l := NewLocal(o)
	l.SealBackups(func(data []byte) ([]byte, error) {
		return bytes.ReplaceAll(data, []byte("x"), []byte("sealed")), nil
	})
	if _, err := l.Put(t.Context(), Default, former(4, 1), versionOf(former(3, 1))); err != nil {
		t.Fatal(err)
	}
	for n := uint64(1); n < 4; n++ {
		if data, err := l.Former(t.Context(), Default, Past{Serial: n}); err != nil || !bytes.Contains(data, []byte("\"sealed\"")) {
			t.Errorf("%d: %q, %v", n, data, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(o.Dir, ".terraform.tfstate.history"))
	if err != nil || len(entries) != 3 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestFormerNot checks that Put succeeds even if the history cannot be written, and that a store without backups keeps
// no history.
func TestFormerNot(t *testing.T) {
	o := LocalOptions{Dir: t.TempDir()}
	if err := os.WriteFile(filepath.Join(o.Dir, ".terraform.tfstate.history"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	commands(t, o, 1, 3, 1)
	o = LocalOptions{Dir: t.TempDir(), Backup: NoBackup}
	if got := serials(t, commands(t, o, 1, 3, 1)); len(got) != 1 {
		t.Errorf("without a backup there are %v", got)
	}
}

// locked is a file system where the file with a name cannot be read.
type locked struct {
	disk.FS
	name string
}

func (l locked) ReadFile(name string) ([]byte, error) {
	if strings.HasSuffix(name, l.name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return l.FS.ReadFile(name)
}

// TestFormerUnreadable checks that a former state that cannot be read is listed, so that its reader gets the error, and
// that the others are rewritten nevertheless.
func TestFormerUnreadable(t *testing.T) {
	o := LocalOptions{Dir: t.TempDir()}
	commands(t, o, 1, 4, 1)
	o.FS = locked{disk.OS, "-2.tfstate"}
	l := NewLocal(o)
	list, err := l.History(t.Context(), Default)
	if err != nil || len(list) != 4 || list[2].Serial != 2 || list[2].Time.IsZero() {
		t.Fatalf("%+v, %v", list, err)
	}
	if data, err := l.Former(t.Context(), Default, list[2]); err == nil {
		t.Errorf("%q was read", data)
	}
	n, err := l.RewriteFormer(t.Context(), Default, func(serial uint64, _ []byte) ([]byte, error) { return former(int(serial), 2), nil })
	if n != 2 || err == nil || err.Error() != "the former state with the serial 2: permission denied" {
		t.Errorf("%d were changed: %v", n, err)
	}
}

// BenchmarkPut measures the cost of keeping a former state, besides the state and its backup. Each iteration opens the
// store like a new command.
func BenchmarkPut(b *testing.B) {
	for _, backup := range []string{"", NoBackup} {
		b.Run("backup "+backup, func(b *testing.B) {
			dir := b.TempDir()
			v := Version("")
			for i := range b.N {
				l := NewLocal(LocalOptions{Dir: dir, FS: disk.OS, Backup: backup})
				var err error
				if v, err = l.Put(b.Context(), Default, fmt.Appendf(nil, "{\"serial\":%d,\"lineage\":\"l\",\"x\":%01000000d}", i, 0), v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
