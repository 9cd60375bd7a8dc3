package cli_test

import (
	"bytes"
	"hash/fnv"
	"os"
	"testing"

	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/rogpeppe/go-internal/testscript"
)

// testWithoutShortcuts runs scripts again with all shortcuts (optimizations that do not change results) disabled: one
// in ten, or all of them with LETHE_LONG. The sample depends on the names and on LETHE_TEST_SAMPLE, such as the hash of
// a commit. Scripts that count calls are excluded, because shortcuts change the counts on purpose.
func testWithoutShortcuts(t *testing.T) {
	t.Parallel()
	p := params(func(e *testscript.Env) error {
		e.Setenv(shortcut.Variable, "all")
		return setup(e)
	})
	servers(t, p)
	all := scripts(t)
	var list []script
	for _, s := range all {
		if !bytes.Contains(s.text, []byte("\ncalls ")) && !bytes.Contains(s.text, []byte("sshd")) && (os.Getenv("LETHE_LONG") != "" || oneInTen(s.name)) {
			list = append(list, s)
		}
	}
	t.Logf("%d of %d scripts", len(list), len(all))
	runScripts(t, p, list)
}

func oneInTen(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(name + os.Getenv("LETHE_TEST_SAMPLE")))
	return h.Sum32()%10 == 0
}
