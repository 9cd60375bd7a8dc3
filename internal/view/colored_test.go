package view

import (
	"testing"

	"github.com/lethe-iac/lethe/internal/secret"
)

// TestColored checks that the output of provisioners may set colours, and that all other control sequences are escaped.
func TestColored(t *testing.T) {
	var secrets secret.Set
	secrets.Add("canary-7301", secret.Origin{})
	for s, want := range map[string][2]string{ // without colours, with colours
		"plain":                          {"plain", "plain"},
		"\x1b[32mok\x1b[0m: [web]":       {"ok: [web]", "\x1b[32mok\x1b[0m: [web]" + reset},
		"\x1b[38;5;9mred":                {"red", "\x1b[38;5;9mred" + reset},
		"\x1b[2J\x1b]0;title\a":          {`\u{1b}[2J\u{1b}]0;title\u{07}`, `\u{1b}[2J\u{1b}]0;title\u{07}`},
		"\x1b[1mcanary\x1b[0m-7301":      {secrets.Scrub("canary-7301"), secrets.Scrub("canary-7301")},
		"\x1b[31mcanary-7301\x1b[0m end": {secrets.Scrub("canary-7301") + " end", secrets.Scrub("canary-7301") + " end"},
	} {
		for i, color := range []bool{false, true} {
			if got := (Options{Color: color, Scrub: secrets.Scrub}).colored(s); got != want[i] {
				t.Errorf("%q becomes %q, want %q", s, got, want[i])
			}
		}
	}
}
