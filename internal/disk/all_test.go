package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
)

// three writes three files, and returns edits of them.
func three(t *testing.T) []disk.Edit {
	t.Helper()
	dir := t.TempDir()
	var out []disk.Edit
	for _, name := range []string{"a", "b", "c"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("old "+name), 0o640); err != nil {
			t.Fatal(err)
		}
		out = append(out, disk.Edit{Path: path, Old: []byte("old " + name), New: []byte("new " + name)})
	}
	return out
}

// contents returns the first words of the contents, and fails if other files exist or a mode has changed.
func contents(t *testing.T, edits []disk.Edit) string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(edits[0].Path))
	if err != nil || len(entries) != len(edits) {
		t.Errorf("%v, %v", entries, err)
	}
	var out []string
	for _, e := range edits {
		text, err := os.ReadFile(e.Path)
		if err != nil {
			t.Fatal(err)
		}
		if info, _ := os.Stat(e.Path); disktest.Modes && info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v", e.Path, info.Mode())
		}
		out = append(out, strings.Fields(string(text))[0])
	}
	return strings.Join(out, " ")
}

// TestReplaceAll makes each call fail: all files have the new contents, or all have the old ones.
func TestReplaceAll(t *testing.T) {
	for n := 1; ; n++ {
		edits := three(t)
		faults := &disktest.Faults{FS: disk.OS, At: n, Err: errors.New("fault")}
		err := disk.ReplaceAll(faults, edits)
		if got := contents(t, edits); err == nil && got != "new new new" || err != nil && got != "old old old" {
			t.Errorf("%d (%s): %s: %v", n, faults.Last(), got, err)
		}
		if faults.Calls() < n {
			break
		}
	}
}

func TestReplaceAllKeepsFilesThatOthersHaveChanged(t *testing.T) {
	edits := three(t)
	if err := os.WriteFile(edits[2].Path, []byte("other"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := disk.ReplaceAll(disk.OS, edits); err == nil || contents(t, edits) != "old old other" {
		t.Error(err)
	}
}
