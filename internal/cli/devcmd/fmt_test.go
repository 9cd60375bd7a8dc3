package devcmd

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"os"

	"pgregory.net/rapid"
)

// TestUnifiedIsADifference checks that the program patch can apply the output of the function unified, the difference
// of two texts.
func TestUnifiedIsADifference(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch here")
	}
	dir := t.TempDir()
	text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "d"}), 0, 14), func(lines []string) []byte {
		return []byte(strings.Join(lines, ""))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		if bytes.Equal(a, b) {
			return
		}
		name := filepath.Join(dir, "x")
		if err := os.WriteFile(name, a, 0o600); err != nil {
			t.Fatal(err)
		}
		d := unified("x", a, b)
		cmd := exec.Command("patch", "-s", "-o", "-", name)
		cmd.Stdin = strings.NewReader(d)
		got, err := cmd.Output()
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%v: %q, not %q, by:\n%s", err, got, b, d)
		}
	})
}
