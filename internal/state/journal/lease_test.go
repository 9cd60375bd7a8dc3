package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// named returns the leases that are open according to a journal.
func named(t *testing.T, path string, base *state.Snapshot) (out []string) {
	t.Helper()
	r, err := Recover(disk.OS, path, base, nil)
	var mismatch *MismatchError
	switch {
	case errors.As(err, &mismatch):
		for _, l := range mismatch.Leases {
			out = append(out, l.Object)
		}
	case err != nil:
		t.Fatal(err)
	case r != nil:
		for _, l := range r.Leases {
			out = append(out, l.Object)
		}
	}
	return out
}

func equalNames(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %q, want %q", what, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}

// TestLeases checks that a journal lists a lease from before its opening until it is closed. This includes journals
// that another run continues, journals with a torn end, and states that have been replaced.
func TestLeases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path, nil, Options{})
	vault := addr.Default("vault")
	a, err := w.Opening(object(t, "ephemeral.a.x"), vault)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Opening(object(t, "ephemeral.a.y"), vault); err != nil {
		t.Fatal(err)
	}
	equalNames(t, "opened", named(t, path, nil), "ephemeral.a.x", "ephemeral.a.y")
	w.Closed(a)
	if !w.Unsettled() {
		t.Error("all is settled")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	equalNames(t, "one closed", named(t, path, nil), "ephemeral.a.y")

	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write([]byte{0x9e, 'L', 'J', 0x01, 'L', 9})
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	r, err := Recover(disk.OS, path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w, err = r.Continue(path, "run-2", Options{}); err != nil {
		t.Fatal(err)
	}
	b, err := w.Opening(object(t, "ephemeral.a.z"), vault)
	if err != nil {
		t.Fatal(err)
	}
	equalNames(t, "continued", named(t, path, nil), "ephemeral.a.y", "ephemeral.a.z")
	w.Closed(b)
	if w.Unsettled() {
		t.Error("something of the second run is not settled")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	other := (&state.Snapshot{}).Edit()
	other.Head().Lineage = "other"
	moved, _ := read(t, other.Done())
	equalNames(t, "another state", named(t, path, moved), "ephemeral.a.y")
}

// counted is a disk that counts flushes of files.
type counted struct {
	disk.FS
	flushes atomic.Int32
}

type countedFile struct {
	disk.File
	c *counted
}

func (c *counted) OpenFile(name string, flag int, mode fs.FileMode) (disk.File, error) {
	f, err := c.FS.OpenFile(name, flag, mode)
	return &countedFile{f, c}, err
}

func (f *countedFile) DataSync() error {
	f.c.flushes.Add(1)
	return f.File.DataSync()
}

// TestLeasesShareFlushes checks that records of leases share flushes. They are in the file at once, and are durable
// soon even if no record follows. A record of a change makes all earlier records durable.
func TestLeasesShareFlushes(t *testing.T) {
	c := &counted{FS: disktest.NewVolatile()}
	w := create(t, "/w/j", nil, Options{FS: c})
	survives := func() int {
		_, after := recovered(t, c.FS.(*disktest.Volatile).Crash(func(string, int) int { return 0 }))
		return after
	}
	begun, before := time.Now(), c.flushes.Load()
	const leases = 200
	for i := range leases {
		op, err := w.Opening(object(t, fmt.Sprintf("ephemeral.a.x[%d]", i)), addr.Default("vault"))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			w.Closed(op)
		}
	}
	if n := int(c.flushes.Load() - before); n > 1+int(time.Since(begun)/leaseSync) {
		t.Errorf("%d flushes for %d leases in %s", n, leases, time.Since(begun))
	}
	waittest.Until(t, "one lease is open after a crash of the machine", func() bool { return survives() == 1 })
	if _, err := w.Opening(object(t, "ephemeral.a.late"), addr.Default("vault")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Intent(Intent{Object: object(t, "a.x"), Action: "create", Provider: provider}); err != nil {
		t.Fatal(err)
	}
	if n := survives(); n != 2 {
		t.Errorf("%d leases are open after a crash, want 2", n)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func recovered(t *testing.T, fs disk.FS) (changes, leases int) {
	t.Helper()
	r, err := Recover(fs, "/w/j", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		return 0, 0
	}
	return r.Changes, len(r.Leases)
}
