package cli

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base"
)

// TestHelp: no line of any -help is wider than a terminal, and every example is a command that there is, with options
// that it has.
func TestHelp(t *testing.T) {
	for _, cmd := range commands() {
		about, _ := (&base.Env{}).New(cmd)
		for line := range strings.Lines(about.Help()) {
			if n := len([]rune(line)); n > 81 && !strings.HasPrefix(line, "Usage: ") && !strings.HasPrefix(line, "  lethe ") {
				t.Errorf("%s -help has a line of %d columns: %s", cmd.Name, n, line)
			}
		}
		for _, e := range cmd.Examples {
			_, args, _ := strings.Cut(e[0], "lethe ")
			args, _, _ = strings.Cut(args, " | ")
			args, _, _ = strings.Cut(args, " > ")
			words := strings.Fields(strings.ReplaceAll(args, "'", ""))
			shown, rest := find(words)
			if shown == nil {
				t.Errorf("%s -help: there is no command %q", cmd.Name, e[0])
				continue
			}
			c, _ := (&base.Env{}).New(shown)
			for _, w := range rest {
				name, _, _ := strings.Cut(strings.TrimPrefix(w, "-"), "=")
				if name != "" && strings.HasPrefix(w, "-") && c.Flags.Lookup(name) == nil {
					t.Errorf("%s -help: %q: there is no option -%s", cmd.Name, e[0], name)
				}
			}
		}
	}
}
