package journal

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
)

// TestFoundByOneAlone replays the journal of a run that had the state to itself and recorded the previous object of
// each change. If the state has changed since, only changes of objects that are still equal to the recorded previous
// object are applied.
func TestFoundByOneAlone(t *testing.T) {
	base := snapshot(t, "a.changed", "a.overtaken", "a.gone", "a.same")
	path := filepath.Join(t.TempDir(), "j")
	var mu sync.Mutex
	var copied []byte
	var waits []bool
	w := create(t, path, base, Options{Base: base.Get, Copy: func(b []byte, wait bool) {
		mu.Lock()
		defer mu.Unlock()
		copied, waits = append(copied, b...), append(waits, wait)
	}})
	change := func(name string, e *state.Entry) {
		t.Helper()
		op, err := w.Intent(Intent{Object: object(t, name), Action: "update", Provider: provider})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		w.Later(func(err error) { done <- err }, op, Change{object(t, name), e})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	change("a.changed", entry("first"))
	change("a.changed", entry("new"))
	change("a.overtaken", entry("new"))
	change("a.gone", nil)
	change("a.same", entry("new"))
	change("a.made", entry("new"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != string(copied) {
		t.Errorf("the copy is another: %v", err)
	}
	if waits[0] || !slices.Contains(waits, true) || waits[len(waits)-1] {
		t.Errorf("the header and results wait for nothing, intents do: %v", waits)
	}
	e := base.Edit()
	e.Head().Serial++
	e.Put(object(t, "a.overtaken"), entry("another"))
	e.Put(object(t, "a.same"), entry("new"))
	e.Put(object(t, "a.else"), entry("else"))
	now, _ := read(t, e.Done())
	r, err := Replay(data, now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Refused; !slices.Equal(got, []addr.Object{object(t, "a.overtaken")}) {
		t.Errorf("refused are %v", got)
	}
	want := map[string]string{"a.changed": "new", "a.overtaken": "another", "a.same": "new", "a.made": "new", "a.else": "else"}
	for name, id := range want {
		if e := r.Snapshot.Get(object(t, name)); e == nil || e.ID() != id {
			t.Errorf("%s is %v, not %s", name, e, id)
		}
	}
	if r.Snapshot.Len() != len(want) || r.Changes != 3 {
		t.Errorf("%d changes, %v", r.Changes, contents(r.Snapshot))
	}
	// If the state is unchanged, all changes are applied.
	if r, err = Replay(data, base, nil); err != nil || r.Changes != 6 || len(r.Refused) > 0 {
		t.Errorf("%v, %+v", err, r)
	}
}

// TestMovedWhileAlone checks that an object whose previous value was not recorded is not treated as absent. Otherwise a
// moved object would exist twice.
func TestMovedWhileAlone(t *testing.T) {
	base := snapshot(t, "a.x")
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path, base, Options{})
	w.reportFound(Change{Object: object(t, "a.other")})
	w.add(foundRecord, 0, encode(foundJSON{Some: true}), func(error) {})
	if err := w.Result(0, Change{object(t, "a.x"), nil}, Change{object(t, "a.y"), entry("y")}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	e := base.Edit()
	e.Head().Serial++
	now, _ := read(t, e.Done())
	if r, err := Replay(data, now, nil); err != nil || len(r.Refused) != 2 || r.Snapshot.Len() != 1 {
		t.Errorf("%v, %+v", err, r)
	}
}

// TestTakenInByOthers checks that records that another command has replayed are not replayed again, even if the state
// has the recorded previous objects. Later records are replayed.
func TestTakenInByOthers(t *testing.T) {
	base := snapshot(t, "a.x")
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path, base, Options{Base: base.Get})
	change := func(name string, e *state.Entry) {
		t.Helper()
		if err := w.Result(0, Change{object(t, name), e}); err != nil {
			t.Fatal(err)
		}
	}
	change("a.made", entry("new"))
	change("a.late", entry("first"))
	copied, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	change("a.late", entry("second"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	others, err := Replay(copied, base, nil)
	if err != nil || others.Changes != 2 {
		t.Fatalf("%v, %+v", err, others)
	}
	e := others.Snapshot.Edit()
	e.Head().Serial++
	e.Put(object(t, "a.made"), nil)
	now, _ := read(t, e.Done())
	r, err := RecoverRest(disk.OS, path, now, nil, func(h Header) (uint32, error) {
		if h.Name() != others.Header.Name() {
			t.Errorf("asked is for %q", h.Name())
		}
		return others.Records(), nil
	})
	if err != nil || r.Changes != 1 || len(r.Refused) > 0 || r.Snapshot.Get(object(t, "a.made")) != nil || r.Snapshot.Get(object(t, "a.late")).ID() != "second" {
		t.Errorf("%v, %+v", err, r)
	}
}
