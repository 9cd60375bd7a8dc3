package base

import (
	"bytes"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/secret"
)

// Questions are printed after earlier lines, and their answers are read from standard input.
func TestConfirm(t *testing.T) {
	var out bytes.Buffer
	e := &Env{Stdin: bytes.NewBufferString("yes\n"), Stdout: &out, Stderr: &out}
	s := NewScreen(&Call{Env: e, Command: &Command{Name: "apply", Stream: true}, Secrets: &secret.Set{}})
	s.Line("progress")
	if yes, answered := s.Confirm("Go on?", "", "go on"); !yes || !answered {
		t.Error("the answer was not read")
	}
	if text := out.String(); !strings.HasPrefix(text, "progress\n") || !strings.Contains(text, "Go on?") {
		t.Errorf("got %q", text)
	}
}
