//go:build linux

package fetch

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/shortcut"
)

// TestStoreIsReadOnce checks that a package of the store is not read while its files are unchanged, in the store and in
// all directories with links to it. If one of the directories is removed, the package is read once.
func TestStoreIsReadOnce(t *testing.T) {
	_, s, p := asks(t)
	s.fine(s.from(p))
	l := s.lockfile()
	lock, _ := l.Get(p)
	st := s.p.store()
	sum := sums(lock)[0]
	dir := st.of(sum)
	right := st.known(dir).Hash
	// A wrong hash in the record shows that a package is not read.
	lie := func() {
		t.Helper()
		k := st.known(dir)
		k.Hash = "h1:lie"
		text, err := json.Marshal(k)
		if err == nil {
			err = replace(st.record(dir), text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	lie()
	if got := st.find(sum); got != "h1:lie" {
		t.Errorf("after it was installed it is read: %q", got)
	}
	installed := packageDir(s.p.base(), p, "1.0.0")
	if got := st.linked(installed, lock); got != "h1:lie" {
		t.Errorf("in the directory it is read: %q", got)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := st.link(dir, other); err != nil {
		t.Fatal(err)
	}
	if got := st.linked(installed, lock); got != "h1:lie" {
		t.Errorf("another directory has it, and it is read: %q", got)
	}
	s.p.Disabled = shortcut.Packages
	if got := s.p.store().find(sum); got != "" || s.p.store().linked(installed, lock) != "" {
		t.Errorf("the shortcut is taken though it is closed: %q", got)
	}
	s.p.Disabled = 0
	st.keep(dir, right)
	if err := os.RemoveAll(other); err != nil {
		t.Fatal(err)
	}
	if got := st.find(sum); got != right {
		t.Errorf("after a directory was removed: %q", got)
	}
	lie()
	if got := st.find(sum); got != "h1:lie" {
		t.Errorf("it is read again: %q", got)
	}
	st.keep(dir, right)
	if err := s.p.Verify(p, l); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.p.record().path); err == nil {
		t.Error("what the store knows is written down a second time")
	}
}
