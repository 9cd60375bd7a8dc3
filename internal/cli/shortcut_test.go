package cli_test

import (
	"bytes"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestScriptsWithoutShortcuts runs scripts again with all shortcuts closed: one in ten, or all of
// them with LETHE_LONG set. Which one in ten follows from the names, and which ones those are
// from LETHE_TEST_SAMPLE, such as a commit's hash. Scripts that count calls stay out: that the
// counts differ is what shortcuts are for.
func TestScriptsWithoutShortcuts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	p := params(func(e *testscript.Env) error {
		e.Setenv(shortcut.Variable, "all")
		return setup(e)
	})
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("\ncalls ")) && !bytes.Contains(text, []byte("sshd")) && (os.Getenv("LETHE_LONG") != "" || oneInTen(f)) {
			p.Files = append(p.Files, f)
		}
	}
	t.Logf("%d of %d scripts", len(p.Files), len(files))
	testscript.Run(t, p)
}

func oneInTen(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(filepath.Base(name) + os.Getenv("LETHE_TEST_SAMPLE")))
	return h.Sum32()%10 == 0
}
