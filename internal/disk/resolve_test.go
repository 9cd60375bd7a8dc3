package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
)

// TestResolveInLinkedDirectory: ".." in a link means the parent of the real directory that the link is in, as for the
// system, however the path leads to the link.
func TestResolveInLinkedDirectory(t *testing.T) {
	disktest.NeedLinks(t)
	top := t.TempDir()
	for _, dir := range []string{"real/deep/b", "real/deep/a", "place/far"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"place/link": "../real/deep/b", "place/abs": filepath.Join(top, "real/deep/b"), "place/far/two": "../link", "place/loop": "loop",
		"real/deep/b/state": "../a/state", "real/deep/b/again": "../../../place/link/state",
	} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	want := filepath.Join(top, "real/deep/a/state")
	t.Chdir(filepath.Join(top, "place/far"))
	for _, path := range []string{
		top + "/real/deep/b/state", top + "/place/link/state", top + "/place/abs/state", top + "/place/far/two/state", top + "/place/link/again",
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
	for _, path := range []string{"real/deep/b/state", "place/link/state", "place/link/again", "real/deep/a/state"} {
		if got := disk.Real(disk.OS, filepath.Join(top, path)); got != want {
			t.Errorf("the real path of %s is %s", path, got)
		}
	}
	// Neither the directory new nor the file exists.
	if got := disk.Real(disk.OS, top+"/place/link/new/state"); got != filepath.Join(top, "real/deep/b/new/state") {
		t.Errorf("the real path of a new file is %s", got)
	}
	if got, err := disk.Resolve(disk.OS, top+"/place/loop/state"); err == nil {
		t.Errorf("a loop leads to %s", got)
	}
}
