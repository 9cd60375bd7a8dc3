//go:build linux

package fetch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// old creates a file. Before the test compares its times, it must wait until they are old enough, because a program
// cannot set the ctime.
func old(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestHashOfCheckedPackage checks that a package is read again if an attribute of its files has changed or the record
// is damaged, and otherwise is not read.
func TestHashOfCheckedPackage(t *testing.T) {
	data, pkg := t.TempDir(), t.TempDir()
	link := filepath.Join(data, "package")
	if err := os.Symlink(pkg, link); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(pkg, "terraform-provider-x")
	old(t, program, "one")
	p := &Providers{DataDir: data}
	hash := func() string {
		t.Helper()
		h, err := p.hash(link)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	first := hash()
	if _, err := os.Stat(p.record().path); err == nil {
		t.Fatal("files that have just been written are taken for known")
	}
	waittest.Until(t, "the files are old enough", func() bool { return settled(identify(link)) })
	if hash() != first {
		t.Fatal("the hash changed by itself")
	}
	if _, err := os.Stat(p.record().path); err != nil {
		t.Fatal(err)
	}

	// The record gets a wrong hash. If this hash is the result, the package was not read.
	lie := func() { p.record().write(map[string]checked{link: {Hash: "h1:lie", Files: identify(link)}}) }
	lie()
	if got := hash(); got != "h1:lie" {
		t.Errorf("the package is read though its files are the same: %s", got)
	}
	p.Disabled = shortcut.Packages
	if got := hash(); got != first {
		t.Errorf("the shortcut is taken though it is closed: %s", got)
	}
	p.Disabled = 0

	stamp := time.Now().Add(-time.Hour)
	for what, change := range map[string]func() error{
		"another text of the same length, with its time set back": func() error {
			info, _ := os.Stat(program)
			return later(os.WriteFile(program, []byte("two"), 0o755), os.Chtimes(program, stamp, info.ModTime()))
		},
		"another file in its place": func() error {
			old(t, program+".new", "one")
			return os.Rename(program+".new", program)
		},
		"a new file":         func() error { return os.WriteFile(filepath.Join(pkg, "README"), nil, 0o644) },
		"a file less":        func() error { return os.Remove(filepath.Join(pkg, "README")) },
		"another mode":       func() error { return os.Chmod(program, 0o700) },
		"another package":    func() error { return later(os.Remove(link), os.Symlink(t.TempDir(), link)) },
		"a record in pieces": func() error { return os.Truncate(p.record().path, 10) },
	} {
		if what == "a file less" {
			old(t, filepath.Join(pkg, "README"), "")
		}
		lie()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if got := hash(); got == "h1:lie" {
			t.Errorf("%s goes unnoticed", what)
		}
		if what == "another package" {
			if err := later(os.Remove(link), os.Symlink(pkg, link)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func later(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
