package journal

import (
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
)

// TestUnsettledBesideAnotherProvider: a run created one instance with another provider and crashed while it created the
// second one. Then the state has both providers. Terraform reads that provider for both instances. In both cases, the
// outcome of the second call is still unknown.
func TestUnsettledBesideAnotherProvider(t *testing.T) {
	base := snapshot(t, `a.b["q"]`, `a.b["r"]`)
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path, base, Options{})
	var calls [2]Op
	for i, key := range []string{"q", "r"} {
		var err error
		if calls[i], err = w.Intent(Intent{Object: object(t, `a.b["`+key+`"]`), Action: "create"}); err != nil {
			t.Fatal(err)
		}
	}
	made := entry("new")
	made.Provider = addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("x"), Alias: "west"}}
	if err := w.Result(calls[0], Change{object(t, `a.b["q"]`), made}); err != nil {
		t.Fatal(err)
	}
	w.file.Close()
	r, err := Recover(disk.OS, path, base, nil)
	if err != nil {
		t.Fatal(err)
	}
	now, _ := read(t, r.Snapshot)
	second := object(t, `a.b["r"]`)
	if p := now.Get(second).Provider; p != base.Get(second).Provider {
		t.Fatalf("the second instance has %s", p)
	}
	edit, as := now.Edit(), *now.Get(second)
	as.Provider = made.Provider
	edit.Put(second, &as)
	for _, s := range []*state.Snapshot{now, edit.Done()} {
		if left := r.Notes.Unsettled(s, true).Unknown; len(left) != 1 {
			t.Errorf("unsettled are %v", left)
		}
	}
}

// TestUnsettledUntilRefreshed: a run crashed while it updated one object and destroyed another. Both calls stay
// unsettled for consecutive commands without a refresh, until the state has another object there.
func TestUnsettledUntilRefreshed(t *testing.T) {
	base := snapshot(t, `a.b["q"]`, `a.b["r"]`)
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path, base, Options{})
	for key, action := range map[string]string{"q": "update", "r": "delete"} {
		if _, err := w.Intent(Intent{Object: object(t, `a.b["`+key+`"]`), Action: action}); err != nil {
			t.Fatal(err)
		}
	}
	w.file.Close()
	r, err := Recover(disk.OS, path, base, nil)
	for range 2 {
		if err != nil || r == nil {
			t.Fatal(r, err)
		}
		left := r.Notes.Unsettled(base, false)
		if len(left.Unknown) != 2 || !r.Notes.Unsettled(base, true).Empty() {
			t.Fatalf("unsettled are %v", r.Notes)
		}
		path = filepath.Join(t.TempDir(), "next") // the journal of a command that recovers the run
		next := create(t, path, base, Options{Carry: left})
		if err := next.Close(); err != nil {
			t.Fatal(err)
		}
		r, err = Recover(disk.OS, path, base, nil)
	}
	e := base.Edit()
	e.Put(object(t, `a.b["r"]`), nil)
	if left := r.Notes.Unsettled(e.Done(), false).Unknown; len(left) != 1 || left[0].Action != "update" {
		t.Errorf("unsettled are %v", left)
	}
}
