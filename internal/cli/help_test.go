package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/manual"
)

// TestGlobalOptions checks that help and the manual page of the program list all options that come before a command,
// and that completion offers each of them.
func TestGlobalOptions(t *testing.T) {
	help, page := usage(), manual.Overview(Manual(), GlobalOptions(), "1.0.0")
	for _, o := range GlobalOptions() {
		if !strings.Contains(help, "\n  "+o.Left()+" ") || !strings.Contains(page, "\n.B "+strings.ReplaceAll(o.Left(), "-", "\\-")+"\n") {
			t.Errorf("help or the manual page lacks %s:\n%s%s", o.Name, help, page)
		}
		if !slices.ContainsFunc(globalOptions, func(name string) bool { return strings.TrimSuffix(name, "=") == o.Name }) {
			t.Errorf("completion does not offer %s", o.Name)
		}
	}
}

// TestHelp checks that no line of -help is wider than the terminal, except commands and preformatted text. Each command
// has an example, and each example uses an existing command with options of this command.
func TestHelp(t *testing.T) {
	for _, cmd := range commands() {
		if len(cmd.Examples) == 0 && !cmd.Hidden {
			t.Errorf("%s -help has no example", cmd.Name)
		}
		for _, width := range []int{40, 60, 80, 120} {
			about, _ := (&base.Env{Environ: []string{fmt.Sprintf("LETHE_COLUMNS=%d", width)}}).New(cmd)
			text := about.Help()
			for _, part := range about.About().Text {
				if part.LaidOut && width < 80 {
					text = strings.ReplaceAll(text, "  "+strings.ReplaceAll(part.Text, "\n", "\n  "), "")
				}
			}
			for line := range strings.Lines(text) {
				if n := len([]rune(line)) - 1; n > min(width, 80) && strings.Contains(strings.TrimSpace(line), " ") && !strings.Contains(line, "lethe ") {
					t.Errorf("%s -help has a line of %d columns at %d: %s", cmd.Name, n, width, line)
				}
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
