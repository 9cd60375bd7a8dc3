package comment

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
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

// TestShortenLine checks that the beginning of a long line remains, and that no character is cut.
func TestShortenLine(t *testing.T) {
	for _, char := range []string{"x", "é", "語", "😀"} {
		for before := range 4 {
			b := block{lines: strings.Repeat("x", before) + strings.Repeat(char, 10_000) + "\n"}
			b.shorten(1000)
			if begin, _, _ := strings.Cut(b.lines, " …"); len(begin) < 390 || !utf8.ValidString(b.lines) {
				t.Errorf("%d bytes before %q: %d bytes remain: %q", before, char, len(begin), b.lines)
			}
		}
	}
}

// TestShortenText checks that short lines below a long text remain, and that the number in the notice about omitted
// bytes is positive.
func TestShortenText(t *testing.T) {
	for _, n := range []int{250, 300, 375, 1000, 16384} {
		for short := 1; short < 400; short++ {
			lines := "+ " + strings.Repeat("x", short) + "\n"
			b := block{text: strings.Repeat("- text\n", 40_000), lines: lines}
			b.shorten(n)
			if len(lines) <= (n-200)/2 && b.lines != lines {
				t.Errorf("%d of %d bytes remain, for %d", len(b.lines), len(lines), n)
			}
			if all := b.text + b.lines; strings.Contains(all, "… -") || strings.Contains(all, "… 0 ") {
				t.Errorf("a wrong number of bytes for %d: %q", n, b.lines)
			}
		}
	}
}

// TestShortComment checks that the shortest comments keep the limit, and that each difference in them has its address.
func TestShortComment(t *testing.T) {
	for n := LeastMax; n < 6*LeastMax; n += 61 {
		d := &draft{}
		d.begin("", "")
		d.add("## Plan\n", "", 0)
		d.begin("\n### Destroyed or replaced\n\n", "")
		for i := range 10 {
			d.add(fmt.Sprintf("- **destroy** `thing.d%d`\n", i), "", 1)
		}
		d.folded("Differences")
		for i := range 10 {
			d.add(fmt.Sprintf("\n`thing.d%d`\n", i), strings.Repeat("- line\n", 100*i), 0)
		}
		d.ending("Changed outside")
		for i := range 10 {
			d.add(fmt.Sprintf("\n**changed** `module.network.module.private.aws_route_table_association.o%d`\n", i), strings.Repeat("- line\n", 20*i), 1)
		}
		text := d.within(n)
		if len(text) > n || !utf8.ValidString(text) {
			t.Fatalf("%d bytes of at most %d", len(text), n)
		}
		parts := strings.Split(text, "```diff\n")
		for _, before := range parts[:len(parts)-1] {
			if !strings.HasSuffix(before, "`\n\n") {
				t.Fatalf("-max=%d: a difference without its address:\n%s", n, text)
			}
		}
	}
}
