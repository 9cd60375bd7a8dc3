package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
)

// TestResolveInLinkedDirectory: ".." in a link means the parent of the real directory that the link is in, as for the
// system, however the path leads to the link.
func TestResolveInLinkedDirectory(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"real/deep/b", "real/deep/a", "work/far"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"work/link": "../real/deep/b", "work/abs": filepath.Join(top, "real/deep/b"), "work/far/two": "../link", "work/loop": "loop",
		"real/deep/b/state": "../a/state", "real/deep/b/again": "../../../work/link/state",
	} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	want := filepath.Join(top, "real/deep/a/state")
	t.Chdir(filepath.Join(top, "work/far"))
	for _, path := range []string{
		top + "/real/deep/b/state", top + "/work/link/state", top + "/work/abs/state", top + "/work/far/two/state", top + "/work/link/again",
		"../link/state", "two/state", "../far/two/again", "../../real/deep/b/state",
	} {
		got, err := disk.Resolve(disk.OS, path)
		if err == nil {
			got, err = filepath.Abs(got)
		}
		if err != nil || got != want {
			t.Errorf("%s leads to %s, %v", path, got, err)
		}
	}
	if got, err := disk.Resolve(disk.OS, top+"/work/loop/state"); err == nil {
		t.Errorf("a loop leads to %s", got)
	}
}
