package base

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/shortcut"
)

// Lines wait where no terminal is watched, unless that shortcut is closed; questions come after
// what was said before them.
func TestHeldLines(t *testing.T) {
	for list, held := range map[string]bool{"": true, "lines": false, "all": false, "wire": true} {
		var out, errOut bytes.Buffer
		e := &Env{Stdin: bytes.NewBufferString("yes\n"), Stdout: &out, Stderr: &errOut, Environ: []string{shortcut.Variable + "=" + list}}
		s := NewScreen(&Call{Env: e, Command: &Command{Name: "apply", Stream: true}, Secrets: &secret.Set{}})
		if got := s.held != nil; got != held {
			t.Errorf("%q closed: held %t", list, got)
		}
		if held {
			s.held.Later("progress\n")
		}
		if yes, answered := s.Confirm("Go on?", ""); !yes || !answered {
			t.Error("the answer was not read")
		}
		if text := out.String(); held && (!strings.HasPrefix(text, "progress\n") || !strings.Contains(text, "Go on?")) {
			t.Errorf("got %q", text)
		}
		s.Finish()
	}
}
