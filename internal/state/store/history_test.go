package store

import (
	"fmt"
	"testing"

	"github.com/lethe-iac/lethe/internal/state/disk"
)

// BenchmarkPut measures what a former state costs beside the state and its backup: each opening stands for a
// command.
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
