package comment

import (
	"strings"
	"testing"
)

// TestShorten checks that a block of any form keeps the limit, also if only one of its two parts is long.
func TestShorten(t *testing.T) {
	const notices = 300
	for _, n := range []int{0, 100, 250, 1000, 16384} {
		for width := 1; width < 120; width++ {
			line := "- " + strings.Repeat("x", width) + "\n"
			list := strings.Repeat(line, 40_000/len(line))
			for name, b := range map[string]block{
				"text": {text: list}, "lines": {lines: list}, "both": {text: list, lines: list}, "one line": {lines: strings.Repeat("x", 40_000)},
			} {
				b.shorten(n)
				if got := len(b.text) + len(b.lines); got > max(n, notices) {
					t.Fatalf("%s with lines of %d bytes: %d bytes remain of at most %d", name, width, got, n)
				}
			}
		}
	}
}
