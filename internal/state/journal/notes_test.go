package journal

import (
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/state/disk"
)

// A run made an instance with another provider, and was lost while it made the second one. In the state both have that
// provider then, and nothing is known of the second one for all that.
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
	if p := now.Get(object(t, `a.b["r"]`)).Provider; p != made.Provider {
		t.Fatalf("the second instance has %s", p)
	}
	if left := r.Notes.Unsettled(now).Unknown; len(left) != 1 {
		t.Errorf("unsettled are %v", left)
	}
}
