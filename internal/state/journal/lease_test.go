package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// named are the leases that a journal says are open.
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

// Leases are named from before they are opened until they are closed, also in a journal that another
// run goes on with, after a torn end, and where the state is another one by now.
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
	w.Over(a)
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
	w.Over(b)
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
