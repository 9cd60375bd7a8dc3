package journal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// TestOneJournalForEachPath checks that a run that uses a symbolic link to the state finds the journal of a run that
// used the real path.
func TestOneJournalForEachPath(t *testing.T) {
	disktest.NeedLinks(t)
	dir := t.TempDir()
	state, link, missing := filepath.Join(dir, "terraform.tfstate"), filepath.Join(dir, "link.tfstate"), filepath.Join(dir, "none", "x")
	if err := os.Symlink("terraform.tfstate", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{state, link} {
		if got := journal.Path(path); got != state+".journal" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := journal.Path(missing); got != missing+".journal" {
		t.Error(got)
	}
}
