package view

import (
	"bufio"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/diff"

	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// checkSafe ends the test if s contains characters that control a terminal, or is not UTF-8. Line feeds and tabs are
// allowed.
func checkSafe(t testing.TB, s string) {
	t.Helper()
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			t.Fatalf("not UTF-8 at %d: %q", i, s)
		}
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || jsondoc.Unsafe(r) {
			t.Fatalf("%U at %d of %q", r, i, s)
		}
	}
}

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 日本 😀\n\ttext": "plain é 日本 😀\n\ttext",
		"\x1b[2J\x07":          `\u{1b}[2J\u{07}`,
		"\u009b31m\u0085":      `\u{9b}31m\u{85}`,
		"a\u202eb\u2066c":      `a\u{202e}b\u{2066}c`,
		"nul\x00 cr\r":         `nul\u{00} cr\r`,
		"\xff\xc0":             `\xff\xc0`,
		"\x7f\u200b\ufeff":     `\u{7f}\u{200b}\u{feff}`,
	} {
		if got := escape(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	if got := EscapeLine("a\nb\tc"); got != `a\nb\tc` {
		t.Errorf("%q", got)
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a\x1b]8;;http://x\x1b\\b", "\u202e\u009d0;x\u009c", "\xf0\x9f", "\r\n\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkSafe(t, escape(s))
		checkSafe(t, quote(s))
		if l := EscapeLine(s); strings.ContainsAny(l, "\n\t\r") {
			t.Fatalf("%q", l)
		}
		b := jsondoc.AppendString(nil, s)
		checkSafe(t, string(b))
		if !json.Valid(b) {
			t.Fatalf("%q", b)
		}
	})
}

// FuzzText compares two strings with each algorithm for strings: as JSON, as lines and as text.
func FuzzText(f *testing.F) {
	for _, s := range [][2]string{{"a\nb", "a\nc"}, {`{"a":[1,2]}`, `{"a":[2,3,{}]}`}, {"{}", "[]"}, {"", "\n"}, {"null", `[null]`}, {"  x\n", "x\n\n"}, {`{"a":1,"a":{}}`, "\x1b[2J"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, b, a string) {
		bv, av := &diff.Value{Kind: diff.StringValue, Text: b}, &diff.Value{Kind: diff.StringValue, Text: a}
		d := &diff.Differ{}
		for _, pair := range [][2]*diff.Value{{bv, av}, {bv, nil}, {nil, av}, {av, av}} {
			n := d.Value(nil, pair[0], pair[1], nil, diff.AllPaths)
			if (n.Op == diff.Same) != (pair[0] != nil && pair[1] != nil && pair[0].Text == pair[1].Text) {
				t.Fatalf("%q and %q: %v", b, a, n.Op)
			}
			for _, plain := range []bool{true, false} {
				var text strings.Builder
				r := renderer{Writer: bufio.NewWriter(&text), plain: plain}
				r.attribute("x", 0, n, renderOptions{suffix: true}, "")
				r.Flush()
				checkSafe(t, text.String())
			}
		}
	})
}

// TestQuoted checks that a long string that is quoted in pieces is equal to the string quoted at once, for each kind of
// character at the boundary.
func TestQuoted(t *testing.T) {
	for _, end := range []string{"a", "é", "世", "\U0001f600", "\xff", "\x80\x80\x80\x80\x80", "\U0001f600\x80\x80\x80\x80\x80", "\xf0\x9f\x98", "\"\n\x00\u202e"} {
		for before := piece - 10; before <= piece+1; before++ {
			s := strings.Repeat("x", before) + end + strings.Repeat(end, piece/2)
			var text strings.Builder
			r := renderer{Writer: bufio.NewWriter(&text)}
			r.quoted(s)
			r.Flush()
			if text.String() != quote(s) {
				t.Fatalf("%q after %d bytes is spelled otherwise", end, before)
			}
		}
	}
}
