//go:build unix

package store

import (
	"bytes"
	"errors"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"pgregory.net/rapid"
)

// TestPowerLoss checks that the state after a power failure is complete, was written by some Put, and is not older than
// the last Put that returned.
func TestPowerLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := disktest.NewVolatile()
		choose := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) }
		puts := rapid.IntRange(0, 3).Draw(t, "puts")
		if puts > 0 {
			var v Version
			l := NewLocal(LocalOptions{Dir: "/w", FS: fs})
			for n := 1; n <= puts; n++ {
				next, err := l.Put(ctx, Default, stateText(n), v)
				if err != nil {
					t.Fatal(err)
				}
				v = next
			}
		}
		// The next Put is interrupted at some call.
		faults := &disktest.Faults{FS: fs, At: rapid.IntRange(1, 30).Draw(t, "call"), Err: errors.New("off"), Dead: true, Half: true}
		l := NewLocal(LocalOptions{Dir: "/w", FS: faults})
		_, v, _ := l.Get(ctx, Default)
		_, err := l.Put(ctx, Default, stateText(puts+1), v)

		after := NewLocal(LocalOptions{Dir: "/w", FS: fs.Crash(choose)})
		data, _, getErr := after.Get(ctx, Default)
		old := puts == 0 && data == nil || puts > 0 && bytes.Equal(data, stateText(puts))
		if isNew := bytes.Equal(data, stateText(puts+1)); getErr != nil || !old && !isNew || err == nil && !isNew {
			t.Fatalf("after %d puts and one that said %v there is %q, %v", puts, err, data, getErr)
		}
		if bak, _ := disk.Read(fs, "/w/terraform.tfstate.backup"); bak != nil && !bytes.Equal(bak, stateText(puts-1)) && !bytes.Equal(bak, stateText(puts)) && puts > 0 && !bytes.Equal(bak, stateText(1)) {
			t.Fatalf("the backup is %q", bak)
		}
	})
}
