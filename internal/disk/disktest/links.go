package disktest

import (
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
)

// NeedLinks skips a test if the system cannot create symbolic links, such as Windows without the right to do so.
func NeedLinks(t testing.TB) {
	t.Helper()
	if err := disk.Symlink("target", filepath.Join(t.TempDir(), "link")); err != nil {
		t.Skip("the system cannot create symbolic links: ", err)
	}
}
