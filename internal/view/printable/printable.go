// Package printable replaces the characters with which a text can control a terminal.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// Control reports whether a character can control a terminal.
func Control(r rune) bool { return r < 0x20 || r == 0x7f || jsondoc.Unsafe(r) }

// Escape returns s with escapes in place of the characters for which unsafe returns true, and of invalid UTF-8.
func Escape(s string, unsafe func(rune) bool) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, unsafe) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !unsafe(r):
			b.WriteString(s[:n])
		case strings.ContainsRune("\r\n\t", r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			fmt.Fprintf(&b, `\u{%02x}`, r)
		}
		s = s[n:]
	}
	return b.String()
}
