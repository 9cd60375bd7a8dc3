package querycmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/config/style"
	"github.com/lethe-iac/lethe/internal/engine/querying"
)

// TestWholeBlocks checks that the file of -generate-config-out ends with a whole block at any moment, because the process
// may be killed.
func TestWholeBlocks(t *testing.T) {
	g := &generated{path: filepath.Join(t.TempDir(), "g.tf")}
	for n := range 200 {
		r := &querying.Result{Block: &style.Generation{}, Resource: fmt.Sprintf("resource \"t\" \"n%d\" {\n}\n", n), Import: "import {\n}\n"}
		if err := g.add(r); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(g.path)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 0 && !strings.HasSuffix(string(text), "\nimport {\n}\n") {
			t.Fatalf("after %d results: ...%s", n+1, text[max(0, len(text)-40):])
		}
	}
	if err := g.flush(); err != nil {
		t.Fatal(err)
	}
	if err := g.file.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(g.path); err != nil || strings.Count(string(text), "resource") < 200 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
