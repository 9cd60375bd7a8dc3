package base

import (
	"strings"
	"testing"
)

// hiddenLine returns each typed byte of a line, except editing keys, which it applies. It leaves the bytes after the
// line unread.
func TestHiddenLine(t *testing.T) {
	for typed, want := range map[string]string{
		"abc\r": "abc", "abc\n": "abc", "\r": "",
		"a\tb\xffc\x1b[A\r":  "a\tb\xffc\x1b[A",
		"aä\x7fb\xff\x08c\r": "abc",
		"\x7fa\r":            "a",
		"abc\x15d\r":         "d",
		"a\x04b\r":           "ab",
		"a\x1ab\r":           "ab",
	} {
		in := strings.NewReader(typed + "next")
		if text, end := hiddenLine(in); text != want || end != enterKey || in.Len() != len("next") {
			t.Errorf("%q: %q, %d, %d bytes left", typed, text, end, in.Len())
		}
	}
	for typed, want := range map[string]byte{"\x04": endKey, "abc": endKey, "abc\x03": interruptKey, "abc\x1c": interruptKey} {
		if text, end := hiddenLine(strings.NewReader(typed)); text != "" || end != want {
			t.Errorf("%q: %q, %d", typed, text, end)
		}
	}
}
