package combine

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStateThatCannotBeRead checks that only a missing or an empty file is an empty state.
func TestStateThatCannotBeRead(t *testing.T) {
	x := &side{dir: t.TempDir()}
	path := filepath.Join(x.dir, "terraform.tfstate")
	read := func(good bool) {
		t.Helper()
		if s, err := x.state(); (err == nil) != good || good && len(s.Resources) > 0 {
			t.Errorf("%+v, %v", s, err)
		}
	}
	read(true)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	read(false)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for text, good := range map[string]bool{"": true, "{}": true, "{": false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		read(good)
	}
}
